"""What code of instructions is made of: values in registers, the warp's record, guards, counters.

Regions are written with it (writer.py), and functions of a single instruction (forms.py).
"""

from __future__ import annotations

from typing import Any

from warplens.isa.families import modifiers_of
from warplens.lift import layout as at
from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    BindingError,
    Bound,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value
from warplens.lift.regions.emitter import ModuleText
from warplens.lift.regions.operands import Operands
from warplens.lift.regions.registers import (
    PREDICATE,
    UNIFORM_PREDICATE,
    VECTOR,
    RegisterFile,
    record_offset,
    storage_name,
    storage_type,
)
from warplens.lift.regions.skipped import Run
from warplens.sass.model import Const, UPred, UReg


class ValueWriter:
    """What is known where the present instruction is written, and the steps of its code."""

    def __init__(self, features: HostFeatures, tier: int) -> None:
        self.features = features
        self.tier = tier
        self.module = ModuleText(features.has_avx512)
        self.line = self.module.line
        self.name = self.module.name
        self.x = LlvmLanes(self.module, 32, None, features)
        self.u = LlvmLanes(self.module, 1, None, features)
        store_record = None if tier > 0 else self._store_in_record
        self.registers = RegisterFile(
            self.line, self.name, self.x, self.u, self._read_record, store_record
        )
        self.operands = Operands(self.registers, self.x, self.u, self.constant_word)
        self.mask = "%mask"
        self.split: str | None = None
        self.guard: Value | None = None
        self.run: Run | None = None  # that is being written, see skipped.py
        self._constants: dict[tuple[int, int], Value] = {}

    # --- small pieces ----------------------------------------------------------------------------

    def emit(self, text: str) -> str:
        """One instruction with a result; returns its name."""
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def field(self, offset: int) -> str:
        """Pointer to a byte offset of the warp record."""
        return self.emit(f"getelementptr i8, ptr %w, i64 {offset}")

    def load_u32(self, offset: int) -> str:
        """Loads a u32 of the warp record."""
        return self.emit(f"load i32, ptr {self.field(offset)}, align 4")

    def store_u32(self, offset: int, value: str) -> None:
        """Stores a u32 of the warp record."""
        self.line(f"store i32 {value}, ptr {self.field(offset)}, align 4")

    def env(self, slot: int) -> str:
        """Loads an int64 slot of the environment."""
        place = self.emit(f"getelementptr i64, ptr %env, i64 {slot}")
        return self.emit(f"load i64, ptr {place}, align 8")

    def vector_mask(self, mask: str) -> str:
        """An i32 mask as <32 x i1>."""
        return self.emit(f"bitcast i32 {mask} to <32 x i1>")

    def count(self, slot: int | str, amount: str) -> None:
        """Adds an i64 to a counter, given by its number or the name of one."""
        place = self.emit(f"getelementptr i64, ptr %counters, i64 {slot}")
        old = self.emit(f"load i64, ptr {place}, align 8")
        new = self.emit(f"add i64 {old}, {amount}")
        self.line(f"store i64 {new}, ptr {place}, align 8")

    def popcount(self, mask: str) -> str:
        """Number of lanes of an i32 mask, as i64."""
        self.module.helper("llvm.ctpop.i32", "declare i32 @llvm.ctpop.i32(i32)")
        n = self.emit(f"call i32 @llvm.ctpop.i32(i32 {mask})")
        return self.emit(f"zext i32 {n} to i64")

    def constant_word(self, operand: Const, offset: int) -> Value:
        """Word `offset` of a constant-bank operand as a scalar."""
        if operand.bank < 0:
            raise BindingError("bindless constant bank")
        if operand.base is not None:
            if not isinstance(operand.base, UReg):
                raise BindingError("constant operand indexed by a vector register")
            base = self.operands.word(operand.base, 0, True)
            where = self.emit(f"add i32 {base.ref}, {operand.offset + 4 * offset}")
            where = self.emit(f"and i32 {where}, 65535")
            place = self.emit(f"getelementptr i8, ptr {self.bank(operand.bank)}, i32 {where}")
            return Value("u32", self.emit(f"load i32, ptr {place}, align 4"))
        key = (operand.bank, operand.offset + 4 * offset)
        value = self._constants.get(key)
        if value is None:
            place = self.emit(f"getelementptr i8, ptr {self.bank(operand.bank)}, i64 {key[1]}")
            value = Value("u32", self.emit(f"load i32, ptr {place}, align 4, !invariant.load !0"))
            self._constants[key] = value
        return value

    def bank(self, number: int) -> str:
        """Pointer to a constant bank's bytes."""
        if number == 0:
            return "%bank0"
        return self.emit(f"inttoptr i64 {self.env(at.ENV_BANKS + number)} to ptr")

    # --- registers in the warp's record ---------------------------------------------------------

    def _store_in_record(self, key: int, value: str) -> None:
        """Tier 0: registers live in the warp record."""
        assert self.split is not None
        self._store_key(key, value, storage_name(key), self.split)

    def _store_key(self, key: int, value: str, place: str, lanes: str) -> None:
        if key < KEY_PREDICATE:
            self.store_vector(value, place, lanes)
        elif key < KEY_UNIFORM:
            word = self.emit(f"load i32, ptr {place}, align 4")
            old = self.emit(f"bitcast i32 {word} to <32 x i1>")
            new = self.emit(f"select <32 x i1> {lanes}, <32 x i1> {value}, <32 x i1> {old}")
            bits = self.emit(f"bitcast <32 x i1> {new} to i32")
            self.line(f"store i32 {bits}, ptr {place}, align 4")
        else:
            if key >= KEY_UNIFORM_PREDICATE:
                value = self.emit(f"zext i1 {value} to i32")
            self.line(f"store i32 {value}, ptr {place}, align 4")

    def store_vector(self, value: str, place: str, lanes: str) -> None:
        """Stores a vector where lanes (<32 x i1>) hold."""
        if self.features.has_avx512:
            self.module.helper(
                "llvm.masked.store.v32i32.p0",
                "declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, i32, <32 x i1>)",
            )
            self.line(
                f"call void @llvm.masked.store.v32i32.p0(<32 x i32> {value}, ptr {place}, i32 64, "
                f"<32 x i1> {lanes})"
            )
            return
        old = self.emit(f"load <32 x i32>, ptr {place}, align 64")
        new = self.emit(f"select <32 x i1> {lanes}, <32 x i32> {value}, <32 x i32> {old}")
        self.line(f"store <32 x i32> {new}, ptr {place}, align 64")

    def _read_record(self, key: int) -> str:
        """A key's value from the warp record."""
        place = storage_name(key) if self.tier == 0 else self.field(record_offset(key))
        kind = storage_type(key)
        if kind == VECTOR:
            return self.emit(f"load <32 x i32>, ptr {place}, align 64")
        value = self.emit(f"load i32, ptr {place}, align 4")
        if kind == PREDICATE:
            return self.emit(f"bitcast i32 {value} to <32 x i1>")
        if kind == UNIFORM_PREDICATE:
            return self.emit(f"trunc i32 {value} to i1")
        return value

    # --- guards ----------------------------------------------------------------------------------

    def lanes_mask(self) -> str:
        """The executing lanes (split and guard) as i32."""
        if self.guard is None:
            return self.mask
        if self.run is not None:
            return self.run.mask
        bits = self.x.ballot_scalar(self.guard)
        return self.emit(f"and i32 {bits}, {self.mask}")

    def executing(self) -> str:
        """The executing lanes as <32 x i1>."""
        return self.vector_mask(self.lanes_mask())

    def read_guard(self, item: Bound) -> Value | None:
        """The guard of an instruction; None if all lanes execute it."""
        guard = item.inst.guard
        if guard is None or item.inst.is_unguarded:
            return None
        uniform = item.op.uniform and item.op.role == "value"
        return self.operands.predicate(guard, uniform)

    def count_guarded(self, item: Bound, uniform: bool, slot: int | str) -> None:
        """Counts the lanes that the guard lets execute, which are the active ones from here on."""
        if isinstance(item.inst.guard, UPred):
            is_on = self.operands.predicate(item.inst.guard, True)
            threads = self.emit(f"select i1 {is_on.ref}, i64 {self.popcount(self.mask)}, i64 0")
            self.count(slot, threads)
            if not uniform:
                self.x._active = self.executing()
            return
        mask = self.lanes_mask()
        self.count(slot, self.popcount(mask))
        self.x._active = self.vector_mask(mask)

    # --- instructions that compute values --------------------------------------------------------

    def read_sources(self, item: Bound, uniform: bool) -> list[Any]:
        """The arguments of an operation."""
        keep_sign = bool(item.op.attributes.get("ignore_absolute"))
        return [self.operands.source(kind, o, uniform, keep_sign) for kind, o in item.sources]

    def write_results(self, item: Bound, uniform: bool, sources: list[Any]) -> None:
        """Computes and writes an operation's results."""
        x = self.u if uniform else self.x
        assert item.op.function is not None
        result = item.op.function(x, modifiers_of(item.op, item.inst), *sources)
        results = result if len(item.destinations) > 1 else (result,)
        for (kind, operand), value in zip(item.destinations, results, strict=True):
            self.operands.destination(kind, operand, value, self.guard, uniform)
