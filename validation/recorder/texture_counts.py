"""Records counters of one warp's accesses to textures and surfaces (`texture_count_cases.py`).

`python textures.py --pack CUBIN FOLDER texture_count_cases` writes the cases beside their kernels;
`python texture_counts.py FOLDER OUT.json` measures them with CUPTI.
"""

from __future__ import annotations

import ctypes as ct
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counters import Counters
from textures import CudaError, Machine, release, resource_of, texture_of

_TEXTURE = (
    "l1tex__texin_requests_mem_texture", "l1tex__t_requests_pipe_tex_mem_texture",
    "l1tex__t_requests_pipe_tex_mem_texture_op_ld", "l1tex__t_requests_pipe_tex_mem_texture_op_tex",
    "l1tex__t_sectors_pipe_tex_mem_texture", "l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit",
    "l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss",
    "l1tex__t_set_accesses_pipe_tex_mem_texture", "l1tex__t_set_conflicts_pipe_tex_mem_texture",
    "l1tex__t_output_wavefronts_pipe_tex_mem_texture",
    "l1tex__data_pipe_tex_wavefronts_mem_texture", "l1tex__m_xbar2l1tex_read_sectors_mem_texture",
)  # fmt: skip
_SURFACE = (
    "l1tex__texin_requests_mem_surface", "l1tex__t_requests_pipe_tex_mem_surface",
    "l1tex__t_requests_pipe_tex_mem_surface_op_ld", "l1tex__t_requests_pipe_tex_mem_surface_op_st",
    "l1tex__t_requests_pipe_tex_mem_surface_op_red", "l1tex__t_sectors_pipe_tex_mem_surface",
    "l1tex__t_sectors_pipe_tex_mem_surface_lookup_hit",
    "l1tex__t_sectors_pipe_tex_mem_surface_lookup_miss",
    "l1tex__t_set_accesses_pipe_tex_mem_surface", "l1tex__t_set_conflicts_pipe_tex_mem_surface",
    "l1tex__t_output_wavefronts_pipe_tex_mem_surface",
    "l1tex__data_pipe_tex_wavefronts_mem_surface",
    "l1tex__m_xbar2l1tex_read_sectors_mem_surface_op_ld",
    "l1tex__m_l1tex2xbar_write_sectors_mem_surface_op_st",
    "l1tex__m_l1tex2xbar_write_sectors_mem_surface_op_red",
)  # fmt: skip
_BOTH = (
    "l1tex__texin_requests", "l1tex__t_requests_pipe_tex", "l1tex__t_sectors_pipe_tex",
    "l1tex__f_wavefronts", "l1tex__tex_writeback_active", "l1tex__texin_sm2tex_req_cycles_active",
    "l1tex__m_xbar2l1tex_read_sectors_pipe_tex", "l1tex__m_l1tex2xbar_write_sectors_pipe_tex",
    "l1tex__data_pipe_tex_wavefronts", "sm__inst_executed_pipe_tex",
)  # fmt: skip


def metrics(surface: bool) -> list[str]:
    """What is measured."""
    return [f"{name}.sum" for name in (*(_SURFACE if surface else _TEXTURE), *_BOTH)]


def measured(gpu: Machine, counters: Counters, case: dict[str, Any], data: list[bytes],
             shape: tuple[int, int] = (1, 32),
             prepare: Callable[[], None] = lambda: None) -> list[float]:  # fmt: skip
    """Values of a case's metrics, launched with so many blocks and threads; `prepare` runs before
    each pass."""
    resource, made = resource_of(gpu, case, data[:-1])
    handle = texture_of(gpu, case, resource)
    places, out = gpu.memory(data[-1]), gpu.memory(bytes(16 * shape[0] * shape[1]))
    values = counters.measure(
        lambda: gpu.launch(case["kernel"], shape, handle, places, out, ct.c_int(case["n"])),
        prepare, lambda: gpu.call("cuCtxSynchronize"),
    )  # fmt: skip
    gpu.call("cuSurfObjectDestroy" if case["surface"] else "cuTexObjectDestroy", handle)
    for pointer in (places, out):
        gpu.call("cuMemFree_v2", pointer)
    release(gpu, case, made)
    return list(values.values())


def opened(folder: Path) -> tuple[list[dict[str, Any]], bytes, Machine, Counters]:
    """Packed cases, their data, the GPU with their kernels, and its counters."""
    cases = json.loads((folder / "cases.json").read_text())
    blob = (folder / "cases.bin").read_bytes()
    gpu = Machine((folder / "textures.cubin").read_bytes())
    context = ct.c_void_p()
    gpu.call("cuCtxGetCurrent", ct.byref(context))
    return cases, blob, gpu, Counters(context)


def record(folder: Path, out: Path) -> None:
    """Measures every case; a metric that the chip does not have is left out."""
    cases, blob, gpu, counters = opened(folder)
    found: dict[str, Any] = {"session": gpu.names(), "metrics": {}, "values": {}}
    for surface in (False, True):
        names = metrics(surface)
        counters.configure(names)
        found["metrics"]["surface" if surface else "texture"] = names
        for case in cases:
            if case["surface"] == surface:
                data = [blob[start : start + size] for start, size in case["pieces"]]
                try:
                    values = measured(gpu, counters, case, data)
                    found["values"][case["name"]] = [round(value) for value in values]
                except (CudaError, RuntimeError) as error:
                    found["values"][case["name"]] = str(error)
        out.write_text(json.dumps(found))
    counters.close()
    print(found["session"], len(found["values"]))


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
