"""The host's mistakes with device memory, for scripts under the sanitizers: frees and leaks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from warplens.sanitize.finding import Access, Finding
from warplens.wording import count


def _place() -> tuple[str, int] | None:
    """The script's line that called, through whatever package."""
    script = str(Path(sys.argv[0]).resolve())
    frame = sys._getframe(1)
    while frame is not None:
        if str(Path(frame.f_code.co_filename).resolve()) == script:
            return script, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _access(what: str, place: tuple[str, int] | None) -> Access:
    file, line = place or (None, None)
    return Access(what=what, kernel="host code", offset=0, sass="", file=file, line=line)


@dataclass(slots=True)
class HostMemory:
    """Device memory that a script has allocated, and what it did wrong with it."""

    findings: list[Finding] = field(default_factory=list)
    _live: dict[int, tuple[int, Access]] = field(default_factory=dict)
    _freed: dict[int, Access] = field(default_factory=dict)

    def allocated(self, address: int, nbytes: int) -> None:
        """Remembers who allocated."""
        self._live[address] = (nbytes, _access("allocation", _place()))

    def freed(self, address: int) -> None:
        """Remembers who freed."""
        if self._live.pop(address, None) is not None:
            self._freed[address] = _access("free", _place())

    def bad_free(self, address: int) -> None:
        """A free of what is not allocated: freed before, or never allocated."""
        access, before = _access("free", _place()), self._freed.get(address)
        earlier = () if before is None else (f"first freed at {before.where}",)
        self.findings.append(Finding(
            tool="memcheck",
            check="invalid-free" if before is None else "double-free",
            severity="error",
            title="Malloc/Free error encountered : "
            + ("Invalid pointer to free" if before is None else "Double free"),
            details=(f"at {access.where}", f"Address {address:#x}", *earlier),
            accesses=(access,) if before is None else (access, before),
            space="global", address=address,
            advice="Free what was allocated, once.",
        ))  # fmt: skip

    def leaks(self) -> list[Finding]:
        """Allocations that are still there at the end."""
        return [
            Finding(
                tool="memcheck", check="device-memory-leak", severity="error",
                title=f"Leaked {count(nbytes, 'byte')} at {address:#x}",
                details=(f"allocated at {access.where}",),
                accesses=(access,), space="global", address=address, size=nbytes,
                advice="No cudaFree before the program ends.",
            )
            for address, (nbytes, access) in self._live.items()
        ]  # fmt: skip
