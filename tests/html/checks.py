"""Checks on a page's tree: well-formed, labelled, nothing from outside, readable colours."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

_VOID = frozenset(
    "area base br col embed hr img input link meta source track wbr circle line path rect".split()
)
_CONTROLS = frozenset({"select", "input", "button", "textarea"})


class Tree(HTMLParser):
    """Collects elements with their attributes, ancestors and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.texts: dict[int, str] = {}
        self.problems: list[str] = []
        self._open: list[tuple[str, int]] = []
        self.feed(page)
        self.close()
        if self._open:
            self.problems.append(f"not closed: {self._open[-1][0]}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element."""
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.problems.append(f"{tag} repeats an attribute")
        parents = tuple(name for name, _ in self._open)
        self.elements.append((tag, {name: value or "" for name, value in attrs}, parents))
        if tag not in _VOID or (tag in ("circle", "rect")):
            self._open.append((tag, len(self.elements) - 1))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes an element without content."""
        parents = tuple(name for name, _ in self._open)
        self.elements.append((tag, {name: value or "" for name, value in attrs}, parents))

    def handle_endtag(self, tag: str) -> None:
        """Closes an element."""
        if self._open and self._open[-1][0] == tag:
            self._open.pop()
        elif tag not in _VOID:
            inner = self._open[-1][0] if self._open else "nothing"
            self.problems.append(f"</{tag}> closes {inner}")

    def handle_data(self, data: str) -> None:
        """Adds text to every open element."""
        for _, index in self._open:
            self.texts[index] = self.texts.get(index, "") + data

    def named(self, index: int) -> bool:
        """Whether assistive technology has a name for an element."""
        tag, attributes, parents = self.elements[index]
        if any(attributes.get(k) for k in ("aria-label", "aria-labelledby", "title")):
            return True
        if tag == "button" and self.texts.get(index, "").strip():
            return True
        is_target = any(
            t == "label" and a.get("for") == attributes.get("id") and attributes.get("id")
            for t, a, _ in self.elements
        )
        return "label" in parents or is_target


def unlabelled(tree: Tree) -> list[str]:
    """Controls, pictures and regions without a name."""
    found = []
    for index, (tag, attributes, _) in enumerate(tree.elements):
        is_region = attributes.get("role") == "region" or attributes.get("tabindex") == "0"
        is_picture = tag == "svg"
        if (tag in _CONTROLS or is_region or is_picture) and not tree.named(index):
            found.append(f"{tag} {attributes}")
    return found


def duplicate_ids(tree: Tree) -> list[str]:
    """Identifiers that several elements have."""
    names = [a["id"] for _, a, _ in tree.elements if a.get("id")]
    return sorted({name for name in names if names.count(name) > 1})


def outside(page: str) -> list[str]:
    """Addresses that a browser would load."""
    return re.findall(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//[^"'> ]+""", page)


def heading_jumps(tree: Tree) -> list[str]:
    """Headings that skip a level."""
    levels = [int(t[1]) for t, _, _ in tree.elements if re.fullmatch("h[1-6]", t)]
    return [f"h{a} to h{b}" for a, b in pairwise(levels) if b > a + 1]


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb, by WCAG 2."""
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palettes(style: str) -> list[dict[str, str]]:
    """The custom colours of the light and the dark theme."""
    blocks = re.findall(r":root(?:\[data-theme=dark\])?\{([^}]*)\}", style)
    return [dict(re.findall(r"--([\w]+):(#[0-9a-f]{3,6})", block)) for block in blocks]
