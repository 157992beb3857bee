"""The kernels of benchmarks/user.py beside plain C and beside Python's simulators of CUDA.

    python benchmarks/beside.py [--gpu H200] [--size 1.0] [--only scan] [--json]

For every kernel the processor time of one warm launch (its time not asked for) over that of C's
shortest loop with the same result on the same data (`user_host.c`, one thread, `cc -O3
-march=native`), and what C would be in million warp-instructions per second. Where numba or Triton
is installed their interpreters run small launches of what can be written there
(`interpreted_numba.py`, `interpreted_triton.py`): how many times as long a thread's work takes.
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
INTERPRETERS = {  # what runs kernels there, and the switch that makes it an interpreter
    "numba": ("interpreted_numba.py", "NUMBA_ENABLE_CUDASIM"),
    "triton": ("interpreted_triton.py", "TRITON_INTERPRET"),
}


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
    """Seconds that interpreters of CUDA kernels take for a thread's work, by kernel."""
    found: dict[str, dict[str, float]] = {}
    for name, (script, switch) in INTERPRETERS.items():
        if importlib.util.find_spec(name) is None:
            continue
        run = subprocess.run([sys.executable, str(HOST.parent / script)],
                             env={**os.environ, switch: "1"},
                             capture_output=True, text=True, check=False)  # fmt: skip
        if run.stderr:
            print(f"{name}: {run.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        if run.returncode == 0:
            found[name] = json.loads(run.stdout)
    return found


def main() -> int:
    """Measures and prints."""
    parser = options_of("Compare kernels with C and with simulators.")
    parser.add_argument("--no-simulators", action="store_true", help="only C")
    options = parser.parse_args()
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
    others = {} if options.no_simulators else simulators()
    if options.json:
        print(json.dumps({"kernels": rows, "simulators": others}, indent=1))
        return 0
    for way, found in others.items():
        for row in rows:
            if row["kernel"] in found:
                ratio = found[row["kernel"]] * row["threads"] / row["seconds"]
                print(f"{row['kernel']:<18}{ratio:12,.0f} times as fast as {way}'s interpreter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
