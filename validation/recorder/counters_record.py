"""Records hardware counters, per-instruction counts and times of the cases in counter_cases.py."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from counter_cases import CASES, IN_WORDS, OUT_WORDS, Case
from session import Session

from counters import Counters

METRICS = Path(__file__).with_name("counter_metrics.txt")
SCRATCH_BYTES = 256 << 20
PER_INSTRUCTION = (
    "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed",
    "smsp__sass_thread_inst_executed_pred_on", "smsp__sass_sectors_mem_global",
    "smsp__sass_sectors_mem_global_ideal", "smsp__sass_sectors_mem_local",
    "smsp__sass_l1tex_tags_mem_global", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
    "smsp__sass_branch_targets_threads_divergent", "smsp__sass_branch_targets_threads_uniform",
)  # fmt: skip


class Bench:
    """Buffers, the loaded kernels and the ways to bring memory and caches into a known state."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("counters"))
        self.source = self.driver.upload(np.arange(IN_WORDS, dtype=np.uint32))
        self.out_bytes = 4 * OUT_WORDS + (1 << 20)
        self.out = self.driver.alloc(self.out_bytes)
        self.scratch = self.driver.alloc(SCRATCH_BYTES)
        self.driver.fill(self.scratch, 0, SCRATCH_BYTES)
        self.sink = self.driver.alloc(4096)
        self.flusher = self.driver.function(self.module, "reduce_grid_stride")

    def launch(self, case: Case) -> None:
        """Launches without waiting."""
        function = self.driver.function(self.module, case.kernel)
        arguments = (self.source, self.out, *(np.uint32(a) for a in case.args))
        self.driver.launch(function, case.grid, case.block, arguments, case.shared)

    def cold(self) -> None:
        """Zeroes the output, then fills L2 with clean lines of a scratch buffer by reading it."""
        self.driver.fill(self.out, 0, self.out_bytes)
        words = np.uint32(SCRATCH_BYTES // 4)
        zero = np.uint32(0)
        self.driver.launch(
            self.flusher, (1056,), (256,), (self.scratch, self.sink, words, zero, zero, zero)
        )
        self.driver.synchronize()

    def times_us(self, case: Case, prepare: Any, repeats: int) -> list[float]:
        """Durations by events around single launches."""
        start, stop = self.driver.event(), self.driver.event()
        found = []
        for _ in range(repeats):
            prepare()
            self.driver.record(start)
            self.launch(case)
            self.driver.record(stop)
            found.append(round(1000 * self.driver.elapsed_ms(start, stop), 3))
        return found


WARM_METRICS = (
    "gpu__time_duration.sum", "gpc__cycles_elapsed.max", "sm__cycles_active.avg",
    "sm__cycles_active.max", "lts__t_sectors_srcunit_tex_lookup_miss.sum", "dram__bytes_read.sum",
    "dram__bytes_write.sum", "smsp__inst_executed.sum",
)  # fmt: skip


def record_counters(session: Session, bench: Bench, names: list[str], budget_s: float) -> None:
    """The range profiler's values: everything with cold caches, a few with warm ones."""
    metrics = METRICS.read_text().split()
    counters = Counters(session.driver.context, str(session.cubins / "counters.so"))
    arrays: dict[str, Any] = {"metrics": np.array(metrics), "cases": np.array(names)}
    arrays["warm_metrics"] = np.array(WARM_METRICS)
    started = time.time()
    for label, chosen in (("cold", metrics), ("warm", WARM_METRICS)):
        counters.configure(chosen)
        table = np.full((len(names), len(chosen)), np.nan)
        for i, name in enumerate(names):
            if time.time() - started > budget_s:
                print("out of time at", label, name)
                break
            case = CASES[name]
            run = lambda c=case: bench.launch(c)  # noqa: E731
            try:
                values = counters.measure(
                    run, bench.cold if label == "cold" else run, session.driver.synchronize
                )
                table[i] = [values[m] for m in chosen]
            except RuntimeError as error:
                print(name, error)
                counters.configure(chosen)
        arrays[label] = table
        print(label, np.isfinite(table).all(axis=1).sum(), "of", len(names), "cases")
    counters.close()
    session.save("counters_sm90", **arrays)


def record_instructions(session: Session, bench: Bench, names: list[str]) -> None:
    """Counts per instruction."""
    counters = Counters(session.driver.context, str(session.cubins / "counters.so"))

    def prepared(case: Case) -> None:
        bench.driver.fill(bench.out, 0, bench.out_bytes)
        bench.launch(case)

    runs = [(CASES[n].kernel, lambda c=CASES[n]: prepared(c)) for n in names]
    rows = counters.per_instruction(PER_INSTRUCTION, runs, session.driver.synchronize)
    found = {
        "metadata": session.metadata(),
        "metrics": PER_INSTRUCTION,
        "cases": dict(zip(names, rows, strict=True)),
    }
    (session.out / "instructions_sm90.json").write_text(json.dumps(found, separators=(",", ":")))
    print("per instruction:", len(names), "cases")


def record_times(session: Session, bench: Bench, names: list[str]) -> None:
    """Event times, cold and warm, and the driver's view of each kernel."""
    found: dict[str, Any] = {"metadata": session.metadata(), "clocks_before": session.clocks()}
    spin = CASES["sgemm_tiled/1024"]
    for _ in range(50):
        bench.launch(spin)
    bench.driver.synchronize()
    found["clocks_busy"] = session.clocks()
    for name in names:
        case = CASES[name]
        function = bench.driver.function(bench.module, case.kernel)
        threads = int(np.prod(case.block))
        found[name] = {
            "cold_us": bench.times_us(case, bench.cold, 5),
            "warm_us": bench.times_us(case, lambda: None, 8),
            "registers": bench.driver.function_attribute(function, 4),
            "static_shared": bench.driver.function_attribute(function, 1),
            "local": bench.driver.function_attribute(function, 3),
            "blocks_per_sm": bench.driver.occupancy(function, threads, case.shared),
        }
    found["clocks_after"] = session.clocks()
    (session.out / "times_sm90.json").write_text(json.dumps(found, separators=(",", ":")))
    print("times:", len(names), "cases")


def record_peaks(session: Session, bench: Bench) -> None:
    """Peak rates that the percentages of throughput metrics divide by."""
    counters = Counters(session.driver.context, str(session.cubins / "counters.so"))
    names = Path(__file__).with_name("peak_metrics.txt").read_text().split()
    case = CASES["copy_u32"]
    found = {}
    for name in names:
        chunk = [f"{name}.{rollup}.peak_sustained" for rollup in ("sum", "avg")]
        try:
            counters.configure(chunk)
            values = counters.measure(
                lambda: bench.launch(case), bench.cold, session.driver.synchronize
            )
            found.update(values)
        except RuntimeError as error:
            print(name, error)
    found_all = {"metadata": session.metadata(), "peaks": found}
    (session.out / "peaks_sm90.json").write_text(json.dumps(found_all, indent=0))
    print("peaks:", len(found))


def main() -> None:
    """Records what `--what` names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cubins", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--what", default="times,counters,peaks")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for counters")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    session = Session(args.cubins, args.out, args.dry_run)
    names = [n for n in CASES if args.only in n]
    bench = Bench(session)
    for name in names:
        session.driver.function(bench.module, CASES[name].kernel)
    if args.dry_run:
        print(len(names), "cases,", len(METRICS.read_text().split()), "metrics")
        sys.exit(0)
    if "times" in args.what:
        record_times(session, bench, names)
    if "counters" in args.what:
        record_counters(session, bench, names, args.budget)
    if "peaks" in args.what:
        record_peaks(session, bench)
    if "instructions" in args.what:
        record_instructions(session, bench, names)


if __name__ == "__main__":
    main()
