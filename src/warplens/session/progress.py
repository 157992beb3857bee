"""A progress bar on standard error, only on a terminal and only for runs over a second."""

from __future__ import annotations

import time
from typing import Any

from warplens.session.process import progress_wanted

_PATIENCE_SECONDS = 1.0


class Progress:
    """Counts finished blocks; call it with (done, total)."""

    def __init__(self, title: str, *, shown: bool = True) -> None:
        self._title = title
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._wanted = shown and progress_wanted()

    def __call__(self, done: int, total: int) -> None:
        if not self._wanted or time.monotonic() - self._start < _PATIENCE_SECONDS:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=total)
        self._bar.update(self._task, completed=done, total=total)

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
