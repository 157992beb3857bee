"""Records times of textures and surfaces (`texture_time_cases.py`), with counters and warp states.

`python texture_times.py CUBINS OUT` measures with CUPTI; CUBINS holds `texture_times.cubin` and
`texture_programs.cubin` (build.py). Walks give OUT/texture_times_sm90.json, whole kernels, the
median of five each, OUT/texture_programs_sm90.json. L2 holds a walk's texels when the same launch
has been before it, and lines of another buffer where they are to come from DRAM.
"""

from __future__ import annotations

import ctypes as ct
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launches import STATES
from texture_time_cases import Image, Program, Walk, programs, walks

from counters import Counters
from textures import CudaError, Machine, described, release, resource_of, texture_of

FLUSHED = 128 << 20  # bytes read before a launch: more than L2 holds
REPEATS = 5
TIME = "gpu__time_duration.sum"
METRICS = (
    TIME, "sm__cycles_active.avg", "sm__cycles_active.max", "smsp__inst_executed.sum",
    *(f"{name}.sum" for name in (
        "l1tex__t_sectors_pipe_tex", "l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit",
        "l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss",
        "l1tex__t_sectors_pipe_tex_mem_surface_lookup_hit",
        "l1tex__t_sectors_pipe_tex_mem_surface_lookup_miss",
        "l1tex__m_xbar2l1tex_read_sectors", "l1tex__m_l1tex2xbar_write_sectors",
        "l1tex__f_wavefronts", "l1tex__data_pipe_tex_wavefronts",
        "lts__t_sectors", "lts__t_sectors_op_read", "lts__t_sectors_op_write",
        "lts__t_sectors_op_red", "lts__t_requests_srcunit_tex", "lts__t_sectors_srcunit_tex",
        "lts__t_sectors_srcunit_tex_op_read", "lts__t_sectors_srcunit_tex_lookup_hit",
        "lts__t_sectors_srcunit_tex_lookup_miss", "lts__t_sectors_srcunit_ltcfabric",
        "dram__bytes_read", "dram__bytes_write",
    )),
    *STATES,
)  # fmt: skip


