"""The findings of one launch, and how they print."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.sanitize.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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

    def __str__(self) -> str:
        from warplens.sanitize.text import report_text

        return report_text((self,))

    def _repr_html_(self) -> str:
        from warplens.sanitize.html import fragment

        return fragment((self,))
