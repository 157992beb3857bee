"""Measures launches of the published kernels on an H200 and writes them as cases of times.

    python launches.py --build CUBINS    compiles them; no GPU is needed
    python launches.py CUBINS OUT        measures: OUT/h200_*.json, for validation/timing

Blocks of up to 1,024 threads, shared-memory conflicts, scattered reads and writes: what the kernels
of counter_cases.py have little of.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from build import Nvrtc
from session import Session

from counters import Counters

TIMING = Path(__file__).parents[1] / "timing"
_FOLDERS = ("../published/kernels", "kernels")  # of sources, from validation/timing
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip
REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
STATES = tuple(f"smsp__warps_issue_stalled_{reason}.sum" for reason in REASONS)
REPEATS = 3
PARAMETERS = {  # of a source's templates
    "transpose_f64": "int, const double*, double*",
    "transpose_f32": "const float*, float*, int, int",
    "gemm_guarded": "size_t, size_t, size_t, float, const float*, size_t, const float*, size_t, "
                    "float, float*, size_t",
    "loop": "float*, float, int",
    "either": "float*, float, int, unsigned",
    "ends": "float*, float, int",
    "rests<float,": "const float*, float*, unsigned, int, int",
    "rests<float4,": "const float4*, float4*, unsigned, int, int",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch; `symbol` is the kernel's name in machine code, `arguments` as for `--arg`, where
    arrays of the same text are the same array; `shared` is dynamic, in bytes."""

    name: str
    source: str
    kernel: str
    symbol: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    shared: int = 0


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


def _rests() -> list[Case]:
    """A block an SM: bursts of accesses, of more than L2 holds in all, and rests."""
    found = []
    shapes = (
        ("float", 1, 32), ("float", 4, 8), ("float", 4, 32), ("float4", 1, 8), ("float4", 1, 32),
        ("float4", 2, 8), ("float4", 2, 32), ("float4", 4, 8), ("float4", 4, 32),
    )  # fmt: skip
    for (move, what), (name, each, warps), rest in itertools.product(
        enumerate(("read", "write", "copy")), shapes, (0, 512)
    ):
        size = 16 if name == "float4" else 4
        symbol = "6float4Li{}ELi{}EEvPKT_PS1_jii" if size == 16 else "fLi{}ELi{}EEvPKT_PS0_jii"
        bursts = (256 << 20) // (132 * 32 * warps * each * size)
        found.append(Case(
            name=f"{what}/{name}x{each}/{warps}/{rest}", source="rests",
            kernel=f"rests<{name}, {each}, {move}>", symbol="_Z5restsI" + symbol.format(each, move),
            grid=(132,), block=(32 * warps,),
            arguments=("f32[1<<26]=0", "f32[1<<26]=1", f"u32={(256 << 20) // size - 1}",
                       f"i32={bursts}", f"i32={rest}"),
        ))  # fmt: skip
    return found


def _loops() -> list[Case]:
    """Short loops, for a branch's cost: of few warps and many, anywhere in a line of code."""
    shapes = [(k, 0) for k in (1, 2, 4, 8, 16, 32)]
    shapes += [(k, pad) for k in (4, 8) for pad in (1, 2, 3, 4, 5, 6, 7)]
    found = [
        Case(
            name=f"loop/{k}/{pad}/{warps}", source="loops", kernel=f"loop<{k}, {pad}>",
            symbol=f"_Z4loopILi{k}ELi{pad}EEvPffi", grid=(132,), block=(32 * warps,),
            arguments=("f32[1<<18]=0", "f32=1", "i32=2048"),
        )
        for k, pad in shapes for warps in ((1, 4, 8, 16, 32) if pad == 0 else (4, 16))
    ]  # fmt: skip
    return found + [
        Case(
            name=f"either/{k}/{bits}/{warps}", source="loops", kernel=f"either<{k}>",
            symbol=f"_Z6eitherILi{k}EEvPffij", grid=(132,), block=(32 * warps,),
            arguments=("f32[1<<18]=0", "f32=1", "i32=2048", f"u32={bits}"),
        )
        for k in (4, 8, 16) for bits in (0, 0xFFFFFFFF, 0x55555555) for warps in (4, 16)
    ]  # fmt: skip


