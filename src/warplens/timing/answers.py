"""The timing model's values under ncu's names, in base units."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from warplens.timing.model import Model
from warplens.timing.pm_sampling import PREFIX, PmSampling, Sampled
from warplens.timing.stall import BRANCH_RESOLVING, REASONS, SELECTED, WAIT
from warplens.timing.state import L1_KINDS, PIPES, SUMS, VARIABLE
from warplens.timing.volumes import volumes

Floats = npt.NDArray[np.float64]
_LEAST_REST = 0.1  # of what waits for others is left at least when blocks are shorter


class Answers:
    """Answers `value(name)`; everything is computed when first asked."""

    def __init__(self, model: Model, sampling: PmSampling | None = None) -> None:
        self.model = model
        self.gpu = model.question.gpu
        self.sampled = Sampled(model, sampling or PmSampling())

    def again(self, sampling: PmSampling | None) -> Answers:
        """The same for another launch with this model: what was computed is known."""
        other = Answers(self.model, sampling)
        known = {name: found for name, found in vars(self).items() if name != "sampled"}
        vars(other).update(known)
        return other

    def value(self, name: str) -> float | None:
        """The value of a metric that needs time; None where the model has none."""
        if name.startswith((PREFIX, "profiler__pmsampler")):
            return self.sampled.value(name)
        base, _, suffix = name.partition(".")
        if base.endswith("_throughput") and base in self.throughputs:
            return self._throughput(base, suffix)
        if base in self.ratios:
            ratio = self.ratios[base]
            return 100.0 * ratio if suffix == "pct" else ratio
        rollup, _, sub = suffix.partition(".")
        if sub.startswith("peak_sustained"):
            return self._peak(base, rollup, sub)
        number = self._rolled(base, rollup)
        if number is None:
            return None
        if sub:
            return self._over(base, rollup, sub, number)
        unit = base.partition("__")[0]
        if base in self.sums and rollup != "sum" and self.gpu.units(unit) is None:
            return None  # a part of the whole, by how many units is not known
        return number

    # --- counters --------------------------------------------------------------------------------

    def instances(self, unit: str) -> float:
        """How many units of a kind the GPU has; 1 where that is not known."""
        return float(self.gpu.units(unit) or 1)

    def _rolled(self, base: str, rollup: str) -> float | None:
        unit = base.partition("__")[0]
        if base == "gpu__time_duration":
            return self.nanoseconds
        if base.endswith("__cycles_active") or base.endswith("__cycles_elapsed"):
            return self._cycles(base, unit, rollup)
        total = self.sums.get(base)
        if total is None:
            return None
        return total if rollup == "sum" else total / self.instances(unit)

    def _cycles(self, base: str, unit: str, rollup: str) -> float:
        estimate = self.model.estimate
        each = estimate.elapsed_cycles
        if unit == "dram":
            each = self.nanoseconds * 1e-3 * float(self.gpu.memory_clock_mhz)
        if base.endswith("active"):
            each = self._active(unit, rollup, each)
        return each * self.instances(unit) if rollup == "sum" else each

    def _active(self, unit: str, rollup: str, elapsed: float) -> float:
        estimate = self.model.estimate
        if unit in ("sm", "smsp", "l1tex", "idc"):
            if rollup == "max":
                return estimate.busiest_cycles
            idle = estimate.active_sms < self.gpu.sm_count
            if rollup == "min":
                return 0.0 if idle else estimate.idlest_cycles or estimate.active_cycles
            return estimate.active_cycles
        if unit == "dram":
            return elapsed * self._dram_share()
        return elapsed

    def _over(self, base: str, rollup: str, sub: str, number: float) -> float | None:
        unit = base.partition("__")[0]
        if sub == "per_second":
            return number / (self.nanoseconds * 1e-9) if self.nanoseconds else None
        kind = "active" if sub.endswith("active") else "elapsed"
        cycles = self._cycles(f"{unit}__cycles_{kind}", unit, "avg")
        if not cycles:
            return None
        if sub.startswith("per_cycle"):
            return number / cycles
        peak = self._peak(base, rollup, "peak_sustained")
        return None if not peak else 100.0 * number / cycles / peak

    @cached_property
    def nanoseconds(self) -> float:
        """Duration of the launch."""
        return self.model.estimate.elapsed_cycles / self.model.question.clock_mhz * 1e3

    @cached_property
    def sums(self) -> dict[str, float]:
        """Chip-wide sums of the counters that the model gives."""
        model, gpu = self.model, self.gpu
        sums = {name: float(model.result.sm[name]) * model.estimate.scale for name in SUMS}
        sums |= self._sectors
        sums["warp_cycles"] *= self._longer
        sums["dram_read"] += model.answer.begun
        sums["l2_read_hit"] = max(0.0, sums["l2_read_hit"] - model.answer.begun)
        busy = dict(zip(PIPES, model.result.sm["pipe_busy"] * model.estimate.scale, strict=True))
        issued = float(sums["issue_active"])
        active = model.estimate.active_cycles * gpu.sm_count * gpu.sub_partitions
        reads, writes, atomics = sums["l2_read"], sums["l2_write"], sums["l2_atomic"]
        read_hits, write_hits = sums["l2_read_hit"], sums["l2_write_hit"]
        atom, red = self._atomic_parts()
        texels, texels_missed = _texels(sums)
        both, both_missed = _texels(sums, surfaces=True)
        again, twice = self._looked_up_twice(reads, sums["dram_read"])
        alone = 1.0 - _part(model.result.sm["l2_saved"], model.result.sm["l2_read"])
        served = reads * alone  # of requests that are put together one
        l2_hits = read_hits + writes + atomics  # what is written needs no fill
        found: dict[str, float] = {
            "sm__inst_issued": issued, "smsp__inst_issued": issued,
            "smsp__issue_active": issued, "sm__issue_active": issued, "smsp__issue_inst1": issued,
            "smsp__issue_inst0": max(0.0, active - issued),
            "smsp__warps_active": float(sums["warp_cycles"]),
            "sm__warps_active": float(sums["warp_cycles"]),
            "smsp__warps_eligible": float(sums["eligible"]),
            "lts__t_sectors": float(served + again + twice * (writes + atomics)),
            "lts__t_sectors_srcunit_tex": float(served + writes + atomics),
            "lts__d_sectors": float(served + writes + atomics),
            "lts__lts2xbar_cycles_active": float(served + atomics * atom),
            "lts__t_requests": float(sums["l2_requests"]),
            "lts__t_requests_srcunit_tex": float(sums["l2_requests"]),
            "lts__t_sectors_op_read": float(served + again),
            "lts__t_sectors_srcunit_tex_op_read": float(served),
            "lts__t_sectors_op_write": float(twice * writes),
            "lts__t_sectors_op_atom": float(twice * atomics * atom),
            "lts__t_sectors_op_red": float(twice * atomics * red),
            "lts__t_sectors_lookup_hit": float(l2_hits),
            "lts__t_sectors_lookup_miss": float(reads - read_hits),
            "dram__sectors_read": float(sums["dram_read"]),
            "dram__sectors_write": float(sums["dram_write"]),
            "dram__bytes_read": 32.0 * sums["dram_read"],
            "dram__bytes_write": 32.0 * sums["dram_write"],
            "dram__bytes": 32.0 * (sums["dram_read"] + sums["dram_write"]),
            "dram__sectors": float(sums["dram_read"] + sums["dram_write"]),
            "l1tex__m_xbar2l1tex_read_sectors": float(reads + atomics * atom),
            "l1tex__m_l1tex2xbar_write_sectors": float(writes + atomics),
            "l1tex__t_sectors_lookup_hit": float(sums["l1_hits"]) + both - both_missed,
            "l1tex__t_sectors_lookup_miss":
                float(sums["l1_sectors"] - sums["l1_hits"]) + both_missed,
            "l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit": texels - texels_missed,
            "l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss": texels_missed,
            "l1tex__m_xbar2l1tex_read_sectors_mem_texture": texels_missed,
            "l1tex__m_xbar2l1tex_read_sectors_mem_surface_op_ld": float(sums["surface_missed"]),
            "sm__pipe_alu_cycles_active": busy["alu"] / gpu.sub_partitions,
            "sm__pipe_fma_cycles_active": busy["fma"] / gpu.sub_partitions,
            "sm__pipe_fp64_cycles_active": busy["fp64"] / gpu.sub_partitions,
            "sm__pipe_tensor_cycles_active": busy["tensor"] / gpu.sub_partitions,
            "sm__pipe_shared_cycles_active":
                (busy["tensor"] + busy["fp64"]) / gpu.sub_partitions,
        }  # fmt: skip
        for reason, cycles in self.stalls.items():
            found[f"smsp__warps_issue_stalled_{reason}"] = cycles
        write_miss = writes - write_hits
        found["lts__t_sectors_op_write_lookup_miss"] = float(write_miss)
        return found

    @cached_property
    def _sectors(self) -> dict[str, float]:
        """Sectors that cross to and from L2 and DRAM, by what the launch's accesses are over the
        replay's."""
        model, own = self.model, self._own
        found = volumes(model.question, model.sample, model.result, model.estimate.scale)
        loads, stores, atomics = found.loads, found.stores, found.atomics
        if own["tex_looked"] + own["surface_looked"] or own["l2_read"] > own["l1_sectors"]:
            return {}  # textures and bulk copies ask L2 for most
        crossed = own["l2_read"] + own["l2_write"] + own["l2_atomic"]
        sectors = {
            "l2_read": loads.of(own["l2_read"]), "l2_write": stores.of(own["l2_write"]),
            "l2_atomic": atomics.of(own["l2_atomic"]),
        }  # fmt: skip
        return sectors | {
            "l2_read_hit": loads.factor * own["l2_read_hit"],
            "l2_write_hit": stores.of(own["l2_write_hit"]),
            "l2_requests": own["l2_requests"] * _part(sum(sectors.values()), crossed),
            "dram_read": loads.of(own["dram_read"]),
            "dram_write": stores.factor * own["dram_write"],
        }

    @cached_property
    def _longer(self) -> float:
        """Cycles of all warps over those that follow from the replay's instructions."""
        estimate = self.model.estimate
        if not estimate.warp_cycles:
            return 1.0
        replayed = float(self.model.result.sm["warp_cycles"]) * estimate.scale
        return estimate.warp_cycles / max(1.0, replayed)

    @cached_property
    def _own(self) -> dict[str, float]:
        """Sums of the replay itself."""
        return {name: float(self.model.result.sm[name]) for name in SUMS}

    def _looked_up_twice(self, reads: float, missed: float) -> tuple[float, float]:
        """Sectors of which the part of L2 near the SM asks the other part, beyond those that SMs
        ask for, and how often sectors that are written are looked up. Half of DRAM is the other
        part's, so a sector that one SM reads is looked up again with one half, one that k SMs read
        with 1 - 2**-k (counters_sm90.npz, texture_times_sm90.json)."""
        if int(self.gpu.value("l2.partitions", 1)) < 2:
            return 0.0, 1.0
        return missed * (1.0 - 2.0 ** (-reads / missed)) if missed else 0.0, 1.5

    def _atomic_parts(self) -> tuple[float, float]:
        """Of all atomic instructions, the part whose result is used, and the rest."""
        names = [i.opcode for i in self.model.question.kernel.instructions]
        issues = self.model.result.counts.stalls[:, 0]
        used = sum(int(n) for name, n in zip(names, issues, strict=False)
                   if name in ("ATOM", "ATOMG"))  # fmt: skip
        unused = sum(int(n) for name, n in zip(names, issues, strict=False)
                     if name in ("RED", "REDG", "SURED"))  # fmt: skip
        return (used / (used + unused), unused / (used + unused)) if used + unused else (0.0, 0.0)

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Warp cycles in each state, over the whole launch."""
        known = self.model.estimate.states
        if known is not None:
            return dict(zip(REASONS, (float(t) for t in known), strict=True))
        totals = self.model.states * self.model.estimate.scale
        totals = lengthened(totals, self._longer)
        return dict(zip(REASONS, (float(t) for t in totals), strict=True))

    # --- ratios ----------------------------------------------------------------------------------

    @cached_property
    def ratios(self) -> dict[str, float]:
        """Ratios by base name, as fractions."""
        sums = self._own
        issued = max(1.0, self.sums["smsp__issue_active"])
        resident = self.sums["smsp__warps_active"]
        reads, read_hits = sums["l2_read"], sums["l2_read_hit"]
        texels, texels_missed = _texels(sums)
        both, both_missed = _texels(sums, surfaces=True)
        all_l2 = reads + sums["l2_write"] + sums["l2_atomic"]
        found = {
            "l1tex__t_sector_hit_rate":
                _part(sums["l1_hits"] + both - both_missed, sums["l1_sectors"] + both),
            "l1tex__t_sector_pipe_tex_mem_texture_hit_rate": _part(texels - texels_missed, texels),
            "lts__t_sector_hit_rate":
                _part(read_hits + sums["l2_write"] + sums["l2_atomic"], all_l2),
            "lts__t_sector_op_read_hit_rate": _part(read_hits, reads),
            "lts__t_sector_op_write_hit_rate": 1.0 if sums["l2_write"] else 0.0,
            "smsp__average_warp_latency_per_inst_issued": resident / issued,
            "smsp__average_warps_active_per_inst_executed": resident / issued,
        }  # fmt: skip
        sm = self.model.result.sm
        for row, kind in enumerate(L1_KINDS):
            space, _, op = kind.partition("_")
            name = f"l1tex__t_sector_pipe_lsu_mem_{space}_op_{op}_hit_rate"
            found[name] = _part(float(sm["l1_found"][row]), float(sm["l1_looked"][row]))
        for reason, cycles in self.stalls.items():
            per = cycles / issued
            found[f"smsp__average_warps_issue_stalled_{reason}_per_issue_active"] = per
            found[f"smsp__average_warp_latency_issue_stalled_{reason}"] = per
            found[f"smsp__warp_issue_stalled_{reason}_per_warp_active"] = _part(cycles, resident)
        return found

    # --- throughputs -----------------------------------------------------------------------------

    def _throughput(self, base: str, suffix: str) -> float:
        over_active = suffix.endswith("active")
        parts = self.throughputs[base]
        estimate = self.model.estimate
        best = max(parts.values(), default=0.0)  # per elapsed cycle
        if over_active and estimate.active_cycles:
            best *= estimate.elapsed_cycles / estimate.active_cycles
        return min(100.0, 100.0 * best)

    @cached_property
    def throughputs(self) -> dict[str, dict[str, float]]:
        """What each throughput is the largest of: shares of the peak over elapsed cycles."""
        instruction, memory = self._sm_parts()
        access, request = self._memory_parts()
        dram = {"gpu__dram_throughput": self._dram_share()}
        l1 = {k: v for k, v in (*access.items(), *request.items()) if k.startswith("l1tex")}
        lts = {k: v for k, v in (*access.items(), *request.items()) if k.startswith("lts")}
        return {
            "sm__instruction_throughput": instruction,
            "sm__memory_throughput": memory,
            "sm__throughput": {**instruction, **memory},
            "gpu__compute_memory_access_throughput": access,
            "gpu__compute_memory_request_throughput": {**request, **dram},
            "gpu__compute_memory_throughput": {**access, **request, **dram},
            "gpu__dram_throughput": dram,
            "dram__throughput": {"dram__cycles_active": self._dram_share()},
            "l1tex__throughput": l1,
            "lts__throughput": lts,
        }

    def _dram_share(self) -> float:
        moved = self.sums["dram__bytes"] / max(1e-9, self.nanoseconds * 1e-9)
        return min(1.0, float(moved / self.gpu.dram_bandwidth_bytes_per_second))

    def _sm_parts(self) -> tuple[dict[str, float], dict[str, float]]:
        gpu, estimate = self.gpu, self.model.estimate
        counts = self.model.result.counts
        slots = estimate.elapsed_cycles * gpu.sm_count * gpu.sub_partitions / estimate.scale
        busy = dict(zip(PIPES, self.model.result.sm["pipe_busy"] / slots, strict=True))
        sums = self._own
        sm_slots = slots / gpu.sub_partitions
        instruction = {
            "sm__inst_executed": float(sums["issue_active"] / slots),
            "sm__issue_active": float(sums["issue_active"] / slots),
            "sm__pipe_alu_cycles_active": busy["alu"],
            "sm__pipe_fma_cycles_active": busy["fma"],
            "sm__pipe_fp64_cycles_active": busy["fp64"],
            "sm__pipe_tensor_cycles_active": busy["tensor"],
            "sm__inst_executed_pipe_xu": busy["xu"],
            "sm__inst_executed_pipe_uniform": busy["uniform"],
            "sm__inst_executed_pipe_cbu_pred_on_any": busy["cbu"],
        }
        lsu = float(counts.stalls[self._lsu(), 0].sum())
        lsu *= float(self.model.result.spec["lsu_interval"])
        memory = {
            "sm__inst_executed_pipe_lsu": lsu / sm_slots,
            "sm__inst_executed_pipe_adu": busy["adu"],
            "sm__mio2rf_writeback_active": float(sums["data_cycles"]) / sm_slots / 2,
        }
        return instruction, memory

    def _lsu(self) -> list[int]:
        code = self.model.code
        on_lsu = (code["pipe"] == PIPES.index("lsu")) & (code["kind"] != VARIABLE)
        return [int(index) for index in np.flatnonzero(on_lsu)]

    def _memory_parts(self) -> tuple[dict[str, float], dict[str, float]]:
        gpu, estimate = self.gpu, self.model.estimate
        sums = self._own
        sm_slots = estimate.elapsed_cycles * gpu.sm_count / estimate.scale
        l2_slots = estimate.elapsed_cycles * float(gpu.l2_read_bytes_per_cycle) / 32
        l2_slots *= self.model.question.l2_lead / estimate.scale
        sectors = float(sums["l2_read"] + sums["l2_write"] + sums["l2_atomic"])
        port = float(gpu.value("l2.sm_bytes_per_cycle")) / 32
        access = {
            "l1tex__data_pipe_lsu_wavefronts": float(sums["data_cycles"]) / sm_slots,
            "l1tex__data_bank_reads": float(sums["shared_passes"]) / sm_slots,
            "l1tex__f_wavefronts": float(sums["tags"]) / sm_slots,
            "lts__t_sectors": sectors / l2_slots,
            "lts__d_sectors": sectors / l2_slots,
        }
        request = {
            "l1tex__lsuin_requests": float(sums["requests"]) / sm_slots,
            "l1tex__m_xbar2l1tex_read_sectors": float(sums["l2_read"]) / (port * sm_slots),
            "l1tex__m_l1tex2xbar_req_cycles_active": float(sums["l2_write"]) / sm_slots,
            "lts__d_sectors_fill_device": float(sums["dram_read"]) / l2_slots,
            "lts__lts2xbar_cycles_active": float(sums["l2_read"]) / l2_slots,
            "lts__xbar2lts_cycles_active":
                float(sums["l2_write"] + sums["l2_atomic"]) / l2_slots,
        }  # fmt: skip
        return access, request

    # --- peaks -----------------------------------------------------------------------------------

    def _peak(self, base: str, rollup: str, sub: str) -> float | None:
        """What one unit (all units, for .sum) can sustain per cycle, or over a span."""
        unit = base.partition("__")[0]
        each = self._peak_of_one(base, unit)
        if each is None:
            return None
        peak = each * (self.instances(unit) if rollup == "sum" else 1.0)
        if sub == "peak_sustained":
            return peak
        kind = "active" if "active" in sub else "elapsed"
        cycles = self._cycles(f"{unit}__cycles_{kind}", unit, "avg")
        if sub.endswith("per_second"):
            return peak * self.model.question.clock_mhz * 1e6
        return peak * cycles

    def _peak_of_one(self, base: str, unit: str) -> float | None:
        gpu = self.gpu
        issue = float(gpu.sub_partitions if unit == "sm" else 1)
        name = base.partition("__")[2]
        if name.startswith("inst_executed_pipe_"):
            return self._pipe_peak(name.removeprefix("inst_executed_pipe_"), issue)
        if name in ("warps_active", "warps_eligible"):
            return gpu.max_warps_per_sm * issue / gpu.sub_partitions
        if name.startswith("pipe_") or name.startswith("cycles_"):
            return 1.0
        if "sass_thread_inst_executed_op_" in name:
            return self._thread_peak(name, issue)
        if unit in ("sm", "smsp"):
            return issue * (32.0 if "thread_inst" in name else 1.0)
        if unit == "l1tex":
            return 4.0 if "sectors" in name else float(gpu.l1_bytes_per_cycle) if (
                "bytes" in name
            ) else 1.0
        if unit == "lts":
            sectors = float(gpu.l2_read_bytes_per_cycle) / 32 / self.instances("lts")
            sectors *= self.model.question.l2_lead
            return sectors if "sectors" in name or "lts2xbar" in name else sectors / 4
        if unit == "dram":
            per_cycle = gpu.dram_bandwidth_bytes_per_second / (gpu.memory_clock_mhz * 1e6)
            per_cycle /= self.instances("dram")
            return per_cycle / 32 if "sectors" in name else per_cycle
        return None

    def _thread_peak(self, name: str, issue: float) -> float:
        """Threads per cycle that a pipe takes: 32 unless it has fewer lanes."""
        opcode = name.partition("_op_")[2].partition("_")[0]
        pipes = {"dadd": "fp64", "dmul": "fp64", "dfma": "fp64",
                 "hadd": "fp16", "hmul": "fp16", "hfma": "fp16",
                 "fadd": "fma", "fmul": "fma", "ffma": "fma"}  # fmt: skip
        return issue * min(32.0, float(self.gpu.value(f"pipes.{pipes.get(opcode, '')}", 32)))

    def _pipe_peak(self, pipe: str, issue: float) -> float:
        name = pipe.partition("_op_")[0].partition("_type_")[0]
        lanes = float(self.gpu.value(f"pipes.{name}", 32))
        return issue * min(1.0, lanes / 32.0)


def _texels(sums: dict[str, float], *, surfaces: bool = False) -> tuple[float, float]:
    """Sectors of textures (and of reads of surfaces) looked up in L1, and those of them that it
    does not hold."""
    looked, missed = float(sums["tex_looked"]), float(sums["tex_missed"])
    if surfaces:
        looked += float(sums["surface_looked"])
        missed += float(sums["surface_missed"])
    return looked, min(looked, missed)


def _part(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def lengthened(states: Floats, factor: float) -> Floats:
    """Warp cycles by state of which there are `factor` times as many: issuing and the waits that
    each instruction has anyhow are as many as instructions, the rest is what other warps are for.
    """
    fixed = np.isin(range(len(REASONS)), (SELECTED, WAIT, BRANCH_RESOLVING))
    given, rest = float(states[fixed].sum()), float(states[~fixed].sum())
    wanted = (given + rest) * factor - given
    if wanted < _LEAST_REST * rest or not rest:
        return np.concatenate([states[:1], factor * states[1:]])
    return np.where(fixed, states, states * (wanted / max(rest, 1.0)))
