"""Records counters and times of three Triton kernels on an H200.

    python triton_cases.py --build CUBINS       compiles them with Triton, for sm_90; needs no GPU
    python triton_cases.py CUBINS OUT           measures: OUT/triton_sm90.json

The machine code stands in the result, so that everybody runs the same.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from session import Session, sha256

from counters import Counters

SIZES = {  # kernel -> (rows, columns) of its cases
    "add": ((1, 1 << 20), (1, 1 << 22), (1, 3 << 22)),
    "softmax": ((2048, 1024), (8192, 781), (4096, 2048)),
    "layer_norm": ((2048, 1024), (4096, 768), (8192, 1500)),
}
BLOCKS = {"add": 1024}  # the others: the power of two that holds a row
COUNTERS = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum", "smsp__inst_executed_op_global_ld.sum",
    "smsp__inst_executed_op_global_st.sum", "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum", "smsp__inst_executed_pipe_alu.sum",
    "smsp__inst_executed_pipe_fma.sum", "smsp__inst_executed_pipe_xu.sum",
    "smsp__inst_executed_pipe_lsu.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "smsp__warps_launched.sum",
    "sm__ctas_launched.sum", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
)  # fmt: skip
TIMES = ("gpu__time_duration.sum", "gpc__cycles_elapsed.max")
REPEATS = 5
CACHE_BYTES = 256 << 20  # read between launches, so that each one begins with other data in L2
READER = """
extern "C" __global__ void read_all(const uint4 *x, unsigned n, unsigned *out) {
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 v = x[i];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 12345) *out = sum;
}
"""


def compile_all(folder: Path) -> None:
    """Compiles every case as Triton does for a program's tensors."""
    import warplens.cuda
    from warplens.toolchain.nvrtc import compile_source

    warplens.cuda.choose("H200")
    sys.path.insert(0, str(Path(__file__).parent / "kernels"))
    import triton
    import triton_three as kernels

    from warplens.frontends.triton import array

    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    for name, sizes in SIZES.items():
        for rows, columns in sizes:
            block = BLOCKS.get(name, triton.next_power_of_2(columns))
            x = array(np.zeros((rows, columns), np.float32))
            tensors = {"add": 3, "softmax": 2, "layer_norm": 4}[name]
            numbers = (columns, 1e-5) if name == "layer_norm" else (columns,)
            warps = 8 if block > 1024 else 4
            compiled = getattr(kernels, name).warmup(
                *[x] * tensors, *numbers, BLOCK=block, grid=(1,), num_warps=warps
            )
            cubin = compiled.asm["cubin"]
            cases.append({
                "name": f"{name}/{rows}x{columns}", "kernel": name, "rows": rows,
                "columns": columns, "block": 32 * compiled.metadata.num_warps,
                "grid": -(-columns // block) if name == "add" else rows,
                "symbol": compiled.metadata.name, "shared": compiled.metadata.shared,
                "cubin": base64.b64encode(cubin).decode(), "sha256": sha256(cubin),
            })  # fmt: skip
    manifest = {"nvrtc": f"Triton {triton.__version__}", "arch": "sm_90a", "sha256": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "reader.cubin").write_bytes(compile_source(READER, sm=90).cubin)
    (folder / "triton.json").write_text(json.dumps(cases))
    print(len(cases), "cases")


def data_of(case: dict[str, Any]) -> list[np.ndarray]:
    """A case's arrays: the same numbers wherever it runs."""
    shape = (case["rows"], case["columns"])
    x = np.random.default_rng(1).random(shape, np.float32)
    row = np.linspace(0.5, 1.5, case["columns"], dtype=np.float32)
    return {
        "add": [x, x[::-1].copy(), np.zeros_like(x)], "softmax": [x, np.zeros_like(x)],
        "layer_norm": [x, np.zeros_like(x), row, row],
    }[case["kernel"]]  # fmt: skip


def arguments_of(case: dict[str, Any], pointers: list[Any]) -> list[Any]:
    """All parameters: pointers, numbers and two null pointers to scratch memory."""
    numbers = [np.int32(case["columns"])]
    if case["kernel"] == "layer_norm":
        numbers.append(np.float32(1e-5))
    return [*pointers, *numbers, np.uint64(0), np.uint64(0)]


class Bench:
    """One case on the GPU, with cold or warm caches."""

    def __init__(self, driver: Any, case: dict[str, Any], reader: bytes) -> None:
        self.driver, self.case = driver, case
        self.reader = driver.function(driver.load(reader), "read_all")
        module = driver.load(base64.b64decode(case["cubin"]))
        self.function = driver.function(module, case["symbol"])
        self.arguments = arguments_of(case, [driver.upload(one) for one in data_of(case)])
        self.other, self.sink = driver.alloc(CACHE_BYTES), driver.alloc(4096)
        driver.fill(self.other, 0, CACHE_BYTES)

    def launch(self) -> None:
        """Launches without waiting."""
        shape = (self.case["grid"], 1, 1), (self.case["block"], 1, 1)
        self.driver.launch(self.function, *shape, self.arguments, self.case["shared"])

    def cold(self) -> None:
        """Fills L2 with other data, none of it to be written back."""
        arguments = (self.other, np.uint32(CACHE_BYTES // 16), self.sink)
        for _ in range(2):
            self.driver.launch(self.reader, (264, 1, 1), (512, 1, 1), arguments)

    def times(self, counters: Counters | None, prepare: Callable[[], None]) -> list[list[float]]:
        """Duration in ns and cycles of several launches."""
        if counters is None:
            return []
        found = []
        for _ in range(REPEATS):
            one = counters.measure(self.launch, prepare, self.driver.synchronize)
            found.append([one[name] for name in TIMES])
        return found


def measure(session: Session) -> None:
    """Counters and times of every case."""
    driver = session.driver
    cases = json.loads((session.cubins / "triton.json").read_text())
    counters = None if session.dry_run else Counters(driver.context)
    for case in cases:
        bench = Bench(driver, case, session.cubin("reader"))
        if counters is not None:
            counters.configure(COUNTERS)
            case["counters"] = counters.measure(bench.launch, bench.cold, driver.synchronize)
            counters.configure(TIMES)
        case["cold"] = bench.times(counters, bench.cold)
        case["warm"] = bench.times(counters, bench.launch)
        driver.free_all()
        print(case["name"], *case["cold"][:1], *case["warm"][:1], flush=True)
    if counters is not None:
        counters.close()
    found = {"metadata": session.metadata(), "clocks": session.clocks(), "cases": cases}
    (session.out / "triton_sm90.json").write_text(json.dumps(found, indent=0))
    print(len(cases), "cases measured")


if __name__ == "__main__":
    if sys.argv[1] == "--build":
        compile_all(Path(sys.argv[2]))
    else:
        measure(Session.of_command_line(__doc__))