def _ends() -> list[Case]:
    """Blocks that end with and without stores, one on an SM or as many as fit."""
    return [
        Case(
            name=f"ends/{stores}/{warps}/{turns}/{resident or 'all'}", source="ends",
            kernel=f"ends<{stores}>", symbol=f"_Z4endsILi{stores}EEvPffi",
            grid=(132 * 20 * (resident or 64 // warps),), block=(32 * warps,),
            arguments=("f32[1<<26]=0", "f32=1", f"i32={turns}"),
            shared=_RESIDENT[resident] if resident else 0,
        )
        for stores in (0, 1, 4) for warps in (8, 32) for turns in (8, 64) for resident in (1, 0)
    ]  # fmt: skip


# Blocks of an SM, by dynamic shared memory that nothing uses.
_RESIDENT = {1: 116_000, 2: 80_000, 4: 50_000, 6: 33_500}


def _few() -> list[Case]:
    """Launches again with fewer blocks on an SM, as GPUs with fewer places for warps hold."""
    return [
        replace(case, name=f"{case.name}/{resident}", shared=_RESIDENT[resident])
        for case in (*_f32(), *_vectors())
        if not case.name.endswith(("/4096", "/128", "/512"))
        for resident in ((1,) if math.prod(case.block) > 256 else _RESIDENT)
    ]


CASES = (*_f64(), *_f32(), *_vectors(), *_gemms(), *_few(), *_rests(), *_loops(), *_ends())


def folder_of(source: str) -> str:
    """The folder of a source, from validation/timing."""
    return next(f for f in _FOLDERS if (TIMING / f / f"{source}.cu").exists())


def parameters(source: str, kernel: str) -> str:
    """Types of a template's parameters."""
    names = source, kernel.split(" ")[0], kernel.split("<")[0]
    return next(PARAMETERS[name] for name in names if name in PARAMETERS)


def build(out: Path) -> None:
    """Compiles every source with the templates that are used."""
    out.mkdir(parents=True, exist_ok=True)
    nvrtc = Nvrtc()
    for source in {case.source for case in CASES}:
        used = sorted({c.kernel for c in CASES if c.source == source and "<" in c.kernel})
        text = (TIMING / folder_of(source) / f"{source}.cu").read_text()
        text += "".join(f"\ntemplate __global__ void {k}({parameters(source, k)});" for k in used)
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
        module = self.driver.load(session.cubin("rests"))
        self.reader = self.driver.function(module, "_Z5restsIfLi4ELi0EEvPKT_PS0_jii")
        self.counters = None if session.dry_run else Counters(self.driver.context)
        if self.counters:
            stalls = STATES
            self.counters.configure((*METRICS, *stalls))

    def _flush(self) -> None:
        """Fills L2 with clean lines of an array that no case uses, by reading it."""
        numbers = np.uint32((1 << 26) - 1), np.int32(128), np.int32(0)
        arguments = self.buffers[3], self.buffers[3], *numbers
        self.driver.launch(self.reader, (132,), (1024,), arguments)

    def _arguments(self, texts: tuple[str, ...]) -> tuple[Any, ...]:
        """Arrays are the buffers in turn."""
        numbers = {"i32": np.int32, "u32": np.uint32, "u64": np.uint64, "f32": np.float32}
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
        if case.shared:
            self.driver.set_dynamic_shared(function, case.shared)

        def launch() -> None:
            self.driver.launch(function, case.grid, case.block, arguments, case.shared)

        launch()
        self._flush()
        self.driver.synchronize()
        if not self.counters:
            return dict.fromkeys((*METRICS, "stall"), 0.0)
        runs = [
            self.counters.measure(launch, self._flush, self.driver.synchronize)
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
             **({"shared": case.shared} if case.shared else {}),
             "measured": bench.measure(case)}
            for case in CASES if case.source == source
        ]  # fmt: skip
        document = {
            "gpu": "H200", "clock_mhz": 1980, "source": f"{folder_of(source)}/{source}.cu",
            "origin": f"CUPTI on an {meta['gpu']}, driver {meta['driver']}, NVRTC {meta['nvrtc']}, "
                      f"{meta['date']}, caches flushed before each launch",
            "cases": cases,
        }  # fmt: skip
        (session.out / f"h200_{source}.json").write_text(json.dumps(document, indent=1) + "\n")
        print(source, len(cases), "launches")


if __name__ == "__main__":
    main()
