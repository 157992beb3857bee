"""What a sanitizer reports: one finding per kind of error and pair of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from warplens.sanitize.checks import CHECKS

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One access or synchronisation: which instruction, by which thread.

    Attributes:
        what: "read", "write", "atomic", "barrier" and so on.
        kernel: the kernel's signature; offset: of the instruction in it; sass: its text.
        callers: where the line's code, a library's say, was called.
        thread, block: x, y, z; thread is None where no single thread is meant.
    """

    what: str
    kernel: str
    offset: int
    sass: str
    file: str | None = None
    line: int | None = None
    callers: tuple[tuple[str, int], ...] = ()
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None

    @property
    def where(self) -> str:
        """`kernel(int *)+0x90 in file.cu:41`."""
        name = PurePath(self.file).name if self.file else "?"
        source = f" in {name}:{self.line}" if self.line else ""
        if not self.sass:
            return f"{self.kernel}{source}"
        if self.callers:
            source += ", called at " + " or ".join(f"{file}:{line}" for file, line in self.callers)
        return f"{self.kernel}+{self.offset:#x}{source}"

    @property
    def by(self) -> str:
        """`thread (0,0,0) in block (0,0,0)`."""
        parts = []
        if self.thread is not None:
            parts.append("thread ({},{},{})".format(*self.thread))
        if self.block is not None:
            parts.append("block ({},{},{})".format(*self.block))
        return " in ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One mistake in a kernel.

    Attributes:
        tool: memcheck, racecheck, initcheck or synccheck.
        check: the mistake's name, such as "shared-write-race": one of `CHECKS`.
        severity: "error", "warning", or "info": harmless as far as observed.
        title: the first line of the report; details: its other lines.
        accesses: the accesses involved, the one that the finding is about first.
        space: "shared", "global", "local" or ""; address: the first one seen; size in bytes.
        target: the array or allocation; count: how often it was observed.
        advice: what to do; source: the lines that it is about, each with its neighbours.
        reach: how far apart the threads of a race are: 1 other warps, 2 other blocks.
    """

    tool: str
    check: str
    severity: str
    title: str
    details: tuple[str, ...] = ()
    accesses: tuple[Access, ...] = ()
    space: str = ""
    address: int | None = None
    size: int = 0
    target: str = ""
    count: int = 1
    advice: str = ""
    source: tuple[str, ...] = ()
    reach: int = 0

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"{self.check!r} is not declared in sanitize/checks.py")

    @property
    def where(self) -> str:
        """Kernel, offset and source line of the access that the finding is about."""
        return self.accesses[0].where if self.accesses else ""

    @property
    def kernel(self) -> str:
        """The kernel's signature."""
        return self.accesses[0].kernel if self.accesses else ""

    @property
    def file(self) -> str | None:
        """Source file of the first access."""
        return self.accesses[0].file if self.accesses else None

    @property
    def line(self) -> int | None:
        """Source line of the first access."""
        return self.accesses[0].line if self.accesses else None

    @property
    def lines(self) -> tuple[int, ...]:
        """Source lines of all accesses."""
        return tuple(
            line for access in self.accesses
            for line in (access.line, *(line for _, line in access.callers)) if line
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The whole finding as indented lines."""
        rows = [self.title, *(f"    {row}" for row in (*self.details, *self.source))]
        if self.advice:
            rows.append(f"    {self.advice}")
        return "\n".join(rows)

    @property
    def is_counted(self) -> bool:
        """Whether it makes a run fail: harmless remarks do not."""
        return self.severity != "info"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFindings:
    """What the sanitizers found in one launch.

    Attributes:
        findings: every finding, harmless remarks (severity "info") included.
        notes: what could not be checked, and why.
        output: what the kernel printed.
    """

    kernel: str
    findings: tuple[Finding, ...]
    tools: tuple[str, ...]
    notes: tuple[str, ...] = ()
    output: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that count: all but harmless remarks."""
        return tuple(finding for finding in self.findings if finding.is_counted)

    def __bool__(self) -> bool:
        return bool(self.errors)


def by_cause(findings: Sequence[Finding]) -> list[tuple[str, tuple[Finding, ...]]]:
    """Findings that one mistake can explain, together, in the order of the first of each.

    That is one check on one array (or, where no array is known, at one instruction).
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        about = f"line {finding.line}" if finding.line else finding.where
        groups.setdefault((finding.check, finding.target or about), []).append(finding)
    return [
        (f"{len(rows)} findings that may have one cause: {check}, {about}", tuple(rows))
        for (check, about), rows in groups.items()
    ]
