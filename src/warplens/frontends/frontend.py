"""A front-end: a framework, its supported versions, and what to do once it is imported."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from dataclasses import dataclass

from warplens.driver.machine import Driver
from warplens.errors import Unsupported

GiveDriver = Callable[[], Driver]  # the process's driver, which is made when first needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontend:
    """One framework.

    Attributes:
        module: whose import means that the framework is used.
        package: its name on PyPI.
        first, before: the supported versions, from `first` on and below `before`.
        offer: what to do as soon as imports are watched, if anything, for what scripts may import
            before it.
        prepare: what to do before the import, if anything.
        activate: what to do after it, if anything.
    """

    module: str
    package: str
    first: str
    before: str
    offer: Callable[[], None] | None = None
    prepare: Callable[[], None] | None = None
    activate: Callable[[GiveDriver], None] | None = None

    def check_version(self) -> None:
        """Refuses a version that was not tried.

        Raises:
            Unsupported: naming the range.
        """
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return  # a source tree without metadata: its author knows
        if not _parts(self.first) <= _parts(version) < _parts(self.before):
            wanted = f"{self.package}>={self.first},<{self.before}"
            raise Unsupported(
                f"{self.package} {version} is not supported by the simulated driver",
                hint=f'pip install "{wanted}"',
            )


def _parts(version: str) -> tuple[int, ...]:
    """A version's leading numbers."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
