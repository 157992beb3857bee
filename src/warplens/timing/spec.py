"""The numbers of a GPU and a launch as the cycle loop takes them."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.gpus.spec import GpuSpec
from warplens.timing.schedule import POLICIES
from warplens.timing.state import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A GPU at a clock, running a kernel of some shape.

    Attributes:
        resident: blocks of the kernel that an SM holds; warps_per_block: warps of one.
        carveout_bytes: shared memory that L1 gives away.
        active_sms: SMs that have work.
        blocks_per_sm: blocks that a busy SM runs in all.
    """

    gpu: GpuSpec
    clock_mhz: float
    resident: int
    warps_per_block: int
    carveout_bytes: int
    active_sms: int
    scheduler: str = "gty"
    far_share: float = 0.0
    dram_write_share: float = 0.0
    ideal: int = 0

    @property
    def hertz(self) -> float:
        """SM cycles per second."""
        return self.clock_mhz * 1e6

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The DRAM's peak for the whole chip in bytes per SM cycle."""
        return self.gpu.dram_bandwidth_bytes_per_second / self.hertz

    def spec(self) -> Spec:
        """The tuple for the cycle loop."""
        gpu, value = self.gpu, self.gpu.value
        latency = gpu.table("latency")
        sms = max(1, self.active_sms)
        ratio = self.clock_mhz / float(latency["measured_clock_mhz"])
        beyond = (float(latency["dram"]) - float(latency["l2_hit"])) * ratio
        link = float(value("l2.sm_bytes_per_cycle", 64))
        l2_rate = min(link, float(gpu.l2_read_bytes_per_cycle) / sms)
        dram_rate = min(link, self.dram_bytes_per_cycle * float(value("dram.read_fraction")) / sms)
        l1_bytes = max(8 << 10, gpu.l1_shared_size_bytes - self.carveout_bytes)
        return Spec(
            sub_partitions=gpu.sub_partitions,
            policy=POLICIES.index(self.scheduler),
            slots=self.resident,
            warps_per_block=self.warps_per_block,
            agu_interval=float(value("issue.memory_cycles_per_instruction")),
            lsu_interval=max(1.0, 32.0 / gpu.lsu_lanes),
            queue_entries=int(value("issue.memory_queue_entries")),
            l1_line_slots=l1_bytes // 128,
            l1_bytes_per_cycle=float(gpu.l1_bytes_per_cycle),
            shared_bytes_per_cycle=float(gpu.shared_bytes_per_cycle),
            l1_hit=float(latency["l1_hit"]),
            l2_hit=float(latency["l2_hit"]),
            l2_far=float(latency["l2_far"]),
            far_share=int(256 * self.far_share),
            dram_latency=float(latency["l2_hit"]) + beyond,
            l2_read_rate=l2_rate,
            l2_write_rate=min(link / 2, l2_rate),
            dram_rate=dram_rate,
            dram_write_share=self.dram_write_share,
            atomic_interval=float(value("l2.atomic_cycles", 1.0)),
            atomic_latency=float(latency["global_atomic"]),
            sharers=float(sms),
            shared_latency=float(latency["shared"]),
            shared_atomic=float(latency["atomic_shared"]),
            shuffle_latency=float(latency["shuffle"]),
            barrier_latency=int(latency["syncthreads"]),
            fence_latency=float(latency["fence"]),
            branch_latency=int(latency["branch"]),
            sources_load=int(latency["load_sources_read"]),
            sources_store=int(latency["store_sources_read"]),
            wide_extra=float(latency["memory_128bit_extra"]) / 3.0,
            in_flight=float(value("l1.in_flight_cycles", 1200)),
            block_start=int(value("launch.block_start_cycles", 300)),
            launch_interval=float(value("launch.block_interval_cycles", 8)),
            l0_lines=int(value("fetch.l0_bytes", 16384)) // 128,
            l1i_lines=int(value("fetch.l1_bytes", 131072)) // 128,
            l0_miss=int(value("fetch.l0_miss_cycles", 20)),
            l1i_miss=int(latency["l2_hit"]),
            ideal=self.ideal,
        )
