"""Records times and counters of whole Hopper kernels (`gemm_cases.py`), and what single tensor
copies and accesses to another block's shared memory cost (`copy_costs.py`).

`python gemm_times.py CUBINS OUT`, with the units that `gemms.py --build` made.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from copy_costs import record
from gemm_cases import large
from hopper_cases import Case
from session import Session

from hopper import arguments_of

METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max",
    "smsp__inst_executed.sum", "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active.sum",
    "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
    "sm__sass_inst_executed_op_shared_gmma.sum", "sm__sass_data_bytes_mem_shared_op_gmma.sum",
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum", "dram__bytes_read.sum",
    "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "smsp__inst_executed_pipe_uniform.sum", "smsp__sass_inst_executed_op_tma.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum", "smsp__thread_inst_executed.sum",
    "smsp__inst_executed_pipe_lsu.sum", "smsp__inst_executed_pipe_tex.sum",
    "l1tex__m_l1tex2xbar_write_bytes.sum",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio",
    "l1tex__t_sectors_pipe_tex.sum", "l1tex__t_requests_pipe_tex.sum",
)  # fmt: skip
CACHE_BYTES = 256 << 20
ALONE = 3  # the first of them, each measured by itself


class Bench:
    """Loaded units, and memory that empties L2."""

    def __init__(self, session: Session) -> None:
        self.session, self.driver = session, session.driver
        self.modules: dict[str, Any] = {}
        self._known: list[str] = []

    def module(self, unit: str) -> Any:
        """A loaded unit."""
        if unit not in self.modules or self.session.dry_run:
            self.modules[unit] = self.driver.load(self.session.cubin(unit))
        return self.modules[unit]

    def clean(self, scratch: Any) -> None:
        """Fills L2 with lines of other memory, none of them to be written back."""
        function = self.driver.function(self.module("reader"), "read_all")
        for _ in range(2):
            self.driver.launch(function, (264,), (512,), (scratch, np.uint32(CACHE_BYTES // 16),
                                                          scratch))  # fmt: skip

    def known(self, counters: Any) -> list[str]:
        """Those of the counters that the GPU has."""
        for name in METRICS[ALONE:] if not self._known else ():
            try:
                counters.configure([name])
                self._known.append(name)
            except RuntimeError as error:
                print(name, error)
        return self._known

    def time(self, case: Case, counters: Any) -> dict[str, Any]:
        """Times by events, warm and with an empty L2, and counters."""
        driver = self.driver
        arguments, _ = arguments_of(driver, case)
        scratch = driver.alloc(CACHE_BYTES)
        driver.fill(scratch, 0, CACHE_BYTES)
        function = driver.function(self.module(case.unit), case.kernel)
        driver.set_dynamic_shared(function, max(case.shared, 1024))
        flags = case.arguments[-1] if case.kernel.endswith("_stream") else None

        def launch() -> None:
            driver.launch(function, case.blocks, (case.block,), tuple(arguments), case.shared)

        def prepare() -> None:
            if flags is not None:
                driver.write(arguments[-1], flags)
            self.clean(scratch)

        found: dict[str, Any] = {"cold_us": [], "warm_us": []}
        start, stop = driver.event(), driver.event()
        for name in ("cold_us", "warm_us"):
            for _ in range(7):
                if name == "cold_us" or flags is not None:
                    prepare()
                driver.record(start)
                launch()
                driver.record(stop)
                found[name].append(round(1000 * driver.elapsed_ms(start, stop), 3))
        if counters:
            for metrics in ([name] for name in METRICS[:ALONE]):
                counters.configure(metrics)
                found |= counters.measure(launch, prepare, driver.synchronize)
            known = self.known(counters)
            try:
                counters.configure(known)
                found |= counters.measure(launch, prepare, driver.synchronize)
            except RuntimeError as error:
                print("one by one:", error)
                for name in known:
                    counters.configure([name])
                    found |= counters.measure(launch, prepare, driver.synchronize)
        driver.free_all()
        return found


def main() -> None:
    """Costs first, then every kernel."""
    session = Session.of_command_line(__doc__)
    bench, times = Bench(session), {}

    def keep(name: str, rows: Any) -> None:
        told = {"metadata": session.metadata(), "clocks": session.clocks(), "rows": rows}
        (session.out / f"{name}.json").write_text(json.dumps(told))

    keep("copy_costs_sm90", record(bench))
    counters = None
    if not session.dry_run:
        from counters import Counters

        counters = Counters(bench.driver.context)
    for case in large():
        print(case.name, flush=True)
        times[case.name] = bench.time(case, counters)
        keep("gemm_times_sm90", times)


if __name__ == "__main__":
    main()
