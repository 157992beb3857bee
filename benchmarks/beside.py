"""The kernels of benchmarks/user.py beside plain C, and three beside Python's simulators of CUDA.

    python benchmarks/beside.py [--gpu H200] [--size 1.0] [--only scan] [--json]

For every kernel the processor time of one warm launch (its time not asked for) over that of C's
shortest loop with the same result on the same data (`user_host.c`, one thread, `cc -O3
-march=native`), and what C would be in million warp-instructions per second. Where numba or Triton
is installed their interpreters run small launches of saxpy, a sum and a matrix product: how many
times as long an element takes there.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from user import case, cases, options_of, seconds, wait_for_fast_code

HOST = Path(__file__).parent / "user_host.c"
NUMBA = """
import json, time
import numpy as np
from numba import cuda, float32, int32

@cuda.jit
def saxpy(x, y, a, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]

@cuda.jit
def total(data, out):
    part = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    part[t] = data[cuda.blockIdx.x * 256 + t]
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])

@cuda.jit
def product(a, b, c, n):
    x, y = cuda.grid(2)
    sum = float32(0)
    for k in range(n):
        sum += a[y * n + k] * b[k * n + x]
    c[y * n + x] = sum

def timed(launch):
    begin = time.process_time()
    launch()
    return time.process_time() - begin

n, m = 2048, 32
f, i, o = np.ones(n, np.float32), np.ones(n, np.int32), np.zeros(1, np.int32)
a = np.ones(m * m, np.float32)
print(json.dumps({
    "saxpy": timed(lambda: saxpy[n // 256, 256](f, f.copy(), np.float32(2), n)) / n,
    "sequential": timed(lambda: total[n // 256, 256](i, o)) / n,
    "naive_product": timed(lambda: product[(1, m // 8), (m, 8)](a, a, a.copy(), m)) / m**3,
}))
"""
TRITON = """
import json, time
import torch, triton
import triton.language as tl

@triton.jit
def saxpy(x, y, a, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, a * tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

@triton.jit
def total(data, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(data + i)))

@triton.jit
def product(a, b, c, n: tl.constexpr, B: tl.constexpr):
    y, x = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    sum = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        j = k + tl.arange(0, B)
        p = tl.load(a + y[:, None] * n + j[None, :])
        q = tl.load(b + j[:, None] * n + x[None, :])
        sum += tl.dot(p, q)
    tl.store(c + y[:, None] * n + x[None, :], sum)

def timed(launch):
    launch()
    begin = time.process_time()
    launch()
    return time.process_time() - begin

torch.set_num_threads(1)
n, m = 1 << 17, 256
x, y = torch.ones(n), torch.ones(n)
a = torch.ones(m, m)
i = torch.ones(n, dtype=torch.int32)
o = torch.zeros(1, dtype=torch.int32)
print(json.dumps({
    "saxpy": timed(lambda: saxpy[(n // 256,)](x, y, 2.0, n, B=256)) / n,
    "sequential": timed(lambda: total[(n // 256,)](i, o, B=256)) / n,
    "naive_product": timed(lambda: product[(m // 32, m // 32)](a, a, a.clone(), m, B=32)) / m**3,
}))
"""


def library() -> ctypes.CDLL:
    """The C functions."""
    place = Path(tempfile.mkdtemp()) / "user_host.so"
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-w", str(HOST), "-o", str(place)]
    subprocess.run([*command, "-lm"], check=True)
    return ctypes.CDLL(str(place))


def call(function: Any, threads: int, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The C function with a kernel's arguments."""
    given: list[Any] = [ctypes.c_long(threads)]
    for one in arguments:
        if isinstance(one, np.ndarray):
            given.append(ctypes.c_void_p(one.ctypes.data))
        else:
            given.append(ctypes.c_float(one) if isinstance(one, float) else ctypes.c_uint(one))
    return lambda: (function(*given), arguments)[0]  # the arrays live as long as their addresses


def _product(shape: Any) -> int:
    return int(np.prod(shape))


def measure(gpu: str, name: str, size: float, host: ctypes.CDLL, repeats: int) -> dict[str, Any]:
    """Processor seconds of a launch and of C."""
    launch, arguments = case(gpu, name, size)
    count = int(launch(*arguments()).metric("smsp__inst_executed.sum"))
    wait_for_fast_code(launch, arguments)
    chosen = cases(size)[name]
    threads = _product(chosen.grid) * _product(chosen.block)
    function = getattr(host, name)
    function.restype = None

    def best(make: Callable[[tuple[Any, ...]], Callable[[], Any]]) -> float:
        return min(seconds(make(arguments())) for _ in range(repeats))

    ours = best(lambda given: partial(launch, *given))
    c = best(lambda given: call(function, threads, given))
    return {"kernel": name, "warp_instructions": count, "threads": threads, "seconds": ours,
            "c_seconds": c}  # fmt: skip


def simulators() -> dict[str, dict[str, float]]:
    """Seconds per element of other ways to run CUDA kernels on a processor."""
    found: dict[str, dict[str, float]] = {}
    for name, text, switch in (
        ("numba", NUMBA, "NUMBA_ENABLE_CUDASIM"), ("triton", TRITON, "TRITON_INTERPRET"),
    ):  # fmt: skip
        if importlib.util.find_spec(name) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "simulated.py"
            script.write_text(text)
            run = subprocess.run([sys.executable, str(script)], env={**os.environ, switch: "1"},
                                 capture_output=True, text=True, check=False)  # fmt: skip
        if run.returncode:
            print(f"{name}: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        found[name] = json.loads(run.stdout)
    return found


def _elements(row: dict[str, Any]) -> int:
    if row["kernel"] == "naive_product":
        return round(row["threads"] ** 1.5)
    return int(row["threads"])


def main() -> int:
    """Measures and prints."""
    options = options_of("Compare kernels with C and with simulators.").parse_args()
    host = library()
    names = options.only or list(cases(options.size))
    rows = []
    for name in names:
        row = measure(options.gpu, name, options.size, host, options.repeats)
        rows.append(row)
        if not options.json:
            million, ours, c = row["warp_instructions"] / 1e6, row["seconds"], row["c_seconds"]
            print(f"{name:<18}{million / ours:8.0f} M/s, C {million / c:8.0f}, "
                  f"over C {ours / c:7.2f}", flush=True)  # fmt: skip
    others = simulators()
    if options.json:
        print(json.dumps({"kernels": rows, "simulators": others}, indent=1))
        return 0
    for way, found in others.items():
        for row in rows:
            if row["kernel"] in found:
                ratio = found[row["kernel"]] * _elements(row) / row["seconds"]
                print(f"{row['kernel']:<18}{ratio:12,.0f} times as fast as {way}'s interpreter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
