"""NVTX ranges of a program: what is open, what has been closed, and filters by ranges."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warplens.errors import InputError
from warplens.result.system import NvtxRange

PUSH, POP, START, END, MARK = range(5)
_PUSHED, _STARTED = "PushPop", "StartEnd"
_DELIMITER = re.compile(r"(?<!\\)/")
_COMMA = re.compile(r"(?<!\\),")
_DOMAIN = re.compile(r"(?<!\\)@")


@dataclass(frozen=True, slots=True)
class Active:
    """The ranges around a launch, by domain: those pushed, outermost first, and those started."""

    pushed: Mapping[str, tuple[str, ...]]
    started: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Open:
    domain: str
    name: str
    start_ns: float


class _Stacks(threading.local):
    """Each thread's pushed ranges by domain."""

    def __init__(self) -> None:
        self.by_domain: dict[str, list[_Open]] = {}


@dataclass(slots=True, eq=False)
class Ranges:
    """Those of one process; a thread of the engine serves one thread of it."""

    closed: list[NvtxRange] | None = None
    _stacks: _Stacks = field(default_factory=_Stacks)
    _started: dict[int, _Open] = field(default_factory=dict)

    def event(self, kind: int, number: int, domain: str, name: str, now: float,
              process: int) -> None:  # fmt: skip
        """A range begins or ends."""
        stack = self._stacks.by_domain.setdefault(domain, [])
        if kind == PUSH:
            stack.append(_Open(domain, name, now))
        elif kind == START:
            self._started[number] = _Open(domain, name, now)
        elif kind == POP and stack:
            self._close(stack.pop(), _PUSHED, now, process)
        elif kind == END and number in self._started:
            self._close(self._started.pop(number), _STARTED, now, process)

    def _close(self, one: _Open, style: str, now: float, process: int) -> None:
        if self.closed is not None:
            self.closed.append(NvtxRange(
                domain=one.domain, name=one.name, style=style, process=process,
                thread=threading.get_native_id(), start_ns=one.start_ns,
                duration_ns=now - one.start_ns,
            ))  # fmt: skip

    def active(self) -> Active:
        """What is open in the calling thread."""
        pushed = {domain: tuple(one.name for one in stack)
                  for domain, stack in self._stacks.by_domain.items() if stack}  # fmt: skip
        started: dict[str, frozenset[str]] = {}
        for one in self._started.values():
            started[one.domain] = started.get(one.domain, frozenset()) | {one.name}
        return Active(pushed, started)


# --- filters, in the words of Nsight Compute ------------------------------------------------------


def _fits(pattern: str, name: str) -> bool:
    if pattern.startswith("regex:"):
        return re.search(pattern.removeprefix("regex:"), name) is not None
    return re.sub(r"\\(.)", r"\1", pattern) == name


def _stack_fits(parts: Sequence[str], names: Sequence[str], *, to_top: bool) -> bool:
    """Whether the parts fit the names from the first on; `to_top`: all of them."""
    if not parts:
        return not (to_top and names)
    if parts[0] == "*":
        return any(_stack_fits(parts[1:], names[at:], to_top=to_top)
                   for at in range(len(names) + 1))  # fmt: skip
    if not names or not (parts[0] == "+" or _fits(parts[0], names[0])):
        return False
    return _stack_fits(parts[1:], names[1:], to_top=to_top)


@dataclass(frozen=True, slots=True)
class RangeFilter:
    """One expression: `domain@range,range` for started ranges, `[outer/*/inner]` for pushed."""

    domain: str
    names: tuple[str, ...]
    is_stack: bool
    from_bottom: bool = False
    to_top: bool = False

    @classmethod
    def of(cls, text: str) -> RangeFilter:
        """Reads an expression.

        Raises:
            InputError: it names no range.
        """
        parts = _DOMAIN.split(text, maxsplit=1)
        domain, rest = (parts[0], parts[1]) if len(parts) == 2 else ("", parts[0])
        from_bottom, to_top = rest.startswith("["), rest.endswith("]")
        is_stack = from_bottom or to_top or _DELIMITER.search(rest) is not None
        rest = rest[from_bottom : len(rest) - to_top]
        split = _DELIMITER if is_stack else _COMMA
        names = tuple(name for name in split.split(rest) if name)
        for name in names:
            try:
                re.compile(name.removeprefix("regex:") if name.startswith("regex:") else "")
            except re.error as error:
                raise InputError(f"{text}: not a regular expression ({error})") from error
        if not names:
            raise InputError(f"{text!r} names no range",
                             hint='For example "domain@range" or "outer/*/inner/".')  # fmt: skip
        return cls(domain, names, is_stack, from_bottom, to_top)

    def keeps(self, active: Active) -> bool:
        """Whether a launch is inside."""
        if not self.is_stack:
            started = active.started.get(self.domain, frozenset())
            return all(any(_fits(name, one) for one in started) for name in self.names)
        names = active.pushed.get(self.domain, ())
        starts = range(1 if self.from_bottom else len(names))
        return any(_stack_fits(self.names, names[at:], to_top=self.to_top) for at in starts)
