"""Compiles and runs many small kernels at once: one compile, one listing, one LLVM module.

A module of its own for every kernel would spend most of its time on what all kernels share: the
compiler's and the disassembler's start, and the helper functions of memory accesses.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

import warplens as wl
from tests.fuzz.operation import Family
from tests.fuzz.program import THREADS, Program
from tests.fuzz.values import Array
from warplens.execute import grid
from warplens.execute.memory import DeviceMemory
from warplens.execute.program import assemble, load_module
from warplens.lift import jit
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift
from warplens.lift.regions.lifted import Lifted
from warplens.sass.parser import KernelSet, load_kernels
from warplens.toolchain.cache import Cache
from warplens.toolchain.nvrtc import compile_source

OPTIONS = ("-fmad=false", "-diag-suppress=186,39,68,61,177,550,128,63,62,23,179,221")
_REGION = re.compile(r"^define i32 @region(\d+)\(", re.MULTILINE)
_NO_CACHE = Cache(None)
MAX_SECONDS = 60.0


@dataclass(slots=True)
class Known:
    """Code of kernels already compiled, by their IR: some architectures share machine code."""

    code: dict[str, tuple[jit.MachineCode, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One program's output words, or the error that its compile, lift or launch raised."""

    output: Array | None
    error: wl.WarplensError | None = None


def source_of(family: Family, programs: Sequence[Program]) -> str:
    """The CUDA source of some programs, kernels p0, p1, ..."""
    return "\n".join(
        [family.prelude, *(program.cuda(f"p{i}") for i, program in enumerate(programs))]
    )


def run_batch(
    family: Family, programs: Sequence[Program], architecture: str, known: Known
) -> list[Outcome]:
    """Runs every program once.

    Raises:
        WarplensError: the source as a whole cannot be compiled or read.
    """
    compiled = compile_source(
        source_of(family, programs), name="fuzz.cu", sm=int(architecture.removeprefix("sm_")),
        options=OPTIONS, cache=_NO_CACHE,
    )  # fmt: skip
    kernels = load_kernels(compiled.cubin, cache=_NO_CACHE)
    lifted = [_lifted(kernels, f"p{i}") for i in range(len(programs))]
    _compile([item for item in lifted if isinstance(item, Lifted)], known)
    memory = DeviceMemory()
    image = load_module(kernels.cubin, memory)
    return [
        Outcome(None, item)
        if isinstance(item, wl.WarplensError)
        else _launch(item, kernels, known, memory, image, program)
        for item, program in zip(lifted, programs, strict=True)
    ]


def _lifted(kernels: KernelSet, name: str) -> Lifted | wl.WarplensError:
    try:
        return lift(kernels[name], host_features(), tier=0)
    except wl.WarplensError as error:
        return error


def _chunks(text: str) -> Iterator[str]:
    """The definitions and declarations of a module."""
    function: list[str] = []
    for line in text.split("\n"):
        if function or line.startswith("define "):
            function.append(line)
            if line == "}":
                yield "\n".join(function)
                function = []
        elif line:
            yield line


def _compile(items: Sequence[Lifted], known: Known) -> None:
    """One module of all kernels: helpers once, regions numbered on; kernels with tables apart."""
    for item in items:
        if item.runs and item.ir not in known.code:
            known.code[item.ir] = jit.compile_lifted(item, host_features()), 0
    fresh = list({item.ir: item for item in items if item.ir not in known.code}.values())
    if not fresh:
        return
    shared: dict[str, None] = {}
    regions: list[str] = []
    starts: list[int] = []
    for item in fresh:
        first = len(regions)
        starts.append(first)
        split = item.ir.index("\ndefine i32 @region") + 1
        for chunk in _chunks(item.ir[:split]):
            shared[chunk] = None
        for chunk in _chunks(item.ir[split:]):
            if chunk.startswith("define i32 @region"):
                number = first + int(chunk[len("define i32 @region") : chunk.index("(")])
                regions.append(_REGION.sub(f"define i32 @region{number}(", chunk))
            else:
                shared[chunk] = None
    code = jit.compile_ir("\n".join([*shared, *regions, ""]), len(regions), host_features(), 0)
    for item, start in zip(fresh, starts, strict=True):
        known.code[item.ir] = code, start


def _launch(
    lifted: Lifted, kernels: KernelSet, known: Known, memory: DeviceMemory,
    image: grid.ModuleImage, program: Program,
) -> Outcome:  # fmt: skip
    code, start = known.code[lifted.ir]
    own = jit.MachineCode(code.engine, code.addresses[start : start + len(lifted.layout.regions)])
    inputs, output = program.arguments()
    places = [
        memory.map_host(inputs, writable=False, name="in"),
        memory.map_host(output, writable=True, name="out"),
    ]
    config = grid.LaunchConfig(
        grid=(1, 1, 1), block=(THREADS, 1, 1), params=struct.pack("<QQ", *places), workers=1,
        max_seconds=MAX_SECONDS,
    )  # fmt: skip
    try:
        runnable = assemble(lifted, own, kernels.cubin, host_features())
        runnable.is_fast = True  # a slow machine is no reason to compile it again
        grid.execute(runnable, image, memory, config)
    except wl.WarplensError as error:
        return Outcome(None, error)
    finally:
        for place in places:
            memory.free(place)
    return Outcome(output.view(np.uint32))
