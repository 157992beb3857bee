"""The numbers of a GPU and a launch as the cycle loop takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec
from warplens.timing.residency import first_step, warp_slots
from warplens.timing.schedule import POLICIES
from warplens.timing.state import MAX_HELD, SPEC, Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A GPU at a clock, running a kernel of some shape.

    Attributes:
        resident: blocks of the kernel that an SM holds; warps_per_block: warps of one.
        most_blocks: that it holds if of most only few warps live; 0: as many as are resident.
        registers: of a thread.
        carveout_bytes: shared memory that L1 gives away.
        active_sms: SMs that have work.
        balance: the mean work of these SMs over that of the busiest.
        together: blocks that the chip holds at once; 0: as many as fit.
        later: the part of all blocks that begin when others have ended.
        replayed_part: of an SM's blocks, the part that is replayed.
        local_missing: the share of what threads keep in local memory that L2 has given up.
        dram_write_share, changed_share: parts of the sectors written that reach DRAM in time, at
            least, and of those that need not be read.
        fill_share: of sectors that stores leave incomplete, what L2 completes, see added.py.
        added_back: sectors that L2 writes back for each that an atomic changes, see added.py.
        come_apart: of what SMs come out of step that each wait for DRAM themselves, the part that
            is left.
        in_step: of DRAM's latency, what is left of it for those who ask for what others fetch in
            the same step.
        is_uneven: blocks differ; they are placed one by one, each in its own turn.
        fellows: blocks of a cluster.
        is_paced: the SM gets blocks no faster than the chip hands them out, from the first on.
        is_warm: L2 holds what launches before have used.
        l2_lead: see Question.
    """

    gpu: GpuSpec
    clock_mhz: float
    resident: int
    warps_per_block: int
    carveout_bytes: int
    active_sms: int
    most_blocks: int = 0
    registers: int = 0
    balance: float = 1.0
    scheduler: str = POLICIES[0]
    far_share: float = 0.0
    has_many_pages: bool = False
    dram_write_share: float = 0.0
    fill_share: float = 0.0
    changed_share: float = 0.0
    added_back: float = 0.0
    ideal: int = 0
    together: float = 0.0
    later: float = 0.0
    replayed_part: float = 1.0
    local_missing: float = 0.0
    in_step: float = 0.0
    come_apart: float = 1.0
    is_uneven: bool = False
    fellows: int = 1
    is_paced: bool = False
    is_warm: bool = False
    l2_lead: float = 1.0

    @property
    def hertz(self) -> float:
        """SM cycles per second."""
        return self.clock_mhz * 1e6

    @property
    def sharers(self) -> float:
        """How many SMs as busy as the busiest share L2 and DRAM: those with less ask for less."""
        return max(1.0, self.active_sms * self.balance)

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The DRAM's peak for the whole chip in bytes per SM cycle."""
        return self.gpu.dram_bandwidth_bytes_per_second / self.hertz

    @property
    def launch_interval(self) -> float:
        """Cycles from one block for this SM to the next: the chip hands them out one by one."""
        return self.active_sms / float(self.gpu.value("launch.blocks_per_cycle", 0.83))

    @property
    def l1_lines(self) -> int:
        """Lines of L1 beside the carve-out."""
        return int(max(8 << 10, self.gpu.l1_shared_size_bytes - self.carveout_bytes)) // 128

    @property
    def l0_lines(self) -> int:
        """Lines of the SM's small cache of code."""
        return int(self.gpu.value("fetch.l0_bytes", 16 << 10)) // 128

    @property
    def l1i_lines(self) -> int:
        """Lines of the SM's large cache of code."""
        return int(self.gpu.value("fetch.l1_bytes", 128 << 10)) // 128

    def spec(self) -> Records:
        """The record for the cycle loop, as an array of one."""
        spec = np.zeros(1, SPEC)
        for name, value in {**self._core(), **self._memory()}.items():
            spec[name] = value
        return spec

    def _core(self) -> dict[str, float]:
        gpu, value = self.gpu, self.gpu.value
        latency = gpu.table("latency")
        return {
            "sub_partitions": gpu.sub_partitions,
            "policy": POLICIES.index(self.scheduler),
            "resident": self.resident,
            "slots": max(self.resident, self.most_blocks),
            "warp_slots": warp_slots(gpu, self.registers, self.resident * self.warps_per_block),
            "first_step": first_step(self.warps_per_block, gpu.sub_partitions),
            "warps_per_block": self.warps_per_block,
            "ideal": self.ideal,
            "shared_latency": latency["shared"],
            "shared_atomic": latency["atomic_shared"],
            "shared_interval": 128.0 / gpu.shared_bytes_per_cycle,
            "barrier_latency": latency["syncthreads"],
            "barrier_arrival": value("issue.barrier_arrival_cycles", 2.0),
            "fence_latency": latency["fence"],
            "fence_least": value("fences.least", latency["fence"]),
            "fence_more": value("fences.more", latency["fence"]),
            "fence_more_of_all": value("fences.more_of_all", latency["fence"]),
            "fence_together": int(value("fences.together", 0)),
            "fence_turn": value("fences.turn", 0.0),
            "texture_turns": value("textures.turns", 800.0),
            "texture_ahead": value("textures.ahead", latency["l1_hit"]),
            "partial_known": value("fences.partial_known", 0.0),
            **{name: value(f"copies.{name}_cycles", 0.0) for name in _COPIES},
            "copy_share": value("copies.read_share", 1.0),
            "copy_partial": value("copies.partial_share", 1.0),
            "copy_evicted": value("copies.evicted_share", 0.0),
            "copy_added": value("copies.added_share", 1.0),
            "branch_latency": latency["branch"],
            "sources_load": latency["load_sources_read"],
            "sources_store": latency["store_sources_read"],
            "match_turn": latency["match_turn"],
            "sleep_turn": latency["sleep_turn"],
            "sleep_resume": latency["sleep_resume"],
            "timer": self.clock_mhz / 1000.0,
            "copy_extra": latency["async_copy_extra"],
            "wide_extra": latency["memory_128bit_extra"] / 3.0,
            "block_start": value("launch.block_start_cycles", 300),
            "launch_first": max(
                float(value("launch.first_block_cycles", 32)),
                float(value("launch.first_warp_cycles", 8)) * self.warps_per_block,
                self.launch_interval if self.is_paced else 0.0,
            ),
            "launch_interval": self.launch_interval,
            "launch_missed": 0.0 if self.is_uneven else value("launch.missed_blocks"),
            "launch_cold": value("launch.cold_cycles", 0),
            "l0_miss": value("fetch.l0_miss_cycles", 20),
            "l0_line": value("fetch.l0_line_cycles"),
            "first_line": value("fetch.first_line_cycles"),
            "jump_near": value("fetch.jump_near_cycles"),
            "jump_far": value("fetch.jump_far_cycles"),
            "jump_turn": value("fetch.jump_turn_cycles"),
            "next_turn": value("fetch.next_turn_cycles"),
            "close_turn": value("fetch.close_turn_cycles"),
            "near_turn": value("fetch.near_turn_cycles"),
            "l1i_line": value("fetch.l1_line_cycles"),
            "cold_line": value("fetch.cold_line_cycles"),
            "l1i_miss": value("fetch.l1_miss_cycles", 60),
            "constant_miss": value("fetch.constant_miss_cycles", 110),
            "operand_miss": value("fetch.operand_miss_cycles"),
            "constant_turn": value("fetch.constant_turn_cycles"),
            "indexed_word": value("fetch.indexed_word_cycles"),
            "indexed_turn": value("fetch.indexed_turn_cycles"),
            "indexed_miss": value("fetch.indexed_miss_cycles"),
        }

    def _page_cycles(self, sms: float) -> float:
        """From one page that is not held to the next: 17 SMs wait as long as all of them, one alone
        hardly waits (pages_sm90.json)."""
        each = float(self.gpu.value("l2.page_cycles", 0.0)) * min(1.0, sms / _ASK_ALIKE)
        return each if self.has_many_pages else 0.0

    def _memory(self) -> dict[str, float]:
        gpu, value = self.gpu, self.gpu.value
        latency = gpu.table("latency")
        sms = self.sharers
        ratio = self.clock_mhz / float(latency["measured_clock_mhz"])
        beyond = (float(latency["dram"]) - float(latency["l2_hit"])) * ratio
        link = float(value("l2.sm_bytes_per_cycle", 64))
        # What keeps a slice busy takes as long as reading so many bytes: wide caches do more of it.
        l2_share = sms / (float(gpu.l2_read_bytes_per_cycle) * self.l2_lead)
        port_write = float(value("l2.sm_write_bytes_per_cycle"))
        request = float(value("l2.request_cycles")) / self.l2_lead * sms / gpu.sm_count
        fill = float(value("l2.fill_cost", 2.0))
        read, copy = float(value("dram.read_fraction")), float(value("dram.copy_fraction"))
        beside_reads, alone = 2.0 * read / copy - 1.0, read / float(value("dram.write_fraction"))
        return {
            "agu_interval": value("issue.memory_cycles_per_instruction"),
            "agu_turn": value("issue.memory_turn_cycles"),
            "lsu_interval": max(1.0, 32.0 / gpu.lsu_lanes),
            "queue_entries": _entries(gpu, "issue.memory_queue_entries"),
            "queue_held": _entries(gpu, "issue.memory_held"),
            "tags_held": _entries(gpu, "issue.loads_held"),
            "shared_held": _entries(gpu, "issue.shared_held"),
            "units_held": _entries(gpu, "issue.units_held"),
            "special_held": value("issue.special_held"),
            "special_turn": value("issue.special_turn_cycles"),
            "address_held": _entries(gpu, "issue.address_held"),
            "return_interval": value("issue.return_cycles"),
            "l1_bytes_per_cycle": gpu.l1_bytes_per_cycle,
            "l1_partial_line": value("l1.partial_line_cycles"),
            "l1_pending": value("l1.pending_cycles"),
            "l1_narrow": value("l1.narrow_cycles", 2),
            "l1_hit": latency["l1_hit"],
            "local_missing": self.local_missing,
            "in_step": self.in_step,
            "l2_hit": latency["l2_hit"],
            "l2_far": latency["l2_far"],
            "page_cycles": self._page_cycles(sms),
            "far_share": int(256 * self.far_share),
            "l2_rate": min(link, 1.0 / l2_share),
            "port_rate": link,
            "port_write_rate": port_write,
            "apart": float(value("l2.apart_cycles")) * self.come_apart,
            "apart_root": float(value("l2.apart_root", 0.0)) * self.come_apart,
            "fellows_apart": value("l2.apart_root", 0.0) / _MEAN_OF_NORMAL * _largest(self.fellows),
            "l2_request": max(float(value("l2.sm_request_cycles", 0.0)), request),
            "l2_again": request,
            "l2_found": value("l2.hit_cost", 1.0),
            "copy_request": float(value("copies.copy_request_cycles", 0.0)) / self.l2_lead,
            "copy_store": float(value("copies.copy_store_cycles", 0.0)) / self.l2_lead,
            "l2_fill": fill,
            "l2_stored": value("l2.store_cost", 1.0),
            "l2_back": value("l2.write_back_cost", fill - 1.0),
            "l2_partial": value("l2.partial_write_bytes") * l2_share,
            "l2_partial_line": value("l2.partial_line_bytes") * l2_share,
            "l2_partial_blocks": value("l2.partial_blocks", 0.0),
            "l2_narrow": value("l2.narrow_write_cost"),
            "l2_fill_line": value("l2.partial_fill_bytes") * l2_share,
            "l2_write_rate": value("l2.write_fraction") / l2_share,
            "write_held": float(value("l2.sm_write_buffer_bytes")) / port_write,
            "dram_backlog": value("dram.backlog_cycles", 1000.0),
            "dram_held": value("l2.write_backlog_cycles"),
            "dram_queue": float(value("dram.queue_ns")) * self.clock_mhz / 1000.0,
            "dram_crowd": float(value("dram.crowd_ns")) * self.clock_mhz / 1000.0,
            "dram_write_wait": float(value("dram.write_wait_ns")) * self.clock_mhz / 1000.0,
            "dram_spread": float(value("dram.spread_ns")) * self.clock_mhz / 1000.0,
            "dram_read_piece": value("dram.read_piece_bytes"),
            "dram_write_piece": value("dram.write_piece_bytes"),
            "dram_latency": float(latency["l2_hit"]) + beyond,
            "texture_header": value("textures.header", 0.0)
            + float(latency["l2_hit"]) + (0.0 if self.is_warm else beyond),
            "dram_rate": min(link, self.dram_bytes_per_cycle * read / sms),
            "dram_write_cost": beside_reads,
            "dram_write_alone": min(alone, beside_reads),
            "dram_write_share": self.dram_write_share,
            "fill_share": self.fill_share,
            "changed_share": self.changed_share,
            "added_back": self.added_back,
            "atomic_sector": max(1.0, value("l2.atomic_sector_bytes") * l2_share),
            "atomic_packet": value("l2.atomic_packet_bytes") * l2_share,
            "atomic_lane": value("l2.atomic_lane_cycles", 1.47),
            "float_atomic_lane": value("l2.float_atomic_lane_cycles"),
            "float_atomic_apart": value("l2.float_atomic_apart_cycles"),
            "atomic_share": value("l2.atomic_slice_bytes") * l2_share,
            "atomic_latency": latency["global_atomic"],
            "sharers": sms,
            "replayed_part": self.replayed_part,
            "together": self.together or float(self.resident * self.active_sms),
            "later": self.later,
            "in_flight": value("l1.in_flight_cycles"),
            "partial_held": value("l1.partial_in_flight_cycles"),
        }


