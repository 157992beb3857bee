"""Pages of the rules of advice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from warplens.analysis.advice import Declared, rules
from warplens.reference.examples import Example, examples_of
from warplens.reference.page import Page


def rule_pages() -> Iterator[Page]:
    """One page for each identifier; a rule may have several findings."""
    found: dict[str, list[Declared]] = {}
    for one in rules():
        found.setdefault(one.identifier, []).append(one)
    for name, several in found.items():
        yield Page(kind="rule", name=name, aliases=tuple(one.title for one in several),
                   body=partial(_body, several))  # fmt: skip


def _body(several: list[Declared]) -> str:
    name = several[0].identifier
    parts = [f"An advice rule of section `{several[0].section}`."]
    examples = examples_of(name)
    for one in several:
        parts.append(f"**{one.title}.** {one.doc}")
        parts += [_shown(example) for example in examples if example.title == one.title]
    if examples:
        parts.append(f"`warplens explain {name} --examples .` writes the examples to files.")
    return "\n\n".join(parts)


def _shown(example: Example) -> str:
    return (
        f"Example `{example.name}.cu`, on {example.gpu}: `before` gets this advice, `after` is the "
        f"fix.\n\n```cuda\n{example.text.rstrip()}\n```"
    )
