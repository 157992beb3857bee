"""Forms of instructions: what instructions have in common that differ in a few numbers only.

In tier 0 registers lie in the warp's record, so that instructions that differ only in the names of
their registers, in offsets into constant banks and in most immediates have the same machine code
but for these numbers. It is compiled once, and copied for every instruction of the form
(stencils.py). So most of a large kernel needs no compiler.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from warplens.isa.table import Kind, Op
from warplens.lift import layout as at
from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_REGISTER,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    BindingError,
    Bound,
    registers_of,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.regions.emitter import ModuleText
from warplens.lift.regions.generators import COUNTS
from warplens.lift.regions.lifted import HOLE, NEXT, Form, Run
from warplens.lift.regions.registers import record_offset
from warplens.lift.regions.values import ValueWriter
from warplens.lift.regions.watch import Watch
from warplens.sass.model import PT, RZ, Const, Imm, Operand, Pred, Reg, Special, UPred, UReg

_LEAST_IN_KERNEL = 4  # instructions of a form that is worth compiling
_LEAST_IN_RUN = 3
_LEAST_IN_ALL = 200  # instructions of a kernel that are worth it
_APART = 16  # registers between those of two operands of a form
# Calls a run. It changes all lanes of its vectors; of a warp with fewer lanes, others' are kept
# meanwhile. The vectors' number and, before that, their places stand before the run.
CALL = ("wl.forms", """define internal void @wl.forms(ptr %w, ptr %env, i32 %mask, ptr %run) {
start:
%whole = icmp eq i32 %mask, -1
br i1 %whole, label %all, label %some
all:
call void %run(ptr %w, ptr %env, i32 %mask)
ret void
some:
%list = getelementptr i32, ptr %run, i64 -1
%n = load i32, ptr %list, align 1
%last = sext i32 %n to i64
%kept = alloca <32 x i32>, i32 %n, align 128
%lanes = bitcast i32 %mask to <32 x i1>
br label %before
before:
%i = phi i64 [ 0, %some ], [ %i.next, %keep ]
%is.kept = icmp eq i64 %i, %last
br i1 %is.kept, label %go, label %keep
keep:
%i.next = add i64 %i, 1
%i.list = sub i64 0, %i.next
%i.place = getelementptr i32, ptr %list, i64 %i.list
%i.offset = load i32, ptr %i.place, align 1
%i.vector = getelementptr i8, ptr %w, i32 %i.offset
%i.kept = getelementptr <32 x i32>, ptr %kept, i64 %i
%i.value = load <32 x i32>, ptr %i.vector, align 64
store <32 x i32> %i.value, ptr %i.kept, align 64
br label %before
go:
call void %run(ptr %w, ptr %env, i32 %mask)
br label %behind
behind:
%k = phi i64 [ 0, %go ], [ %k.next, %mix ]
%is.mixed = icmp eq i64 %k, %last
br i1 %is.mixed, label %out, label %mix
mix:
%k.next = add i64 %k, 1
%k.list = sub i64 0, %k.next
%k.place = getelementptr i32, ptr %list, i64 %k.list
%k.offset = load i32, ptr %k.place, align 1
%k.vector = getelementptr i8, ptr %w, i32 %k.offset
%k.kept = getelementptr <32 x i32>, ptr %kept, i64 %k
%k.old = load <32 x i32>, ptr %k.kept, align 64
%k.new = load <32 x i32>, ptr %k.vector, align 64
%k.value = select <32 x i1> %lanes, <32 x i32> %k.new, <32 x i32> %k.old
store <32 x i32> %k.value, ptr %k.vector, align 64
br label %behind
out:
ret void
}
""")
# Operations whose code is the same for every immediate of the given kinds; of others (shifts,
# permutations) an immediate makes the code simpler, and is a part of the form.
_ANY_NUMBER = frozenset({
    "DADD", "FADD", "FFMA", "FMNMX", "FMUL", "FSEL", "FSETP", "HADD2", "HFMA2", "HMNMX2", "HMUL2",
    "HSETP2", "IADD3", "IMAD", "IMNMX", "ISETP", "LEA", "LOP3", "MOV", "SEL", "UIADD3", "UIMAD",
    "UISETP", "ULEA", "ULOP3", "UMOV", "USEL", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3",
})  # fmt: skip
_NUMBERS = frozenset("rcbfh")

_numbers: dict[tuple[object, ...], int] = {}  # of all forms that the process has met


class Shape(NamedTuple):
    """An instruction taken apart: its form's number, and the words that it gives to its form."""

    number: int
    words: list[int]
    is_guarded: bool


def _marks(operand: Reg | UReg | Const) -> tuple[object, ...]:
    """What is done to an operand's value."""
    return operand.negate, operand.absolute, operand.invert, operand.suffixes


