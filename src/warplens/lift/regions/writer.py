"""SASS to LLVM IR: one function per region, registers in SSA inside, in memory between regions.

Inside a region the values of lanes that are not in the running split are garbage; what leaves a
region is stored under the split's mask. So straight-line code needs no blending at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warplens.errors import Unsupported
from warplens.isa import table
from warplens.isa.refused import feature_of
from warplens.lift import layout as at
from warplens.lift.decode import blocks as cut
from warplens.lift.decode.binding import (
    ATOMIC_VECTORS,
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    BindingError,
    Bound,
    bind,
    members,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value
from warplens.lift.memory.watching import UNWATCHED, WATCH_ALL, Watch, tell_part
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
from warplens.lift.runtime.lane_rows_ir import AREA
from warplens.sass.model import Const, Instruction, SassKernel, UPred, UReg

if TYPE_CHECKING:
    from warplens.lift.memory.lane_rows import LaneRows
    from warplens.lift.memory.shared_loads import Pattern


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter slot: column += weight * slot for instructions [start, end)."""

    slot: int
    column: str
    start: int
    end: int
    weight: int = 1


@dataclass(slots=True)
class Lifted:
    """A lifted kernel: IR text and the tables that the runner needs."""

    kernel: SassKernel
    ir: str
    layout: cut.Layout
    counters: list[Counter]
    n_counters: int
    sites: list[int]  # instruction index of each access site
    site_widths: list[int]
    n_registers: int
    ordered_reason: str
    tier: int
    notes: list[str] = field(default_factory=list)


_TOLD_AS = {"CCTL": "fence", "LDGDEPBAR": "copy_commit", "DEPBAR": "copy_commit"}
_TELL_THEMSELVES = frozenset({"bar", "warpsync"})  # roles that call the observer with arguments

Role = Callable[["RegionWriter", Bound], None]
ROLES: dict[str, Role] = {}


def role(*names: str) -> Callable[[Role], Role]:
    """Registers the code generator of a role."""

    def register(function: Role) -> Role:
        for name in names:
            ROLES[name] = function
        return function

    return register


def describe(kernel: SassKernel, inst: Instruction) -> str:
    """Where an instruction stands: kernel, offset, source line and text."""
    source = f" ({inst.file}:{inst.line})" if inst.line else ""
    return f"{kernel.demangled or kernel.name}+{inst.address:#06x}{source}: {inst.text.strip()}"


def bind_kernel(kernel: SassKernel) -> tuple[list[Bound | None], list[tuple[Instruction, str]]]:
    """Every instruction with its table entry, and the gaps with their reasons."""
    bound: list[Bound | None] = []
    gaps: list[tuple[Instruction, str]] = []
    for inst in kernel.instructions:
        entry = table.find(inst.opcode, inst.modifiers)
        reason = ""
        item: Bound | None = None
        feature = feature_of(inst.opcode, inst.modifiers)
        if entry is None:
            reason = f"opcode {inst.opcode} is not known"
            reason = f"{feature.name} are not executed" if feature else reason
        else:
            unknown = [m for m in inst.modifiers if m not in entry.modifiers]
            if unknown and feature is not None:
                reason = f"{feature.name} are not executed"
            elif unknown:
                reason = f"modifier .{unknown[0]} of {inst.opcode} is not known"
            else:
                try:
                    item = bind(inst, entry)
                except BindingError as error:
                    reason = str(error)
        if reason:
            gaps.append((inst, reason))
        bound.append(item)
    return bound, gaps


