"""Helpers of kernels as code of their own: compiled once, whichever kernels call them.

A kernel's module holds the helper functions that it calls. Most kernels call the same, and they are
most of the code of a small one. Here they are taken out of the module; what stays calls them by
names that hold a digest of all that they are made of.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from warplens.lift.runtime.module_ir import CORE_NAMES

_OWN = re.compile(r"^define (?!internal )", re.MULTILINE)  # where what is no helper begins
_HELPER = re.compile(
    r"^define internal ([^@]*)@([\w.]+)(\([^)]*\))([^{]*)\{\n(.*?)^\}\n", re.MULTILINE | re.DOTALL
)
_NAME = re.compile(r"@([\w.]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Functions that are compiled together: their digest, IR, names, and the units they call."""

    key: str
    ir: str
    names: tuple[str, ...]
    calls: tuple[Unit, ...]


@dataclass(slots=True)
class _Helper:
    name: str
    result: str
    parameters: str
    attributes: str
    text: str
    refers: tuple[str, ...] = ()

    @property
    def is_inline(self) -> bool:
        return "alwaysinline" in self.attributes

    def declared(self, name: str) -> str:
        """Calls go through a table of addresses, since helpers may lie far away."""
        return f"declare {self.result}@{name}{self.parameters} nonlazybind\n"


class _Divided:
    """A module's text with its helpers apart."""

    def __init__(self, head: str, tail: str, salt: str) -> None:
        self.helpers: dict[str, _Helper] = {}
        for found in _HELPER.finditer(head):
            result, name, parameters, attributes, _ = found.groups()
            self.helpers[name] = _Helper(name, result, parameters, attributes, found[0])
        for helper in self.helpers.values():
            named = dict.fromkeys(_NAME.findall(helper.text))
            helper.refers = tuple(n for n in named if n in self.helpers and n != helper.name)
        self.rest = _HELPER.sub("", head)
        self.tail = tail
        self._salt = salt
        self._units: dict[str, Unit] = {}
        plain = (h for h in self.helpers.values() if not h.is_inline)
        self._core = tuple(h.name for h in plain if h.name in CORE_NAMES)

    def unit(self, name: str) -> Unit:
        """The unit of a helper."""
        group = self._core if name in self._core else (name,)
        if group[0] not in self._units:
            self._units[group[0]] = self._make(group)
        return self._units[group[0]]

    def inline(self, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Of helpers and what they refer to through inlined code: the inlined, and the called."""
        inlined: list[str] = []
        called: list[str] = []
        todo = list(names)
        while todo:
            name = todo.pop()
            known = inlined if self.helpers[name].is_inline else called
            if name not in known:
                known.append(name)
                if known is inlined:
                    todo += self.helpers[name].refers
        return inlined, called

    def _rest_of(self, text: str) -> str:
        """Declarations and constants that a text names, and what has no name."""
        named = set(_NAME.findall(text))
        lines = [
            line
            for line in self.rest.splitlines()
            if (found := _NAME.search(line)) is None or found[1] in named
        ]
        return "\n".join((*lines, ""))

    def _make(self, group: tuple[str, ...]) -> Unit:
        refers = tuple(n for name in group for n in self.helpers[name].refers)
        inlined, called = self.inline(refers)
        others = tuple(n for n in called if n not in group)
        texts = [self.helpers[n].text for n in self.helpers if n in inlined or n in group]
        units = {n: self.unit(n) for n in others}
        calls = tuple({u.key: u for u in units.values()}.values())
        declared = "".join(self.helpers[n].declared(n) for n in others)
        made = "".join((declared, *texts))
        plain = f"{self._rest_of(made)}{made}{self.tail}"
        text = "".join((self._salt, plain, *group, *(u.key for u in calls)))
        key = hashlib.sha256(text.encode()).hexdigest()[:24]
        for name in group:
            helper = self.helpers[name]
            start = f"define internal {helper.result}@{name}("
            plain = plain.replace(start, f"define dso_local {helper.result}@{name}(")
        names = {n: f"{n}.{key}" for n in group} | {n: f"{n}.{u.key}" for n, u in units.items()}
        return Unit(
            key=key, ir=renamed(plain, names), names=tuple(names[n] for n in group), calls=calls
        )


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other names for functions."""
    return _NAME.sub(lambda found: f"@{names.get(found[1], found[1])}", text)


def divide(ir: str, salt: str) -> tuple[str, tuple[Unit, ...]]:
    """A kernel's module without the helpers that it calls, and those, callees first; `salt` is what
    their machine code depends on besides."""
    own = _OWN.search(ir)
    if own is None or _HELPER.search(ir, 0, own.start()) is None:
        return ir, ()
    at, end = own.start(), ir.rindex("\n}\n") + 3
    head, body, tail = ir[:at], ir[at:end], ir[end:]
    divided = _Divided(head, tail, salt)
    named = tuple(n for n in divided.helpers if f"@{n}(" in body)
    inlined, called = divided.inline(named)
    units = {n: divided.unit(n) for n in called}
    declared = "".join(divided.helpers[n].declared(n) for n in called)
    texts = "".join(divided.helpers[n].text for n in divided.helpers if n in inlined)
    names = {n: f"{n}.{u.key}" for n, u in units.items()}
    kernel = renamed(f"{divided.rest}{declared}{texts}{body}", names) + tail
    return kernel, _in_order(tuple(units.values()))


def _in_order(units: tuple[Unit, ...]) -> tuple[Unit, ...]:
    """Units and all that they call, callees first."""
    found: dict[str, Unit] = {}

    def add(unit: Unit) -> None:
        if unit.key not in found:
            for other in unit.calls:
                add(other)
            found[unit.key] = unit

    for unit in units:
        add(unit)
    return tuple(found.values())
