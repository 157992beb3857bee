"""Products of warpgroups (wgmma) whose registers are used without a fence or a wait.

Machine code does not show it: the assembler puts fences and waits in where it sees that they are
missing, and then has products wait for each other. So the PTX is looked at, along all its paths:
which registers belong to products that have not been waited for, and which were computed since the
last `wgmma.fence`. Plain moves carry both along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from warplens.isa.warpgroup import OPCODES
from warplens.sanitize.finding import Access, Finding
from warplens.sanitize.ptx import LOCATION, Line, kernel_text, source_files
from warplens.sass.model import SassKernel

FENCE, WAIT = "missing-wgmma-fence", "missing-wgmma-wait"
_LABEL = re.compile(r"([$\w]+):(?!:)\s*")
_REGISTER = re.compile(r"%[a-z]+\d+")
_GUARD = re.compile(r"^@!?%?\w+\s+")
_MOVE = re.compile(r"mov\.\w+\s+(%[a-z]+\d+)\s*,\s*(%[a-z]+\d+)$")
_NO_RESULT = re.compile(
    r"(st|red|bar|barrier|bra|ret|exit|call|cp|fence|membar|mbarrier\.(init|inval)|prefetch|"
    r"setmaxnreg|nanosleep|trap|brkpt|griddepcontrol)\b"
)
_MOST_ROUNDS = 50  # over a function's blocks
_TITLES = {
    FENCE: "Registers of a product (wgmma) are used without a fence.",
    WAIT: "Registers of a product (wgmma) are used before it has been waited for.",
}
_REPAIRS = {
    FENCE: "Execute wgmma.fence (warpgroup_arrive()) before the first product and after other "
           "instructions have written registers of D or A.",
    WAIT: "Close the group (wgmma.commit_group) and wait (wgmma.wait_group) before D is read or A "
          "written.",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of PTX and its line."""

    text: str
    line: Line


@dataclass(slots=True)
class _Block:
    """Statements up to a branch; `next`: labels of those that follow."""

    statements: list[Statement] = field(default_factory=list)
    next: list[str] = field(default_factory=list)
    falls: bool = True


@dataclass(slots=True)
class _State:
    """What holds before a statement.

    Attributes:
        is_fenced: a fence lies on every path from the start.
        running: registers of products not waited for: groups closed since; computed: registers
            written since the last fence, and where; fence: its line.
    """

    is_fenced: bool
    running: dict[str, int]
    computed: dict[str, Line]
    fence: Line = ("", 0)

    def copy(self) -> _State:
        """Another one like it."""
        return _State(self.is_fenced, dict(self.running), dict(self.computed), self.fence)

    def join(self, other: _State) -> bool:
        """Adds what holds on another path; whether that was new."""
        before = self.is_fenced, len(self.computed), dict(self.running)
        self.is_fenced &= other.is_fenced
        for register, age in other.running.items():
            self.running[register] = min(age, self.running.get(register, age))
        self.computed = other.computed | self.computed
        return before != (self.is_fenced, len(self.computed), self.running)


def _statements(text: str, files: dict[str, str]) -> Iterator[Statement | str]:
    """Statements, and labels as plain names."""
    line, rest = ("", 0), ""
    names = re.findall(r"(?<![:.\w])([$\w]+):(?!:)", text)
    once = {name for name in names if names.count(name) == 1}  # others: of inline code, by scope
    for row in re.sub(r"//[^\n]*", "", text).splitlines():
        location = LOCATION.match(row)
        if location:
            line = (files.get(location.group(1), ""), int(location.group(2)))
            continue
        if row.lstrip().startswith(".") and ";" not in row:
            continue
        *whole, rest = (rest + " " + row).split(";")
        for part in whole:
            text_ = part.strip()
            if not text_.startswith("{%"):
                text_ = text_.lstrip("{} \t")
            while label := _LABEL.match(text_):
                if label.group(1) in once:
                    yield label.group(1)
                text_ = text_[label.end() :].lstrip("{} \t")
            if text_ and not text_.startswith("."):
                yield Statement(_GUARD.sub("", text_) if "bra" not in text_ else text_, line)


def _blocks(text: str, files: dict[str, str]) -> dict[str, _Block]:
    """The function's blocks by label, in order; the first is named ""."""
    found = {"": _Block()}
    here = found[""]
    every = [*_statements(text, files)]
    labels = {one for one in every if isinstance(one, str)}
    for one in every:
        if isinstance(one, str):
            here.next += [one] if here.falls else []
            here = found.setdefault(one, _Block())
            continue
        branch = re.match(r"(@!?%?\w+\s+)?bra(?:\.uni)?\s+([$\w]+)", one.text)
        if branch and branch.group(2) not in labels:
            continue
        if branch or re.match(r"(ret|exit|trap|brx)\b", one.text):
            here.next += [branch.group(2)] if branch else []
            here.falls = bool(branch and branch.group(1))
            if here.falls:
                name = f"{len(found)} behind"
                here.next.append(name)
            else:
                name = f"{len(found)} unreached"
            here = found.setdefault(name, _Block())
            continue
        here.statements.append(one)
    return found


