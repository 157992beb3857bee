"""Opens a page in Chromium, where there is one: its tree after scripts ran, and its complaints."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome")
     if (path := shutil.which(name))), None
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The page's tree as text, and its console messages."""

    tree: str
    console: tuple[str, ...]


def opened(path: Path, folder: Path, *, suffix: str = "", budget: int = 3000,
           seconds: int = 120) -> Opened:  # fmt: skip
    """Loads a file in a headless browser."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--v=0", f"--user-data-dir={folder}", f"--virtual-time-budget={budget}", "--dump-dom",
         f"file://{path}{suffix}"],
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    console = tuple(re.findall(r"CONSOLE.*", done.stderr))
    return Opened(tree=done.stdout, console=console)
