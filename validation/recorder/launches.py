"""Measures launches of the published kernels on an H200 and writes them as cases of times.

    python launches.py --build CUBINS    compiles them; no GPU is needed
    python launches.py CUBINS OUT        measures: OUT/h200_*.json, for validation/timing

Blocks of up to 1,024 threads, shared-memory conflicts, scattered reads and writes: what the kernels
of counter_cases.py have little of.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from build import Nvrtc
from session import Session

from counters import Counters

SOURCES = Path(__file__).parents[1] / "published" / "kernels"
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip
REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
REPEATS = 3
PARAMETERS = {  # of a source's templates
    "transpose_f64": "int, const double*, double*",
    "transpose_f32": "const float*, float*, int, int",
    "gemm_guarded": "size_t, size_t, size_t, float, const float*, size_t, const float*, size_t, "
                    "float, float*, size_t",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch; `symbol` is the kernel's name in machine code, `arguments` as for `--arg`, where
    arrays of the same text are the same array."""

    name: str
    source: str
    kernel: str
    symbol: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]


def _f64() -> list[Case]:
    kernels = {
        "naive": "naive", "naive_swapped": "naive_swapped",
        "tiled<0, true>": "_Z5tiledILi0ELb1EEviPKdPd",
        "tiled<0, false>": "_Z5tiledILi0ELb0EEviPKdPd",
        "tiled<1, false>": "_Z5tiledILi1ELb0EEviPKdPd",
    }  # fmt: skip
    return [
        Case(
            name=f"{kernel}/{n}", source="transpose_f64", kernel=kernel, symbol=symbol,
            grid=(n // 32, n // 32), block=(32, 32),
            arguments=(f"i32={n}", f"f64[{n}*{n}]=0", f"f64[{n}*{n}]=1"),
        )
        for kernel, symbol in kernels.items() for n in (2048, 4096)
    ]  # fmt: skip


def _f32() -> list[Case]:
    kernels = {
        "naive": ("naive", (32, 32)), "tiled<0>": ("_Z5tiledILi0EEvPKfPfii", (32, 32)),
        "tiled<1>": ("_Z5tiledILi1EEvPKfPfii", (32, 32)), "by_16_bytes": ("by_16_bytes", (8, 32)),
    }  # fmt: skip
    return [
        Case(
            name=f"{kernel}/{n}", source="transpose_f32", kernel=kernel, symbol=symbol,
            grid=(n // 32, n // 32), block=block,
            arguments=(f"f32[{n}*{n}]=0", f"f32[{n}*{n}]=1", f"i32={n}", f"i32={n}"),
        )
        for kernel, (symbol, block) in kernels.items() for n in (4096, 8192)
    ]  # fmt: skip


def _vectors() -> list[Case]:
    shapes = (
        ("add_int", 1, 128), ("add_int", 1, 256), ("add_int", 1, 512), ("add_int", 1, 1024),
        ("add_size", 1, 256), ("add_wide", 4, 256), ("add_wide", 4, 1024),
        ("add_four_near", 16, 256), ("add_four_far", 16, 256),
    )  # fmt: skip
    n = 1 << 25
    return [
        Case(
            name=f"{kernel}/{block}", source="vectors", kernel=kernel, symbol=kernel,
            grid=(n // each // block,), block=(block,),
            arguments=(
                *(f"f32[{n}]={i}" for i in range(3)),
                f"u64={n}" if kernel == "add_size" else f"i32={n}",
            ),
        )
        for kernel, each, block in shapes
    ]  # fmt: skip


def _gemms() -> list[Case]:
    kernels = {  # template arguments, elements of a side of a block's tile, threads, side
        "plain": (("0", "1"), 32, (32, 32), 2048),
        "tiled": (("0", "1"), 32, (32, 32), 2048),
        "column_of_eight": (("0", "1"), 64, (512,), 2048),
        "square_of_eight": (("0000", "0010", "1000", "1001", "1110", "1111"), 128, (256,), 4096),
    }  # fmt: skip
    found = []
    for kernel, (choices, tile, block, n) in kernels.items():
        for bits in choices:
            words = ", ".join("true" if bit == "1" else "false" for bit in bits)
            mangled = "".join(f"Lb{bit}E" for bit in bits)
            found.append(Case(
                name=f"{kernel}<{words}>/{n}", source="gemm_guarded", kernel=f"{kernel}<{words}>",
                symbol=f"_Z{len(kernel)}{kernel}I{mangled}EvmmmfPKfmS1_mfPfm",
                grid=(n // tile, n // tile), block=block,
                arguments=(
                    *[f"u64={n}"] * 3, "f32=1", f"f32[{n}*{n}]=0", f"u64={n}", f"f32[{n}*{n}]=1",
                    f"u64={n}", "f32=1", f"f32[{n}*{n}]=2", f"u64={n}",
                ),
            ))  # fmt: skip
    return found


CASES = (*_f64(), *_f32(), *_vectors(), *_gemms())


def build(out: Path) -> None:
    """Compiles every source with the templates that are used."""
    out.mkdir(parents=True, exist_ok=True)
    nvrtc = Nvrtc()
    for source in {case.source for case in CASES}:
        used = sorted({c.kernel for c in CASES if c.source == source and "<" in c.kernel})
        text = (SOURCES / f"{source}.cu").read_text()
        text += "".join(f"\ntemplate __global__ void {k}({PARAMETERS[source]});" for k in used)
        cubin = nvrtc.compile(text, f"{source}.cu", ("-arch=sm_90", "-std=c++17"))
        (out / f"{source}.cubin").write_bytes(cubin)
    (out / "manifest.json").write_text(
        json.dumps({"nvrtc": nvrtc.version, "arch": "sm_90", "sha256": {}})
    )


class Bench:
    """Buffers, and measured launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.session = session
        self.loaded: tuple[str, Any] = "", None
        size = 1 << 12 if session.dry_run else 1 << 28
        self.buffers = [self.driver.alloc(size) for _ in range(4)]
        for buffer in self.buffers:
            self.driver.fill(buffer, 0, size)
        self.counters = None if session.dry_run else Counters(self.driver.context)
        if self.counters:
            stalls = (f"smsp__warps_issue_stalled_{reason}.sum" for reason in REASONS)
            self.counters.configure((*METRICS, *stalls))

    def _arguments(self, texts: tuple[str, ...]) -> tuple[Any, ...]:
        """Arrays are the buffers in turn."""
        numbers = {"i32": np.int32, "u64": np.uint64, "f32": np.float32}
        buffers = iter(self.buffers)
        pairs = (text.split("=") for text in texts)
        return tuple(
            next(buffers) if "[" in kind else numbers[kind](int(value)) for kind, value in pairs
        )

    def measure(self, case: Case) -> dict[str, Any]:
        """The counters of the median launch, and its top stall reason."""
        if self.loaded[0] != case.source:
            self.loaded = case.source, self.driver.load(self.session.cubin(case.source))
        function = self.driver.function(self.loaded[1], case.symbol)
        arguments = self._arguments(case.arguments)

        def launch() -> None:
            self.driver.launch(function, case.grid, case.block, arguments)

        launch()
        self.driver.synchronize()
        if not self.counters:
            return dict.fromkeys((*METRICS, "stall"), 0.0)
        runs = [
            self.counters.measure(launch, lambda: None, self.driver.synchronize)
            for _ in range(REPEATS)
        ]
        values = sorted(runs, key=lambda run: run[METRICS[0]])[REPEATS // 2]
        found: dict[str, Any] = {metric: round(values[metric], 3) for metric in METRICS}
        found["stall"] = max(
            REASONS, key=lambda reason: values[f"smsp__warps_issue_stalled_{reason}.sum"]
        )
        return found


def main() -> None:
    """Builds, or measures and writes the case files."""
    if sys.argv[1:2] == ["--build"]:
        build(Path(sys.argv[2]))
        return
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    meta = session.metadata()
    for source in sorted({case.source for case in CASES}):
        cases = [
            {"name": case.name, "part": "tuning", "kernel": case.kernel, "grid": list(case.grid),
             "block": list(case.block), "arguments": list(case.arguments),
             "measured": bench.measure(case)}
            for case in CASES if case.source == source
        ]  # fmt: skip
        document = {
            "gpu": "H200", "clock_mhz": 1980, "source": f"../published/kernels/{source}.cu",
            "origin": f"CUPTI on an {meta['gpu']}, driver {meta['driver']}, NVRTC {meta['nvrtc']}, "
                      f"{meta['date']}, caches as the launch before left them",
            "cases": cases,
        }  # fmt: skip
        (session.out / f"h200_{source}.json").write_text(json.dumps(document, indent=1) + "\n")
        print(source, len(cases), "launches")


if __name__ == "__main__":
    main()