@dataclass(frozen=True, slots=True)
class Mistake:
    """A use of registers: the check, where, and where they were computed."""

    check: str
    line: Line
    other: Line = ("", 0)


def _operands(text: str) -> tuple[list[str], list[str]]:
    """Registers that a statement writes, and those that it reads."""
    code, _, rest = text.partition(" ")
    registers = _REGISTER.findall(rest)
    if _NO_RESULT.match(code):
        return [], registers
    rest = rest.strip()
    first = rest[: rest.find("}") + 1] if rest.startswith("{") else rest.split(",", 1)[0]
    results = _REGISTER.findall(first) if "[" not in first else []
    return results, registers[len(results) :]


def _product(state: _State, one: Statement) -> Iterator[Mistake]:
    """A product: D and, in braces as well, A in registers."""
    groups = re.findall(r"\{([^}]*)\}", one.text)
    d, a = ([*(_REGISTER.findall(g) for g in groups), [], []])[:2]
    if not state.is_fenced:
        yield Mistake(FENCE, one.line)
    computed = (state.computed[r] for r in (*d, *a) if r in state.computed)
    # compilers move what the source computes before the fence behind it, which harms nobody
    late = next((c for c in computed if c[0] != state.fence[0] or c[1] > state.fence[1]), None)
    if late is not None and state.is_fenced:
        yield Mistake(FENCE, one.line, late)
    if any(r in state.running for r in a):
        yield Mistake(WAIT, one.line)
    for register in d:
        state.running[register] = 0
        state.computed.pop(register, None)


def _overwritten(state: _State, register: str) -> None:
    state.running.pop(register, None)
    state.computed.pop(register, None)


def _step(state: _State, one: Statement) -> Iterator[Mistake]:
    """What a statement changes, and its mistakes."""
    text = one.text
    if text.startswith("wgmma.fence"):
        state.is_fenced, state.computed, state.fence = True, {}, one.line
    elif text.startswith("wgmma.mma_async"):
        yield from _product(state, one)
    elif text.startswith("wgmma.commit_group"):
        state.running = {register: age + 1 for register, age in state.running.items()}
    elif text.startswith("wgmma.wait_group"):
        left = int(text.split()[-1])
        state.running = {r: age for r, age in state.running.items() if age <= left}
    elif move := _MOVE.match(text):
        to, source = move.groups()
        age, where = state.running.get(source), state.computed.get(source)
        _overwritten(state, to)
        state.running |= {} if age is None else {to: age}
        state.computed |= {} if where is None else {to: where}
    else:
        results, read = _operands(text)
        if any(register in state.running for register in read):
            yield Mistake(WAIT, one.line)
        for register in results:
            _overwritten(state, register)
            if not text.startswith("mov."):  # constants cost no instruction of their own
                state.computed[register] = one.line


@lru_cache(maxsize=16)
def mistakes(ptx: str, kernel: str) -> tuple[Mistake, ...]:
    """What a kernel's PTX does wrong with products' registers."""
    body = kernel_text(ptx, kernel)[1]
    if "wgmma.mma_async" not in body or "brx." in body:
        return ()
    files = source_files(ptx)
    blocks = _blocks(body[body.find("{") + 1 :], files)
    before = {"": _State(False, {}, {})}
    todo, found = [""], set[Mistake]()
    rounds = _MOST_ROUNDS * len(blocks)
    while todo and rounds:
        rounds -= 1
        name = todo.pop()
        state = before[name].copy()
        for one in blocks[name].statements:
            found.update(_step(state, one))
        for other in blocks[name].next:
            if other not in before:
                before[other] = state.copy()
            elif not before[other].join(state):
                continue
            if other not in todo:
                todo.append(other)
    return tuple(sorted(found, key=lambda m: (m.line, m.check, m.other)))


def warpgroup_findings(kernel: SassKernel, ptx: str) -> Iterator[Finding]:
    """The findings of a kernel's PTX, one for each line and check."""
    seen: set[tuple[str, Line]] = set()
    for one in mistakes(ptx, kernel.name):
        if (one.check, one.line) in seen:
            continue
        seen.add((one.check, one.line))
        there = [i for i in kernel.instructions
                 if (PurePath(i.file or "").name, i.line) == one.line]  # fmt: skip
        inst = next((i for i in there if i.opcode in OPCODES), there[0] if there else None)
        place = f"in {one.line[0]}:{one.line[1]}" if one.line[1] else "in the PTX"
        details = [f"at {place}"]
        if one.other[1]:
            details.append(f"computed in {one.other[0]}:{one.other[1]}")
        details.append("The assembler repairs it, and has products wait for each other.")
        access = Access(
            what="product", kernel=kernel.demangled or kernel.name,
            offset=inst.address if inst else 0, sass=inst.text.strip() if inst else "",
            file=inst.file if inst else None, line=one.line[1] or None,
        )  # fmt: skip
        yield Finding(
            tool="synccheck", check=one.check, severity="error", title=_TITLES[one.check],
            details=tuple(details), accesses=(access,), advice=_REPAIRS[one.check],
        )  # fmt: skip
