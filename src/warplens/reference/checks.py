"""Pages of the sanitizers' checks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from warplens.reference.page import Page
from warplens.sanitize.checks import CHECKS, Check


def check_pages() -> Iterator[Page]:
    """One page for each check."""
    for one in CHECKS.values():
        yield Page(kind="check", name=one.name, body=partial(_body, one))


def _body(one: Check) -> str:
    remark = " It is not an error: only `--print-level info` shows it." * one.is_remark
    return f"A {one.tool} check.{remark}\n\n{one.meaning}\n\n{one.repair}"
