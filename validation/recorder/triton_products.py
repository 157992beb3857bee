"""Records times and counters of Triton's products of matrices and of attention on an H200.

    python triton_products.py --build CUBINS     compiles them with Triton, for sm_90; needs no GPU
    python triton_products.py CUBINS OUT         measures: OUT/triton_products_sm90.json

The machine code stands beside the result, so that everybody runs the same. None is for tuning.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from session import Session, sha256

from counters import Counters

# dtype, size, BM, BN, BK, warps, stages
MATMULS = (
    ("f16", 2048, 128, 128, 64, 4, 3), ("f16", 2048, 128, 256, 64, 8, 3),
    ("f16", 2048, 64, 256, 32, 4, 4), ("f16", 3072, 128, 256, 64, 8, 4),
    ("f16", 2048, 64, 64, 64, 4, 4), ("f16", 3072, 64, 128, 64, 4, 3),
    ("bf16", 2048, 128, 128, 64, 8, 4), ("bf16", 3072, 128, 256, 64, 8, 3),
    ("bf16", 2048, 64, 128, 32, 4, 4), ("f16", 6144, 128, 256, 64, 8, 4),
    ("f32", 2048, 128, 128, 32, 8, 3), ("f32", 2048, 64, 128, 32, 4, 4),
)  # fmt: skip
# dtype, length, heads, BM, BN, D, causal, warps, stages
ATTENTIONS = (
    ("f16", 2048, 16, 128, 64, 64, False, 4, 3), ("f16", 2048, 16, 128, 128, 64, False, 8, 3),
    ("f16", 2048, 16, 128, 64, 128, False, 8, 3), ("f16", 2048, 32, 128, 64, 64, True, 4, 3),
    ("bf16", 1024, 64, 64, 64, 64, False, 4, 4),
)  # fmt: skip
COUNTERS = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
    "smsp__inst_executed_pipe_lsu.sum", "smsp__inst_executed_pipe_alu.sum",
    "sm__inst_executed_pipe_tensor_op_gmma.sum", "sm__cycles_active.avg",
)  # fmt: skip
TIMES = ("gpu__time_duration.sum", "gpc__cycles_elapsed.max")
REPEATS = 5
CACHE_BYTES = 256 << 20


def _cases() -> list[dict[str, Any]]:
    found = []
    for kind, n, bm, bn, bk, warps, stages in MATMULS:
        found.append({
            "name": f"matmul/{kind}/{n}/{bm}x{bn}x{bk}/{warps}/{stages}", "kernel": "matmul",
            "dtype": kind, "size": n, "sizes": [n, n, n], "warps": warps, "stages": stages,
            "grid": [-(-n // bm) * -(-n // bn), 1],
            "constants": {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8, "TF32": kind == "f32"},
        })  # fmt: skip
    for kind, n, heads, bm, bn, d, causal, warps, stages in ATTENTIONS:
        found.append({
            "name": f"attention/{kind}/{n}x{heads}/{bm}x{bn}x{d}{'/causal' if causal else ''}"
                    f"/{warps}/{stages}",
            "kernel": "attention", "dtype": kind, "size": n * heads * d, "sizes": [n],
            "grid": [n // bm, heads], "warps": warps, "stages": stages,
            "constants": {"BM": bm, "BN": bn, "D": d, "CAUSAL": causal},
        })  # fmt: skip
    return found


def compile_all(folder: Path) -> None:
    """Compiles every case as Triton does for a program's tensors."""
    import warplens.cuda

    warplens.cuda.choose("H200")
    sys.path.insert(0, str(Path(__file__).parent / "kernels"))
    import triton
    import triton_products as kernels  # that of kernels/

    from warplens.toolchain.nvrtc import compile_source

    folder.mkdir(parents=True, exist_ok=True)
    cases = _cases()
    for case in cases:
        kind = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32"}[case["dtype"]]
        tensors = [kind] * (3 if case["kernel"] == "matmul" else 4)
        scales = [] if case["kernel"] == "matmul" else [0.18]
        function = getattr(kernels, case["kernel"])
        mocks = [triton.runtime.jit.MockTensor(one.removeprefix("*"), [1, 1]) for one in tensors]
        compiled = function.warmup(
            *mocks, *scales, *case["sizes"], **case["constants"], grid=(1,),
            num_warps=case["warps"], num_stages=case["stages"],
        )  # fmt: skip
        cubin = compiled.asm["cubin"]
        case |= {"symbol": compiled.metadata.name, "shared": compiled.metadata.shared,
                 "block": 32 * compiled.metadata.num_warps, "sha256": sha256(cubin),
                 "cubin": base64.b64encode(cubin).decode()}  # fmt: skip
        print(case["name"], case["shared"], "wgmma" in compiled.asm["ptx"], flush=True)
    manifest = {"nvrtc": f"Triton {triton.__version__}", "arch": "sm_90a", "sha256": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    from triton_cases import READER

    (folder / "reader.cubin").write_bytes(compile_source(READER, sm=90).cubin)
    (folder / "triton_products.json").write_text(json.dumps({"cases": cases}))


def values_of(case: dict[str, Any]) -> Any:
    """A tensor of a case."""
    count = case["size"] ** 2 if case["kernel"] == "matmul" else case["size"]
    values = np.random.default_rng(1).standard_normal(count, np.float32)
    if case["dtype"] == "f16":
        return values.astype(np.float16)
    return (values.view(np.uint32) >> 16).astype(np.uint16) if case["dtype"] == "bf16" else values


def arguments_of(driver: Any, case: dict[str, Any]) -> list[Any]:
    """All parameters: pointers, numbers and two null pointers to scratch memory."""
    values = values_of(case)
    inputs = [driver.upload(values) for _ in range(2 if case["kernel"] == "matmul" else 3)]
    scale = [] if case["kernel"] == "matmul" else [np.float32(0.18)]
    return [*inputs, driver.alloc(values.nbytes), *scale, *map(np.int32, case["sizes"]),
            np.uint64(0), np.uint64(0)]  # fmt: skip


class Bench:
    """One case on the GPU, with cold or warm caches."""

    def __init__(self, driver: Any, case: dict[str, Any], reader: bytes) -> None:
        self.driver, self.case = driver, case
        self.reader = driver.function(driver.load(reader), "read_all")
        module = driver.load(base64.b64decode(case["cubin"]))
        self.function = driver.function(module, case["symbol"])
        driver.set_dynamic_shared(self.function, case["shared"])
        self.arguments = arguments_of(driver, case)
        self.other, self.sink = driver.alloc(CACHE_BYTES), driver.alloc(4096)
        driver.fill(self.other, 0, CACHE_BYTES)

    def launch(self) -> None:
        """Launches without waiting."""
        shape = (*self.case["grid"], 1), (self.case["block"], 1, 1)
        self.driver.launch(self.function, *shape, self.arguments, self.case["shared"])

    def cold(self) -> None:
        """Fills L2 with other data, none of it to be written back."""
        arguments = (self.other, np.uint32(CACHE_BYTES // 16), self.sink)
        for _ in range(2):
            self.driver.launch(self.reader, (264, 1, 1), (512, 1, 1), arguments)


def measure(session: Session) -> None:
    """Counters and times of every case."""
    driver = session.driver
    cases = json.loads((session.cubins / "triton_products.json").read_text())["cases"]
    counters = None if session.dry_run else Counters(driver.context)
    for case in cases:
        bench = Bench(driver, case, session.cubin("reader"))
        if counters is not None:
            counters.configure(COUNTERS)
            case["counters"] = counters.measure(bench.launch, bench.cold, driver.synchronize)
            counters.configure(TIMES)
            case["cold"] = [counters.measure(bench.launch, bench.cold, driver.synchronize)
                            for _ in range(REPEATS)]  # fmt: skip
        driver.free_all()
        print(case["name"], case.get("cold", [])[:1], flush=True)
        found = {"metadata": session.metadata(), "clocks": session.clocks(), "cases": cases}
        (session.out / "triton_products_sm90.json").write_text(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "--build":
        compile_all(Path(sys.argv[2]))
    else:
        measure(Session.of_command_line(__doc__))