def raise_gaps(kernel: SassKernel, gaps: list[tuple[Instruction, str]]) -> None:
    """Refuses a kernel that has gaps, naming all of them."""
    if not gaps:
        return
    shown = [f"  {describe(kernel, inst)}\n      {reason}" for inst, reason in gaps[:50]]
    if len(gaps) > 50:
        shown.append(f"  … and {len(gaps) - 50} more")
    features = (feature_of(inst.opcode, inst.modifiers) for inst, _ in gaps)
    advice = dict.fromkeys(f.advice for f in features if f is not None)
    see = "`warplens list opcodes FILE.cu` shows what is missing where; nothing was run"
    raise Unsupported(
        f"{kernel.demangled or kernel.name} (sm_{kernel.sm}) uses {len(gaps)} instruction(s) that "
        "are not supported:\n" + "\n".join(shown),
        hint="; ".join((*advice, see)),
    )


class RegionWriter:
    """Writes the functions of a kernel; code generators of roles work through it."""

    def __init__(self, kernel: SassKernel, bound: list[Bound], features: HostFeatures,
                 observe: bool | Watch = False, tier: int = 1,
                 single: bool = False) -> None:  # fmt: skip
        self.kernel = kernel
        self.clusters = kernel.cluster_blocks > 1
        every = WATCH_ALL if observe else UNWATCHED
        self.watch = observe if isinstance(observe, Watch) else every
        self.observe = self.watch.accesses
        self.tier = tier
        self.inline_rows = tier > 0 and not self.observe
        self.bound = bound
        self.features = features
        self.module = ModuleText(features.has_avx512)
        self.line = self.module.line
        self.name = self.module.name
        self.x = LlvmLanes(self.module, 32, None, features)
        self.u = LlvmLanes(self.module, 1, None, features)
        self.layout = cut.lay_out(kernel, list(bound), single=single)
        store_record = None if tier > 0 else self._store_in_record
        self.registers = RegisterFile(
            self.line, self.name, self.x, self.u, self._read_record, store_record
        )
        self.operands = Operands(self.registers, self.x, self.u, self.constant_word)
        self.counters: list[Counter] = []
        self.n_counters = 0
        self.sites: list[int] = []
        self.site_widths: list[int] = []
        self.entries: set[int] = {0, *self.layout.return_points}
        self.block = self.layout.blocks[0]
        self.region = self.layout.regions[0]
        self.index = 0
        # loads that are served together, by instruction; how many areas each region needs for them
        self.lane_rows: dict[int, tuple[LaneRows, int]] = {}
        self.areas: dict[int, int] = {}
        self.mask = "%mask"
        self.split: str | None = None
        self.true_slot = 0  # counter of lanes that execute the present instruction
        self.guard: Value | None = None
        self._constants: dict[tuple[int, int], Value] = {}
        # how the addresses in a register lie to each other, found in the present block
        self.patterns: dict[tuple[str, str, int], Pattern] = {}
        self._exits: dict[tuple[str, int, int], str] = {}  # of the region, see _exit
        self.terminated = False
        self.gaps: list[tuple[Instruction, str]] = []

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

    def counter(self, column: str, start: int, end: int, weight: int = 1,
                slot: int | None = None) -> int:  # fmt: skip
        """Reserves a counter slot (or reuses one for a further column)."""
        if slot is None:
            slot = self.n_counters
            self.n_counters += 1
        self.counters.append(Counter(slot, column, start, end, weight))
        return slot

    def count(self, slot: int, amount: str) -> None:
        """Adds an i64 to a counter."""
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

    # --- state between regions -------------------------------------------------------------------

    def store_state(self, target: int, mask: str, dirty: int | None = None) -> None:
        """Stores what `target` needs and the record may lack, for the lanes of `mask`."""
        dirty = self.block.dirty if dirty is None else dirty
        self.store_keys(self.layout.blocks[target].live_in & dirty, mask)

    def _store_in_record(self, key: int, value: str) -> None:
        """Tier 0: registers live in the warp record."""
        assert self.split is not None
        self._store_key(key, value, storage_name(key), self.split)

    def store_keys(self, keys: int, mask: str) -> None:
        """Stores keys from their allocas to the warp record, vectors under `mask`."""
        if self.tier == 0:
            return
        lanes = self.vector_mask(mask)
        for key in members(keys):
            self.registers.used.add(key)
            kind = storage_type(key)
            value = self.emit(f"load {kind}, ptr {storage_name(key)}")
            self._store_key(key, value, self.field(record_offset(key)), lanes)

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

    def leave(self, target: int, mask: str, event: int, dirty: int | None = None) -> None:
        """Ends the function: state stored, mask and pc set, event returned."""
        self.entries.add(target)
        self.store_state(target, mask, dirty)
        self.store_u32(at.WARP_MASK, mask)
        self.store_u32(at.WARP_PC, str(target))
        self.line(f"ret i32 {event}")

    def park(self, target: int, mask: str) -> None:
        """Puts the lanes of `mask` aside as a ready split that goes on at `target`."""
        self.entries.add(target)
        self.store_state(target, mask)
        n = self.load_u32(at.WARP_SPLITS)
        offset = self.emit(f"mul i32 {n}, {at.SPLIT_SIZE}")
        base = self.field(at.WARP_SPLIT_TABLE)
        place = self.emit(f"getelementptr i8, ptr {base}, i32 {offset}")
        entry = f"<4 x i32> <i32 0, i32 {target}, i32 {at.SPLIT_READY}, i32 0>"
        full = self.emit(f"insertelement {entry}, i32 {mask}, i32 0")
        self.line(f"store <4 x i32> {full}, ptr {place}, align 4")
        self.store_u32(at.WARP_SPLITS, self.emit(f"add i32 {n}, 1"))

    def goto(self, target: int, mask: str | None = None) -> None:
        """Goes on at a lifted block with `mask` (None: the present one). Registers are flushed."""
        if mask is not None:
            self.line(f"store i32 {mask}, ptr %mask")
        inside = self.region.first <= target < self.region.last
        dirty = self.block.dirty
        if not inside:
            self.line(f"br label %{self._exit('x', target)}")
        elif target <= self.block.index:
            self._load_missing(target, ~dirty)
            fuel = self.field(at.WARP_FUEL)
            left = self.emit(f"load i64, ptr {fuel}, align 8")
            less = self.emit(f"sub i64 {left}, 1")
            self.line(f"store i64 {less}, ptr {fuel}, align 8")
            spent = self.emit(f"icmp slt i64 {less}, 0")
            self.line(f"br i1 {spent}, label %{self._exit('y', target)}, "
                      f"label %b{target}, !prof !2")  # fmt: skip
        else:
            if target in self.block.cleans:
                self.store_state(target, self.mask if mask is None else mask)
            self._load_missing(target, ~dirty)
            self.line(f"br label %b{target}")

    def spend_fuel(self, amount: int) -> None:
        """Makes the split yield sooner: it may be spinning."""
        fuel = self.field(at.WARP_FUEL)
        left = self.emit(f"load i64, ptr {fuel}, align 8")
        self.line(f"store i64 {self.emit(f'sub i64 {left}, {amount}')}, ptr {fuel}, align 8")

    def next_block(self) -> int:
        """The lifted block after this one."""
        return self.block.index + 1

    def has_next(self) -> bool:
        """Whether code follows."""
        return self.block.index + 1 < len(self.layout.blocks)

    def call_observer(self, slot: int, number: str, mask: str, *more: str) -> None:
        """Calls void f(env, warp, i32 number, i32 mask, more typed arguments) of the observer."""
        function = self.emit(f"inttoptr i64 {self.env(slot)} to ptr")
        arguments = ", ".join(("ptr %env", "ptr %w", f"i32 {number}", f"i32 {mask}", *more))
        self.line(f"call void {function}({arguments})")

    def tell_sync(self, mask: str) -> None:
        """Tells the observer that these lanes execute the instruction."""
        self.call_observer(at.ENV_OBSERVE_SYNC, str(self.index), mask)

    def tells(self, role: str) -> bool:
        """Whether there is an observer that wants to know of a role."""
        return role in self.watch.syncs

    # --- guards ----------------------------------------------------------------------------------

    def lanes_mask(self) -> str:
        """The executing lanes (split and guard) as i32."""
        if self.guard is None:
            return self.mask
        bits = self.x.ballot_scalar(self.guard)
        return self.emit(f"and i32 {bits}, {self.mask}")

    def executing(self) -> str:
        """The executing lanes as <32 x i1>."""
        return self.vector_mask(self.lanes_mask())

    # --- kernels ---------------------------------------------------------------------------------

    def write(self) -> Lifted:
        """Writes every region and the module."""
        self.module.helper("!2", '!2 = !{!"branch_weights", i32 1, i32 20000}')
        if any(b.indirect and (not b.successors or self.bound[b.end - 1].op.role == "call")
               for b in self.layout.blocks):  # fmt: skip
            self.entries.update(range(len(self.layout.blocks)))
        bodies: list[tuple[cut.Region, list[str], set[int], set[int]]] = []
        for region in self.layout.regions:
            self.region = region
            self.registers.used = set()
            self._exits = {}
            for i in range(region.first, region.last):
                self._write_block(self.layout.blocks[i])
            self._write_exits()
            bodies.append((region, self.module.take_lines(), self.registers.used, set()))
        raise_gaps(self.kernel, self.gaps)
        for region, lines, used, _ in bodies:
            self._write_function(region, lines, used)
        n_registers = 1 + max(
            (k for item in self.bound for k in (*item.reads, *item.writes) if k < KEY_PREDICATE),
            default=0,
        )
        return Lifted(
            self.kernel, self.module.text(), self.layout, self.counters, self.n_counters,
            self.sites, self.site_widths, max(n_registers, 32), order_reason(self.bound), self.tier,
        )  # fmt: skip

    def _write_block(self, block: cut.LiftedBlock) -> None:
        self.block = block
        self.terminated = False
        if self.tier == 0 or not block.is_rest:
            lazy = self.region.lazy if self.tier > 0 else 0
            self.registers.start_block(lazy & ~block.dirty_in)
            self.patterns.clear()
            self._constants.clear()
            self.module.start(f"b{block.index}")
            self.mask = self.emit("load i32, ptr %mask")
            self.split = self.vector_mask(self.mask)
            self.x._active = self.split
        slot = self.counter("inst_executed", block.start, block.end)
        self.count(slot, "1")
        slot = self.counter("thread_inst_executed", block.start, block.end)
        self.count(slot, self.popcount(self.mask))
        if self.watch.blocks:
            self.call_observer(at.ENV_OBSERVE_BLOCK, str(block.index), self.mask)
        for i in range(block.start, block.end):
            self.index = i
            self._write_instruction(self.bound[i], slot)
        if not self.terminated:
            if self.tier > 0 and self.has_next() and self.layout.blocks[block.index + 1].is_rest:
                return
            self.registers.flush()
            if self.has_next():
                self.goto(self.next_block())
            else:
                self.line(f"ret i32 {at.EVENT_FAULT}")

    def _read_guard(self, item: Bound) -> Value | None:
        guard = item.inst.guard
        if guard is None or (guard.index == 7 and not guard.negate):
            return None
        uniform = item.op.uniform and item.op.role == "value"
        return self.operands.predicate(guard, uniform)

    def _write_instruction(self, item: Bound, threads_slot: int) -> None:
        try:
            self._write_bound(item, threads_slot)
        except BindingError as error:
            self.gaps.append((item.inst, str(error)))

    def _write_bound(self, item: Bound, threads_slot: int) -> None:
        inst, i = item.inst, self.index
        self.guard = self._read_guard(item)
        uniform = item.op.uniform and item.op.role == "value"
        if self.guard is None:
            self.true_slot = threads_slot
            self.counter("thread_inst_executed_true", i, i + 1, slot=threads_slot)
            saved = self.x._active
        elif isinstance(inst.guard, UPred):
            is_on = self.operands.predicate(inst.guard, True)
            threads = self.emit(f"select i1 {is_on.ref}, i64 {self.popcount(self.mask)}, i64 0")
            self.true_slot = self.counter("thread_inst_executed_true", i, i + 1)
            self.count(self.true_slot, threads)
            saved = self.x._active
            if not uniform:
                self.x._active = self.executing()
        else:
            saved = self.x._active
            mask = self.lanes_mask()
            self.true_slot = self.counter("thread_inst_executed_true", i, i + 1)
            self.count(self.true_slot, self.popcount(mask))
            self.x._active = self.vector_mask(mask)
        if item.op.role == "value":
            self._write_value(item, uniform)
        else:
            name = _TOLD_AS.get(inst.opcode, item.op.role)
            if self.tells(name) and name not in _TELL_THEMSELVES:
                self.tell_sync(self.lanes_mask())
            if i in self.watch.parts:
                tell_part(self)
            ROLES[item.op.role](self, item)
        self.x._active = saved

    def _write_value(self, item: Bound, uniform: bool) -> None:
        x = self.u if uniform else self.x
        keep_sign = bool(item.op.attributes.get("ignore_absolute"))
        sources = [self.operands.source(kind, o, uniform, keep_sign) for kind, o in item.sources]
        assert item.op.function is not None
        if item.inst.opcode == "SHFL" and self.tells("shuffle"):
            for slot, value in enumerate(sources[1:3]):
                place = self.field(at.WARP_SCRATCH + 128 * slot)
                self.line(f"store <32 x i32> {value.ref}, ptr {place}, align 64")
            self.tell_sync(self.lanes_mask())
        if item.inst.opcode == "MATCH" and "ANY" in item.inst.modifiers and self.observe:
            self._show_values(sources[0])
        result = item.op.function(x, table.Modifiers(item.inst.modifiers), *sources)
        results = result if len(item.destinations) > 1 else (result,)
        for (kind, operand), value in zip(item.destinations, results, strict=True):
            self.operands.destination(kind, operand, value, self.guard, uniform)

    def _show_values(self, value: Value) -> None:
        """Shows the observer what lanes compare: how many values differ decides the time."""
        low = self.x.low32(value) if value.type == "u64" else value
        place = self.field(at.WARP_SCRATCH)
        self.line(f"store <32 x i32> {low.ref}, ptr {place}, align 64")
        self.call_observer(
            at.ENV_OBSERVE_ACCESS, str(self.index), self.lanes_mask(), f"i32 {at.SPACE_VALUES}",
            f"i32 {at.ACCESS_READ}", "i32 4", "i64 0", "ptr null",
        )  # fmt: skip

    def _exit(self, stem: str, target: int) -> str:
        """Label of a way out of the region, shared by all that store the same keys.

        Stem x goes on at once, y lets others run first.
        """
        keys = self.block.dirty & self.layout.blocks[target].live_in
        label = f"{stem}{target}.{len(self._exits)}"
        return self._exits.setdefault((stem, target, keys), label)

    def _write_exits(self) -> None:
        events = {"x": at.EVENT_JUMP, "y": at.EVENT_YIELD}
        for (stem, target, keys), label in self._exits.items():
            self.module.start(label)
            self.leave(target, self.emit("load i32, ptr %mask"), events[stem], keys)

    def _write_function(self, region: cut.Region, body: list[str], used: set[int]) -> None:
        entries = [i for i in range(region.first, region.last) if i in self.entries]
        region.entries = entries
        keys_here = 0
        for key in used:
            keys_here |= 1 << key
        for target in entries:
            self.module.start(f"e{target}")
            if self.tier > 0:
                block = self.layout.blocks[target]
                wanted = block.dirty_in | ~region.lazy
                for key in members(block.live_in & keys_here & wanted):
                    self._load_key(key)
            self.line(f"br label %b{target}")
        entry_lines = self.module.take_lines()
        cases = " ".join(f"i32 {t}, label %e{t}" for t in entries)
        head = [
            f"define i32 @region{region.index}(ptr noalias %w, ptr noalias %env) #0 {{",
            "start:",
            *(self._storage(k) for k in sorted(used)),
            *(f"%area{i} = alloca {AREA}, align 128"
              for i in range(self.areas.get(region.index, 0))),
            "%mask = alloca i32",
            "%mask_in = load i32, ptr %w, align 4",
            "store i32 %mask_in, ptr %mask",
            "%bank_address = load i64, ptr %env, align 8",
            "%bank0 = inttoptr i64 %bank_address to ptr",
            f"%counters_place = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}",
            "%counters_address = load i64, ptr %counters_place, align 8",
            "%counters = inttoptr i64 %counters_address to ptr",
            f"%sites_place = getelementptr i64, ptr %env, i64 {at.ENV_SITES}",
            "%sites_address = load i64, ptr %sites_place, align 8",
            "%sites = inttoptr i64 %sites_address to ptr",
            f"%pc_place = getelementptr i8, ptr %w, i64 {at.WARP_PC}",
            "%pc = load i32, ptr %pc_place, align 4",
            f"switch i32 %pc, label %bad_pc [ {cases} ]",
            "bad_pc:",
            f"ret i32 {at.EVENT_FAULT}",
        ]
        self.module.add_function("\n".join((*head, *entry_lines, *body, "}")))

    def _storage(self, key: int) -> str:
        """The line that gives a key its place: an alloca, or in tier 0 the warp record."""
        if self.tier > 0:
            return f"{storage_name(key)} = alloca {storage_type(key)}"
        return f"{storage_name(key)} = getelementptr i8, ptr %w, i64 {record_offset(key)}"

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

    def _load_key(self, key: int) -> None:
        """Loads a key from the record to its alloca."""
        value = self._read_record(key)
        self.line(f"store {storage_type(key)} {value}, ptr {storage_name(key)}")

    def _load_missing(self, target: int, clean: int) -> None:
        """Loads what `target` expects in allocas and only the record holds."""
        block = self.layout.blocks[target]
        if self.tier > 0:
            for key in members(block.live_in & block.dirty_in & clean & self.region.lazy):
                self.registers.used.add(key)
                self._load_key(key)


