"""Finds the pages of a name, however it is spelt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache

from warplens.errors import InputError, UnknownMetric
from warplens.reference.checks import check_pages
from warplens.reference.metrics import full_metric_page, metric_pages, section_pages
from warplens.reference.opcodes import opcode_pages, with_modifiers
from warplens.reference.page import Page
from warplens.reference.rules import rule_pages

_MOST = 8  # suggestions


@cache
def pages() -> tuple[Page, ...]:
    """Every page: rules, sections, checks, metrics, opcodes."""
    kinds = (rule_pages, section_pages, check_pages, metric_pages, opcode_pages)
    return tuple(page for kind in kinds for page in kind())


def find(name: str) -> tuple[Page, ...]:
    """The pages of a name; a section and a rule may share one.

    Capitals do not matter; an opcode may have its modifiers, a metric its suffixes.

    Raises:
        InputError: nothing has that name; the message names some that are close.
    """
    wanted = name.strip()
    found = _named(wanted) or _full_metric(wanted) or _instruction(wanted)
    if not found:
        raise InputError("no rule, metric, section, check or opcode is named "
                         f"{name!r}", hint=_suggested(wanted))
    return found


@cache
def _spellings() -> dict[str, tuple[Page, ...]]:
    """The pages of every name and alias, without capitals."""
    found: dict[str, dict[str, Page]] = {}
    for page in pages():
        for spelt in (page.name, *page.aliases):
            found.setdefault(spelt.casefold(), {})[f"{page.kind} {page.name}"] = page
    return {spelt: tuple(several.values()) for spelt, several in found.items()}


def _named(name: str) -> tuple[Page, ...]:
    return _spellings().get(name.casefold(), ())


def _full_metric(name: str) -> tuple[Page, ...]:
    try:
        return (full_metric_page(name),)
    except UnknownMetric:
        base = name.partition(".")[0]
        # The metric exists, but not this value of it: the error names those that do.
        if any(page.kind == "metric" for page in _named(base)):
            raise
        return ()


def _instruction(text: str) -> tuple[Page, ...]:
    page = with_modifiers(text)
    return () if page is None else (page,)


def _suggested(name: str) -> str:
    every = {spelt: several[0].name for spelt, several in _spellings().items()}
    close = difflib.get_close_matches(name.casefold(), every, n=_MOST, cutoff=0.6)
    near = _distinct(every[spelt] for spelt in (*close, *_holding(name, every)))
    seen = "`warplens explain --list` shows every name."
    return f"Did you mean {', '.join(near[:_MOST])}? {seen}" if near else seen


def _holding(name: str, spelt: Iterable[str]) -> list[str]:
    """The names that hold every word of what was asked for, the shortest first."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    found = [one for one in spelt if words and all(word in one for word in words)]
    return sorted(found, key=lambda one: (len(one), one))


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