def _shape_of(op: Op, kind: Kind | None, operand: Operand | None) -> tuple[object, int | None]:
    """What of an operand belongs to the form, and its word; raises ValueError if it has none."""
    match operand:
        case None:
            return None, None
        case Reg(index=index):
            if index == RZ:
                return ("RZ", *_marks(operand)), None
            return ("R", *_marks(operand)), record_offset(KEY_REGISTER + index)
        case UReg(index=index):
            if index == RZ:
                return ("URZ", *_marks(operand)), None
            return ("UR", *_marks(operand)), record_offset(KEY_UNIFORM + index)
        case Pred(index=index):
            if index == PT:
                return ("PT", operand.negate), None
            return ("P", operand.negate), record_offset(KEY_PREDICATE + index)
        case UPred(index=index):
            if index == PT:
                return ("UPT", operand.negate), None
            return ("UP", operand.negate), record_offset(KEY_UNIFORM_PREDICATE + index)
        case Imm(bits=bits):
            if kind is not None and kind.kind in _NUMBERS and kind.count == 1 and (
                op.opcode in _ANY_NUMBER
            ):
                return "number", bits & 0xFFFFFFFF
            return operand, None
        case Const(bank=bank, base=None) if bank >= 0:
            return ("c", bank, *_marks(operand)), operand.offset
        case Special():
            return operand, None
    raise ValueError(operand)


def shape(item: Bound) -> Shape | None:
    """An instruction's shape; None if it has no form: it does not only compute values."""
    inst, op = item.inst, item.op
    if op.role != "value" or inst.opcode in COUNTS:
        return None
    if any(kind.kind == "d" for kind, _ in (*item.destinations, *item.sources)):
        return None  # putting pairs together and apart for each would take most of the time
    parts: list[object] = [inst.opcode, inst.modifiers, op.requires]
    words: list[int] = []
    guard = None if inst.is_unguarded else inst.guard
    has_number = False
    try:
        for kind, operand in ((None, guard), *item.destinations, *item.sources):
            part, word = _shape_of(op, kind, operand)
            if part == "number":
                if has_number:
                    return None  # LLVM takes two symbols' addresses for different numbers
                has_number = True
            parts.append(part)
            if word is not None:
                words.append(word)
    except ValueError:
        return None
    number = _numbers.setdefault(tuple(parts), len(_numbers))
    return Shape(number, words, guard is not None)


class _FormWriter(ValueWriter):
    """Writes the function of one form."""

    def __init__(self, features: HostFeatures) -> None:
        super().__init__(features, 0)
        self._head: list[str] = []
        self._words = 0
        self._number, self._number_hole = -1, ""  # of the immediate: its key, and what it is
        self._operands = 0
        self._predicates = -1

    def write(self, item: Bound) -> Form:
        """The form of an instruction.

        Raises:
            BindingError: its operation refuses the operands.
        """
        has_guard = not item.inst.is_unguarded
        guard = self._renamed(item.op, None, item.inst.guard) if has_guard else None
        assert guard is None or isinstance(guard, Pred | UPred)
        item = Bound(
            replace(item.inst, guard=guard), item.op,
            tuple((kind, self._renamed(item.op, kind, o)) for kind, o in item.destinations),
            tuple((kind, self._renamed(item.op, kind, o)) for kind, o in item.sources),
            frozenset(), frozenset(),
        )  # fmt: skip
        uniform = item.op.uniform
        self.split = self.x._active = self.vector_mask(self.mask)
        self.guard = self.read_guard(item)
        if self.guard is not None:
            self._pointer("%base", at.ENV_COUNTERS)
            self._head.append(f"%counters = getelementptr i8, ptr %base, i64 {self._hole('i64')}")
            self.count_guarded(item, uniform, 0)
        self.write_results(item, uniform, self.read_sources(item, uniform))
        self.registers.flush()
        body = self.module.take_lines()
        head = "(ptr noalias %w, ptr noalias %env, i32 %mask) {"
        goes_on = f"musttail call void @{NEXT}(ptr %w, ptr %env, i32 %mask)"
        text = "\n".join((head, "start:", *self._head, *body, goes_on, "ret void", "}", ""))
        helpers = self.module.helpers
        parts = (self.features.key(), text, *helpers, *helpers.values())
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
        name = f"wl.form.{digest}"
        return Form(name, f"define void @{name}{text}", helpers)

    def store_vector(self, value: str, place: str, lanes: str) -> None:
        """Stores all lanes of a vector: who calls a run keeps others'."""
        self.line(f"store <32 x i32> {value}, ptr {place}, align 64")

    def _hole(self, kind: str) -> str:
        """The next word, which is not known yet, as an integer."""
        name = f"{HOLE}{self._words}"
        self._words += 1
        self.module.helper(name, f"@{name} = external dso_local global i8")
        return f"ptrtoint (ptr @{name} to {kind})"

    def _pointer(self, name: str, slot: int) -> None:
        """Names a pointer of the environment."""
        self._head += [
            f"{name}.place = getelementptr i64, ptr %env, i64 {slot}",
            f"{name}.address = load i64, ptr {name}.place, align 8",
            f"{name} = inttoptr i64 {name}.address to ptr",
        ]

    def _place(self, key: int, base: str, step: int, n: int) -> None:
        """Names the places of `n` keys, the first at a word's offset from `base`."""
        self._head.append(f"%k{key} = getelementptr i8, ptr {base}, i64 {self._hole('i64')}")
        for i in range(1, n):
            self._head.append(f"%k{key + i} = getelementptr i8, ptr %k{key}, i64 {step * i}")

    def _read_record(self, key: int) -> str:
        """A key's value; immediates take the place of uniform registers."""
        if key == self._number:
            return self.emit(f"add i32 {self._number_hole}, 0")
        return super()._read_record(key)

    def _renamed(self, op: Op, kind: Kind | None, operand: Operand | None) -> Operand | None:
        """An operand of the form: a register whose place the table tells, or the given one."""
        _, word = _shape_of(op, kind, operand)
        if word is None:
            return operand
        self._operands += 1
        index, n = _APART * self._operands, 1 if kind is None else registers_of(kind)
        match operand:
            case Reg():
                self._place(KEY_REGISTER + index, "%w", 128, n)
                return replace(operand, index=index)
            case UReg():
                self._place(KEY_UNIFORM + index, "%w", 4, n)
                return replace(operand, index=index)
            case Pred():
                self._predicates += 1
                self._place(KEY_PREDICATE + self._predicates, "%w", 0, 1)
                return replace(operand, index=self._predicates)
            case UPred():
                self._predicates += 1
                self._place(KEY_UNIFORM_PREDICATE + self._predicates, "%w", 0, 1)
                return replace(operand, index=self._predicates)
            case Imm():
                self._number, self._number_hole = KEY_UNIFORM + index, self._hole("i32")
                return UReg(index)
        assert isinstance(operand, Const)
        bank = f"%bank.{index}"
        self._pointer(bank, at.ENV_BANKS + operand.bank)
        self._place(KEY_UNIFORM + index, bank, 4, n)
        return UReg(index, operand.negate, operand.absolute, operand.invert, operand.suffixes)


