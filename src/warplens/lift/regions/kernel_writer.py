"""Writes the module of a kernel: region by region, lifted block by lifted block."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode import blocks as cut
from warplens.lift.decode.binding import KEY_PREDICATE, BindingError, Bound, members
from warplens.lift.decode.gaps import raise_gaps
from warplens.lift.decode.order import order_reason
from warplens.lift.decode.waiting import suspends
from warplens.lift.engines.llvm_text import RARE
from warplens.lift.regions.forms import CALL, FormTable
from warplens.lift.regions.generators import COUNTS, ROLES
from warplens.lift.regions.lifted import RUN, Counters, Lifted
from warplens.lift.regions.registers import record_offset, storage_name, storage_type
from warplens.lift.regions.skipped import Run, run_end
from warplens.lift.regions.watch import UNWATCHED
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime.lane_rows_ir import AREA

_TOLD_AS = {"CCTL": "fence", "LDGDEPBAR": "copy_commit", "DEPBAR": "copy_commit",
            "UTMACMDFLUSH": "bulk", "WARPGROUP": "bulk"}  # fmt: skip
_TELL_THEMSELVES = frozenset({"bar", "warpsync"})  # roles that call the observer with arguments


class KernelWriter(RegionWriter):
    """Writes every function of a kernel, and the module that holds them."""

    def write(self, copied: bool = True) -> Lifted:
        """Writes every region and the module; `copied`: with forms in tier 0."""
        self.module.helper(*RARE)
        if any(b.indirect and (not b.successors or self.bound[b.end - 1].op.role == "call")
               for b in self.layout.blocks):  # fmt: skip
            self.entries.update(range(len(self.layout.blocks)))
        bound = self.bound if self.tier == 0 and copied else []
        self.forms = FormTable(bound, self.features, self.watch)
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
            self.kernel, self.module.text(), self.layout, Counters.of(self.counters),
            self.n_counters, self.sites, self.site_widths, max(n_registers, 32),
            order_reason(self.bound), self.tier, self.forms.runs,
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
        if suspends(self.bound[block.start]):
            self.index = block.start
            ROLES["mbarrier_wait"](self, self.bound[block.start])
        slot = self.counter("inst_executed", block.start, block.end)
        self.count(slot, "1")
        slot = self.counter("thread_inst_executed", block.start, block.end)
        self.count(slot, self.popcount(self.mask))
        if self.watch.blocks:
            self.call_observer(at.ENV_OBSERVE_BLOCK, str(block.index), self.mask)
        self._write_instructions(block.start, block.end, slot)
        if not self.terminated:
            if self.tier > 0 and self.has_next() and self.layout.blocks[block.index + 1].is_rest:
                return
            self.registers.flush()
            if self.has_next():
                self.goto(self.next_block())
            else:
                self.line(f"ret i32 {at.EVENT_FAULT}")

    def _write_instructions(self, first: int, last: int, threads_slot: int) -> None:
        """Code of a stretch; runs under a guard that holds for no lane are skipped."""
        while first < last:
            may_skip = self.tier > 0 and self.run is None and self.watch is UNWATCHED
            end = run_end(self.bound, first, last, COUNTS) if may_skip else first
            behind = self.forms.run_end(first, last)
            if end > first:
                self._write_run(first, end, threads_slot)
            elif behind > first:
                end = behind
                self._write_forms(first, end, threads_slot)
            else:
                self.index, end = first, first + 1
                self._write_instruction(self.bound[first], threads_slot)
            first = end

    def _write_forms(self, first: int, last: int, threads_slot: int) -> None:
        """A run of instructions that forms execute, see forms.py."""
        self.registers.flush()
        keys = frozenset[int]().union(*(self.bound[i].writes for i in range(first, last)))
        name = self.forms.start_run(keys)
        for i in range(first, last):
            slot = threads_slot
            if self.forms.is_guarded(i):
                slot = self.counter("thread_inst_executed_true", i, i + 1)
            else:
                self.counter("thread_inst_executed_true", i, i + 1, slot=slot)
            self.forms.add(i, slot)
        self.module.helper(name, f"declare void @{name}{RUN}")
        self.module.helper(*CALL)
        self.line(f"call void @wl.forms(ptr %w, ptr %env, i32 {self.mask}, ptr @{name})")
        self.registers.forget(keys)

    def _write_run(self, first: int, last: int, threads_slot: int) -> None:
        self.guard = self.read_guard(self.bound[first])
        assert self.guard is not None
        mask = self.lanes_mask()
        keys = frozenset[int]().union(*(self.bound[i].writes for i in range(first, last)))
        kept = self.registers.fork(keys)
        patterns, constants = dict(self.patterns), dict(self._constants)
        some, behind = self.module.label("some"), self.module.label("behind")
        self.line(f"br i1 {self.emit(f'icmp ne i32 {mask}, 0')}, label %{some}, label %{behind}")
        self.module.start(some)
        self.run = Run(guard=self.guard, mask=mask, lanes=self.popcount(mask))
        self._write_instructions(first, last, threads_slot)
        self.run = None
        self.registers.join(keys, kept)
        self.patterns, self._constants = patterns, constants
        self.line(f"br label %{behind}")
        self.module.start(behind)

    def _write_instruction(self, item: Bound, threads_slot: int) -> None:
        try:
            self._write_bound(item, threads_slot)
        except BindingError as error:
            self.gaps.append((item.inst, str(error)))

    def _write_bound(self, item: Bound, threads_slot: int) -> None:
        inst, i = item.inst, self.index
        self.guard = self.read_guard(item) if self.run is None else self.run.guard
        uniform = item.op.uniform and item.op.role == "value"
        if self.run is not None:
            saved = self.x._active
            self.true_slot = self.counter("thread_inst_executed_true", i, i + 1)
            self.count(self.true_slot, self.run.lanes)
            self.x._active = self.vector_mask(self.run.mask)
        elif self.guard is None:
            self.true_slot = threads_slot
            self.counter("thread_inst_executed_true", i, i + 1, slot=threads_slot)
            saved = self.x._active
        else:
            saved = self.x._active
            self.true_slot = self.counter("thread_inst_executed_true", i, i + 1)
            self.count_guarded(item, uniform, self.true_slot)
        if item.op.role == "value":
            if inst.opcode in COUNTS:
                COUNTS[inst.opcode](self, inst)
            self._write_value(item, uniform)
        else:
            name = _TOLD_AS.get(inst.opcode, item.op.role)
            if self.tells(name) and name not in _TELL_THEMSELVES:
                self.tell_sync(self.lanes_mask())
            if i in self.watch.parts:
                self.tell_part()
            ROLES[item.op.role](self, item)
        self.x._active = saved

    @property
    def _is_needless(self) -> bool:
        """Whether nothing needs the present instruction's results."""
        return self.index in self.watch.needless

    def _write_value(self, item: Bound, uniform: bool) -> None:
        if self._is_needless and item.inst.opcode != "SHFL":
            return
        sources = self.read_sources(item, uniform)
        if item.inst.opcode == "SHFL" and self.tells("shuffle"):
            for slot, value in enumerate(sources[1:3]):
                place = self.field(at.WARP_SCRATCH + 128 * slot)
                self.line(f"store <32 x i32> {value.ref}, ptr {place}, align 64")
            self.tell_sync(self.lanes_mask())
        if item.inst.opcode == "MATCH" and "ANY" in item.inst.modifiers and self.observe:
            # how many values differ decides the time
            low = self.x.low32(sources[0]) if sources[0].type == "u64" else sources[0]
            self.tell_values(low, at.SPACE_VALUES, 4)
        if not self._is_needless:
            self.write_results(item, uniform, sources)

    def _write_exits(self) -> None:
        events = {"x": at.EVENT_JUMP, "y": at.EVENT_YIELD, "z": at.EVENT_WAIT}
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
