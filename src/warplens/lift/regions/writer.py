"""The region being written, and the steps of which its code is made.

A region is one function: registers in SSA inside, in memory between regions. Inside, the values of
lanes that are not in the running split are garbage; what leaves a region is stored under the
split's mask. So straight-line code needs no blending at all.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode import blocks as cut
from warplens.lift.decode.binding import (
    Bound,
    members,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.address_patterns import IndexRow, LaneRows, Pattern
from warplens.lift.regions.lifted import Counter
from warplens.lift.regions.registers import (
    record_offset,
    storage_name,
    storage_type,
)
from warplens.lift.regions.values import ValueWriter
from warplens.lift.regions.watch import UNWATCHED, WATCH_ALL, Watch
from warplens.sass.model import Instruction, SassKernel


class RegionWriter(ValueWriter):
    """What is known where the present instruction is written; code generators work through it."""

    def __init__(self, kernel: SassKernel, bound: list[Bound], features: HostFeatures,
                 observe: bool | Watch = False, tier: int = 1,
                 single: bool = False) -> None:  # fmt: skip
        super().__init__(features, tier)
        self.kernel = kernel
        self.clusters = kernel.cluster_blocks > 1
        every = WATCH_ALL if observe else UNWATCHED
        self.watch = observe if isinstance(observe, Watch) else every
        self.observe = self.watch.accesses
        self.inline_rows = tier > 0 and not self.observe
        self.bound = bound
        self.has_fences = any(item.op.role == "fence" for item in bound)
        self.layout = cut.lay_out(kernel, list(bound), single=single)
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
        self.index_rows: dict[int, IndexRow] = {}  # by the access that goes through them
        self.true_slot = 0  # counter of lanes that execute the present instruction
        # how the addresses in a register lie to each other, found in the present block
        self.patterns: dict[tuple[str, str, int], Pattern] = {}
        self._exits: dict[tuple[str, int, int], str] = {}  # of the region, see _exit
        self.terminated = False
        self.gaps: list[tuple[Instruction, str]] = []

    # --- small pieces ----------------------------------------------------------------------------

    def counter(self, column: str, start: int, end: int, weight: int = 1,
                slot: int | None = None) -> int:  # fmt: skip
        """Reserves a counter slot (or reuses one for a further column)."""
        if slot is None:
            slot = self.n_counters
            self.n_counters += 1
        self.counters.append(Counter(slot, column, start, end, weight))
        return slot

    def highest_lane(self, mask: str) -> str:
        """Index of the highest lane of an i32 mask, as i32; -1 if there is none."""
        self.module.helper("llvm.ctlz.i32", "declare i32 @llvm.ctlz.i32(i32, i1)")
        above = self.emit(f"call i32 @llvm.ctlz.i32(i32 {mask}, i1 false)")
        return self.emit(f"sub i32 31, {above}")

    # --- state between regions -------------------------------------------------------------------

    def store_state(self, target: int, mask: str, dirty: int | None = None) -> None:
        """Stores what `target` needs and the record may lack, for the lanes of `mask`."""
        dirty = self.block.dirty if dirty is None else dirty
        self.store_keys(self.layout.blocks[target].live_in & dirty, mask)

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

    def leave(self, target: int, mask: str, event: int, dirty: int | None = None) -> None:
        """Ends the function: state stored, mask and pc set, event returned."""
        self.entries.add(target)
        self.store_state(target, mask, dirty)
        self.store_u32(at.WARP_MASK, mask)
        self.store_u32(at.WARP_PC, str(target))
        self.line(f"ret i32 {event}")

    def park(self, target: int, mask: str, *, absent: str = "", need: str = "") -> None:
        """Puts the lanes of `mask` aside as a split that goes on at `target`: a ready one, or one
        that waits at WARPSYNC with the mask `need` if lanes of it are `absent`."""
        self.entries.add(target)
        self.note_way(target)
        self.store_state(target, mask)
        n = self.load_u32(at.WARP_SPLITS)
        offset = self.emit(f"mul i32 {n}, {at.SPLIT_SIZE}")
        base = self.field(at.WARP_SPLIT_TABLE)
        place = self.emit(f"getelementptr i8, ptr {base}, i32 {offset}")
        entry = f"<4 x i32> <i32 0, i32 {target}, i32 {at.SPLIT_READY}, i32 0>"
        full = self.emit(f"insertelement {entry}, i32 {mask}, i32 0")
        if absent:
            waits = self.emit(f"icmp ne i32 {absent}, 0")
            states = f"i32 {at.SPLIT_AT_WARPSYNC}, i32 {at.SPLIT_READY}"
            state = self.emit(f"select i1 {waits}, {states}")
            full = self.emit(f"insertelement <4 x i32> {full}, i32 {state}, i32 2")
            awaited = self.emit(f"select i1 {waits}, i32 {need}, i32 0")
            full = self.emit(f"insertelement <4 x i32> {full}, i32 {awaited}, i32 3")
        self.line(f"store <4 x i32> {full}, ptr {place}, align 4")
        self.store_u32(at.WARP_SPLITS, self.emit(f"add i32 {n}, 1"))

    def goto(self, target: int, mask: str | None = None) -> None:
        """Goes on at a lifted block with `mask` (None: the present one). Registers are flushed."""
        if mask is not None:
            self.line(f"store i32 {mask}, ptr %mask")
        inside = self.region.first <= target < self.region.last
        dirty = self.block.dirty
        self.note_way(target)
        if (self.block.index, target) in self.layout.waiting.bodies:
            self.line(f"br label %{self._exit('z', target)}")
        elif not inside:
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

    def note_way(self, target: int) -> None:
        """Notes in the warp's record that a split leaves a waiting loop."""
        if self.layout.waiting.leaves(self.block.index, target):
            self.store_u32(at.WARP_PASSED, "1")

    def _exit(self, stem: str, target: int) -> str:
        """Label of a way out of the region, shared by all that store the same keys.

        Stem x goes on at once, y lets others run first, z waits for others.
        """
        keys = self.block.dirty & self.layout.blocks[target].live_in
        label = f"{stem}{target}.{len(self._exits)}"
        return self._exits.setdefault((stem, target, keys), label)

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

    def tell_access(self, mask: str, space: int, kind: int, size: int) -> None:
        """Tells an observer of accesses of something that is no access of its own."""
        more = f"i32 {space}", f"i32 {kind}", f"i32 {size}", "i64 0", "ptr null"
        self.call_observer(at.ENV_OBSERVE_ACCESS, str(self.index), mask, *more)

    def tell_values(self, value: Value, space: int, size: int) -> None:
        """Tells an observer of accesses what the lanes hold that execute the instruction."""
        self.line(f"store <32 x i32> {value.ref}, ptr {self.field(at.WARP_SCRATCH)}, align 64")
        self.tell_access(self.lanes_mask(), space, at.ACCESS_READ, size)

    def tells(self, role: str) -> bool:
        """Whether there is an observer that wants to know of a role."""
        return role in self.watch.syncs

    def tell_part(self) -> None:
        """Tells the observer of an instruction that only a part of the warp's lanes executes."""
        lanes = self.lanes_mask()
        exited = self.load_u32(at.WARP_EXITED)
        missing = self.emit(f"icmp ne i32 {self.emit(f'or i32 {lanes}, {exited}')}, -1")
        some = self.emit(f"icmp ne i32 {lanes}, 0")
        part, whole = self.module.label("part"), self.module.label("whole")
        is_part = self.emit(f"and i1 {missing}, {some}")
        self.line(f"br i1 {is_part}, label %{part}, label %{whole}, !prof !2")
        self.module.start(part)
        self.call_observer(at.ENV_OBSERVE_SYNC, str(self.index), lanes)
        self.line(f"br label %{whole}")
        self.module.start(whole)
