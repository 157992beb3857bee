"""The findings of one launch, and how they print."""

from __future__ import annotations

from warplens.sanitize.finding import LaunchFindings
from warplens.sanitize.html import fragment
from warplens.sanitize.text import report_text


class Report(LaunchFindings):
    """What the sanitizers found in one launch; prints as text, in a notebook as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return report_text((self,))

    def _repr_html_(self) -> str:
        return fragment((self,))