class Bench:
    """Objects of the images that are in use, and what is launched with them."""

    def __init__(self, walking: bytes, whole: bytes) -> None:
        self.gpu, self.whole = Machine(walking), Machine(whole)
        self.image: Image | None = None
        self.made: tuple[dict[str, Any], Any, ct.c_uint64]
        self.others = ct.c_uint64()
        self.gpu.call("cuMemAlloc_v2", ct.byref(self.others), ct.c_size_t(FLUSHED))
        self.gpu.call("cuMemsetD8_v2", self.others, ct.c_ubyte(0), ct.c_size_t(FLUSHED))
        self.out = self.gpu.memory(bytes(4 * 132 * 1024))

    def object_of(self, case: Any) -> tuple[dict[str, Any], Any, ct.c_uint64]:
        """A case as plain data, what is behind its object, and the object."""
        plain = described(case)
        resource, made = resource_of(self.gpu, plain, [level.tobytes() for level in case.texels])
        return plain, made, texture_of(self.gpu, plain, resource)

    def drop(self, found: tuple[dict[str, Any], Any, ct.c_uint64]) -> None:
        """Ends an object."""
        plain, made, handle = found
        self.gpu.call("cuSurfObjectDestroy" if plain["surface"] else "cuTexObjectDestroy", handle)
        release(self.gpu, plain, made)

    def flush(self) -> None:
        """Fills L2 with clean lines of another buffer."""
        count = ct.c_int(FLUSHED // 16)
        self.gpu.launch("pass_over", (132, 1024), self.others, self.out, count)

    def walk(self, case: Walk) -> Callable[[], None]:
        """What launches a walk; its image is kept for the next one."""
        if self.image != case.image:
            if self.image is not None:
                self.drop(self.made)
            self.image, self.made = case.image, self.object_of(case.image.case())
        numbers = [*map(ct.c_int, case.numbers), ct.c_float(case.shift)]
        if case.image.surface or case.image.kind == "linear":
            numbers[-1] = ct.c_float(0.0)
        shape = case.blocks, 32 * case.warps
        return lambda: self.gpu.launch(case.kernel, shape, self.made[2], self.out, *numbers)

    def clocks(self, case: Walk) -> list[float]:
        """Cycles that the warps of the last launch took: the least, the mean and the most."""
        count = case.blocks * case.warps
        words = struct.unpack(f"<{32 * count}I", self.gpu.bytes_of(self.out, 128 * count))[::32]
        return [min(words), round(sum(words) / count, 1), max(words)]

    def program(self, case: Program) -> tuple[Callable[[], None], Callable[[], None]]:
        """What launches a whole kernel, and what ends its objects."""
        objects = [self.object_of(one) if one else None for one in (case.texture, case.surface)]
        given = self.gpu.memory(case.given.tobytes())
        out = self.gpu.memory(bytes(4 * case.floats * case.width * case.height))
        handles = [one[2] if one else ct.c_uint64() for one in objects]
        shape = (*case.grid, 1, *case.block, 1)
        sizes = ct.c_int(case.width), ct.c_int(case.height)

        def end() -> None:
            for one in objects:
                if one:
                    self.drop(one)
            for pointer in (given, out):
                self.gpu.call("cuMemFree_v2", pointer)

        return lambda: self.whole.launch(case.kernel, shape, *handles, given, out, *sizes), end


def _walks(bench: Bench, counters: Counters) -> dict[str, Any]:
    found: dict[str, Any] = {"values": {}, "clocks": {}}
    for case in sorted(walks(), key=lambda one: repr(one.image)):
        launch = bench.walk(case)
        prepare = bench.flush if case.is_cold else launch
        try:
            prepare()
            launch()
            found["clocks"][case.name] = bench.clocks(case)
            values = counters.measure(launch, prepare, lambda: bench.gpu.call("cuCtxSynchronize"))
            found["values"][case.name] = [round(value, 1) for value in values.values()]
        except (CudaError, RuntimeError) as error:
            found["values"][case.name] = str(error)
    return found


def _programs(bench: Bench, counters: Counters) -> dict[str, Any]:
    found: dict[str, Any] = {"values": {}, "each": {}}
    for case in programs():
        launch, end = bench.program(case)
        launch()
        runs = [
            counters.measure(launch, bench.flush, lambda: bench.gpu.call("cuCtxSynchronize"))
            for _ in range(REPEATS)
        ]
        end()
        runs.sort(key=lambda run: run[TIME])
        found["each"][case.name] = [run[TIME] for run in runs]
        found["values"][case.name] = [round(v, 1) for v in runs[REPEATS // 2].values()]
    return found


def record(cubins: Path, out: Path) -> None:
    """Measures everything; whole kernels first."""
    texts = [(cubins / f"{name}.cubin").read_bytes() for name in _CUBINS]
    bench, manifest = Bench(*texts), json.loads((cubins / "manifest.json").read_text())
    context = ct.c_void_p()
    bench.gpu.call("cuCtxGetCurrent", ct.byref(context))
    counters = Counters(context)
    counters.configure(METRICS)
    session = bench.gpu.names() | {"nvrtc": manifest["nvrtc"], "arch": manifest["arch"]}
    session["sha256"] = {name: manifest["sha256"][name] for name in _CUBINS}
    for name, part in (("texture_programs", _programs), ("texture_times", _walks)):
        found = {"session": session, "metrics": METRICS, **part(bench, counters)}
        (out / f"{name}_sm90.json").write_text(json.dumps(found))
        print(name, len(found["values"]), "launches", flush=True)
    counters.close()


_CUBINS = ("texture_times", "texture_programs")


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