_FLOATS_ADDED = {"F32", "F64", "F16x2", "BF16x2", "BF16_V2", *ATOMIC_VECTORS}


def order_reason(bound: list[Bound]) -> str:
    """Why blocks must run in index order; empty if nothing in the code depends on their order."""
    for item in bound:
        modifiers = set(item.inst.modifiers)
        where = f"{item.inst.text.strip()} at {item.inst.address:#06x}"
        if item.op.role == "atomic" and "128" in modifiers:
            return f"strong 128-bit atomic: {where}"
        if item.op.role == "atomic" and item.op.attributes.get("space") != "shared":
            return f"an atomic's result is used: {where}"
        if item.op.role == "reduction" and modifiers & _FLOATS_ADDED:
            return f"floating-point atomic: {where}"
        if item.op.role in ("load", "store") and "STRONG" in modifiers:
            return f"strong or volatile access: {where}"
    return ""


def lift(kernel: SassKernel, features: HostFeatures, observe: bool | Watch = False,
         tier: int = 1, single: bool = False) -> Lifted:  # fmt: skip
    """Lifts a kernel; `observe` adds the calls of execute/observe.py, all or those of a
    watch, for every instruction if `single`.

    Tier 0 is compact and soon compiled, tier 1 fast; both share layout, state and counters, so a
    running launch may change from one to the other between regions.

    Raises:
        Unsupported: it uses instructions that are not known; all of them are listed.
    """
    bound, gaps = bind_kernel(kernel)
    raise_gaps(kernel, gaps)
    known = [b for b in bound if b is not None]
    return RegionWriter(kernel, known, features, observe, tier, single).write()