# of bulk and tensor copies, mbarriers and other blocks' shared memory; 0 where a chip has none
_COPIES = (
    "copy_start", "copy_line", "copy_sector", "copy_stored_line", "copy_read", "copy_told",
    "copy_stored", "phase_arrival", "phase_wake", "phase_check", "cluster_latency",
    "distant_latency",
)  # fmt: skip


_ASK_ALIKE = 16.0  # SMs, see _page_cycles
_MEAN_OF_NORMAL = math.sqrt(2.0 / math.pi)  # distance from the middle, in standard deviations
_STEPS, _FURTHEST = 400, 6.0  # of the sum, and standard deviations


def _largest(count: int) -> float:
    """The mean of the largest of so many normal numbers, in standard deviations."""
    width = 2 * _FURTHEST / _STEPS
    places = [(i + 0.5) * width - _FURTHEST for i in range(_STEPS)]
    below = [0.5 * (1.0 + math.erf(x / math.sqrt(2.0))) for x in places]
    density = [math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi) for x in places]
    return sum(
        x * count * b ** (count - 1) * d * width
        for x, b, d in zip(places, below, density, strict=True)
    )


def _entries(gpu: GpuSpec, key: str) -> int:
    """Entries of a queue, as many as its record can hold."""
    found = float(gpu.value(key))
    if not 1 <= found <= MAX_HELD:
        raise InputError(f"{key} = {found:g} for {gpu.name}: queues have 1 to {MAX_HELD} entries")
    return int(found)