_forms: dict[HostFeatures, dict[int, Form | None]] = {}


def _form_of(item: Bound, number: int, features: HostFeatures) -> Form | None:
    """The form of an instruction, written once in a process; None if its operation refuses it."""
    known = _forms.setdefault(features, {})
    if number not in known:
        try:
            known[number] = _FormWriter(features).write(item)
        except BindingError:
            known[number] = None
    return known[number]


class FormTable:
    """A kernel's forms: which of its instructions have one, and the runs of such instructions."""

    def __init__(self, bound: list[Bound], features: HostFeatures, watch: Watch) -> None:
        self.runs: list[Run] = []
        self._shapes: list[Shape | None] = []
        self._forms: dict[int, Form] = {}  # by number
        is_known = features.is_x86 and features.has_avx2 and sys.platform == "linux"  # stencils.py
        if not is_known or len(bound) < _LEAST_IN_ALL:
            return
        told = {"SHFL"} if "shuffle" in watch.syncs else set[str]()
        told |= {"MATCH"} if watch.accesses else set()
        shapes = [
            None if item.inst.opcode in told or i in watch.needless else shape(item)
            for i, item in enumerate(bound)
        ]
        counts = Counter(s.number for s in shapes if s is not None)
        often = {number: n for number, n in counts.items() if n >= _LEAST_IN_KERNEL}
        if sum(often.values()) < _LEAST_IN_ALL:
            return
        for i, (item, s) in enumerate(zip(bound, shapes, strict=True)):
            if s is None or s.number not in often:
                shapes[i] = None
            elif s.number not in self._forms:
                form = _form_of(item, s.number, features)
                if form is None:
                    del often[s.number]
                    shapes[i] = None
                else:
                    self._forms[s.number] = form
        self._shapes = shapes

    def run_end(self, first: int, last: int) -> int:
        """The end of a run of instructions with forms; `first` if there is none worth a call."""
        end = first
        while end < last and end < len(self._shapes) and self._shapes[end] is not None:
            end += 1
        return end if end - first >= _LEAST_IN_RUN else first

    def is_guarded(self, index: int) -> bool:
        """Whether an instruction's form counts the lanes that its guard lets pass."""
        found = self._shapes[index]
        return found is not None and found.is_guarded

    def start_run(self, keys: Iterable[int]) -> str:
        """Begins a run that writes `keys`; gives its name."""
        vectors = (record_offset(key) for key in sorted(keys) if key < KEY_PREDICATE)
        self.runs.append(Run([], tuple(vectors)))
        return f"wl.run.{len(self.runs) - 1}"

    def add(self, index: int, slot: int) -> None:
        """Adds an instruction to the run; `slot` is the counter of a guarded one."""
        found = self._shapes[index]
        assert found is not None
        words = [*found.words, 8 * slot] if found.is_guarded else found.words
        self.runs[-1].steps.append((self._forms[found.number], words))


def module_of(forms: list[Form], features: HostFeatures) -> str:
    """A module with these forms."""
    module = ModuleText(features.has_avx512)
    for form in forms:
        for name, text in form.helpers.items():
            module.helper(name, text)
        module.add_function(form.ir)
    module.helper(NEXT, f"declare void @{NEXT}(ptr, ptr, i32)")
    return module.text()
