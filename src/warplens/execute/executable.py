"""An executable launch: everything that running a kernel needs, as plain data.

Timing, sanitizers, stepping and predictions take one of these; how a user asked for it is not
their business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from warplens.execute import grid as engine
from warplens.execute.execution import Execution
from warplens.execute.launch import LaunchConfig
from warplens.execute.memory import DeviceMemory
from warplens.gpus.spec import GpuSpec
from warplens.lift import kept
from warplens.lift.decode.binding import Bound
from warplens.lift.decode.deciding import Deciding, deciding
from warplens.lift.decode.dependence import depends_on_memory
from warplens.lift.decode.gaps import bind_kernel
from warplens.lift.decode.needless import needless
from warplens.lift.regions.lifted import Lifted
from warplens.lift.regions.watch import WATCH_ALL, Watch
from warplens.naming import KernelNames, names_of
from warplens.sass.model import SassKernel
from warplens.sass.parser import KernelSet, load_kernels
from warplens.toolchain.cubin import Cubin, read_cubin
from warplens.toolchain.ptx import ParameterType, parameter_types, parse_parameters
from warplens.toolchain.shipped import assembled, with_places
from warplens.toolchain.source import SourceUnit

_WORTH_A_PROGRAM = 0.02  # of the instructions that need not run in it


class Image:
    """One cubin in device memory: its kernels, their parameter types and, once launched, its
    variables. With `unit` it knows the source that it was compiled from, with `expressions` the
    template instances that were asked for. `shipped` gives PTX that came beside machine code."""

    def __init__(
        self,
        memory: DeviceMemory,
        cubin: bytes,
        ptx: str | None,
        *,
        unit: SourceUnit | None = None,
        expressions: tuple[str, ...] = (),
        shipped: Callable[[], str] | None = None,
    ) -> None:
        self.cubin = read_cubin(cubin)
        self.ptx = ptx
        self.unit = unit
        self.parameters = parse_parameters(ptx) if ptx is not None else {}
        self._expressions = expressions
        self._shipped = shipped
        self._memory = memory
        addresses = self.variables.addresses if self.cubin.code_names_variables else None
        self.kernels: KernelSet = load_kernels(self.cubin, addresses=addresses)

    @property
    def memory(self) -> DeviceMemory:
        """The device memory that holds the variables."""
        return self._memory

    @cached_property
    def names(self) -> tuple[KernelNames, ...]:
        """Every kernel's names; needs no disassembly."""
        kernels = self.kernels.cubin.kernels.items()
        return tuple(names_of(mangled, kernel.demangled) for mangled, kernel in kernels)

    @cached_property
    def variables(self) -> engine.ModuleImage:
        """The module's variables in device memory and its constant banks."""
        return engine.load_module(self.cubin, self._memory)

    def types(self, kernel: SassKernel) -> tuple[ParameterType, ...] | None:
        """Parameter types, where the PTX is known."""
        found = self.parameters.get(kernel.name)
        return None if found is None else parameter_types(kernel.demangled, found)

    @cached_property
    def shipped_ptx(self) -> str:
        """The PTX that came with a loaded cubin, every instruction placed; empty if none did."""
        return "" if self._shipped is None else with_places(self._shipped())

    def reassembled(self) -> Image:
        """The PTX that came with a loaded cubin, not optimised; its variables are its own."""
        cubin = assembled(self.shipped_ptx, sm=self.cubin.sm, options=("-O0", "-lineinfo"))
        return Image(self._memory, cubin, None, shipped=lambda: self.shipped_ptx)

    def variant(self, options: Sequence[str]) -> tuple[SourceUnit, tuple[str, ...]]:
        """What `recompiled` would compile, as plain data: source and template instances."""
        assert self.unit is not None
        return self.unit.with_options(options), tuple(self._expressions)

    def recompiled(self, options: Sequence[str]) -> Image:
        """The same source compiled with further options; its variables are its own."""
        assert self.unit is not None
        unit = self.unit.with_options(options)
        compiled = unit.compiled(self._expressions)
        return Image(
            self._memory, compiled.cubin, compiled.ptx, unit=unit, expressions=self._expressions
        )


class KernelCode:
    """One kernel of an image and the programs made of it, each when first needed.

    Raises:
        Unsupported: the kernel needs what warplens does not do; all gaps are listed.
    """

    def __init__(self, image: Image, sass: SassKernel, *, is_plain: bool = True) -> None:
        self.image = image
        self.sass = sass
        self._is_plain = is_plain
        if is_plain:  # gaps are refused here; builds for observers alone need no such code
            _ = self.lifted
        self._watched: dict[Watch | bool, engine.Program] = {}
        self._clustered: dict[tuple[int, int, int], KernelCode] = {}
        self._recompiled: dict[tuple[str, ...], KernelCode] = {}
        self._traced: dict[bool, engine.Program] = {}
        self._without: dict[bool, frozenset[int]] = {}
        self.has_races: bool | None = None  # what racecheck has found; None: it has not looked

    @property
    def race_note(self) -> str:
        """What is known of races, where warps share memory between barriers."""
        if self.has_races:
            return "racecheck has found races in this kernel: on a GPU its results may differ."
        opcodes = {inst.opcode for inst in self.sass.instructions}
        if self.has_races is None and "BAR" in opcodes and opcodes & {"STS", "ATOMS", "STG"}:
            return "racecheck has not looked for races in this kernel (warplens sanitize)."
        return ""

    @cached_property
    def lifted(self) -> Lifted:
        """The ordinary program before it is compiled."""
        return engine.lifted_of(self.sass, self.cubin)

    @cached_property
    def program(self) -> engine.Program:
        """The ordinary program; predictions alone do without."""
        return engine.prepare(self.sass, self.cubin, lifted=self.lifted)

    @property
    def cubin(self) -> Cubin:
        """The cubin that holds the kernel."""
        return self.image.kernels.cubin

    @property
    def ptx(self) -> str:
        """The PTX of the same compile; empty for a cubin that came without."""
        return self.image.ptx or self.image.shipped_ptx

    @property
    def has_source(self) -> bool:
        """Whether the kernel can be compiled again in another way."""
        return self.image.unit is not None

    @property
    def has_text(self) -> bool:
        """Whether there is a source, or PTX that came beside the machine code."""
        return self.has_source or bool(self.image.shipped_ptx)

    @cached_property
    def depends_on_memory(self) -> bool:
        """Whether what is executed, and where it goes, may depend on what memory holds."""
        return self._depends(guards=False)

    @cached_property
    def deciding(self) -> Deciding | None:
        """Which parameters' arrays decide what is executed and where it goes; None: not known."""
        return deciding(self.lifted.layout.blocks, self._bound, self.sass.parameter_base)

    @cached_property
    def counts_depend_on_memory(self) -> bool:
        """Whether, beyond that, what lanes an instruction is switched off for may."""
        return self.depends_on_memory or self._depends(guards=True)

    def traced(self, *, counts: bool = True) -> engine.Program:
        """The program that tells an observer what is executed and where it goes; values on which
        neither depends are not computed. Without `counts`, how many lanes a guard lets pass need
        not be right where it guards such a value, if that saves enough."""
        if counts not in self._traced:
            found = frozenset[int]() if self.calls_functions else self._needless(counts)
            if found and not counts:
                least = self._needless(True)
                saved = len(found) - len(least)
                found = found if saved > _WORTH_A_PROGRAM * len(self.sass.instructions) else least
            self._traced[counts] = self.observed(
                replace(WATCH_ALL, needless=found) if found else True
            )
        return self._traced[counts]

    @cached_property
    def _bound(self) -> Callable[[int], Bound]:
        """The instructions by number, with what they read and write."""
        bound, _ = bind_kernel(self.sass)
        return [item for item in bound if item is not None].__getitem__

    def _needless(self, guards: bool) -> frozenset[int]:
        if guards not in self._without:
            listed = kept.found(self.sass, f"needless {guards}", lambda: sorted(
                needless(self.lifted.layout.blocks, self._bound, guards=guards)
            ))  # fmt: skip
            self._without[guards] = frozenset(listed)
        return self._without[guards]

    def _depends(self, *, guards: bool) -> bool:
        return self.calls_functions or bool(kept.found(
            self.sass, f"depends on memory {guards}",
            lambda: depends_on_memory(self.lifted.layout.blocks, self._bound, guards=guards),
        ))  # fmt: skip

    @property
    def calls_functions(self) -> bool:
        """Whether it calls functions that the runtime provides, as malloc or printf."""
        known = self.cubin.kernels.get(self.sass.name)
        return known is None or bool(known.externs)

    def observed(self, watch: Watch | bool = True) -> engine.Program:
        """The program that tells an observer what it does, all of it or what a watch names."""
        if watch not in self._watched:
            self._watched[watch] = engine.prepare(self.sass, self.cubin, observe=watch)
        return self._watched[watch]

    @cached_property
    def stepped(self) -> engine.Program:
        """The program that shows every instruction to an observer."""
        return engine.prepare(self.sass, self.cubin, observe=True, single=True)

    @cached_property
    def interleaved(self) -> engine.Program:
        """The program whose warps can be stopped after every instruction."""
        program = engine.prepare(self.sass, self.cubin, single=True)
        program.is_fast = True  # the fast code has no such places
        return program

    def clustered(self, shape: tuple[int, int, int]) -> KernelCode:
        """The kernel launched in clusters of so many blocks along x, y, z."""
        if shape == self.sass.cluster_shape:
            return self
        if shape not in self._clustered:
            self._clustered[shape] = KernelCode(
                self.image, replace(self.sass, cluster=shape), is_plain=self._is_plain
            )
        return self._clustered[shape]

    def recompiled(self, options: Sequence[str]) -> KernelCode:
        """The kernel compiled from its source with further options; without a source, its PTX
        assembled without optimisation."""
        key = tuple(options) if self.has_source else ()
        if key not in self._recompiled:
            image = self.image.recompiled(key) if self.has_source else self.image.reassembled()
            other = KernelCode(image, image.kernels[self.sass.name], is_plain=False)
            self._recompiled[key] = other.clustered(self.sass.cluster_shape)
        return self._recompiled[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """Grid, block and dynamic shared memory of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutableLaunch:
    """A launch that can be run, as often as wanted.

    Attributes:
        code: the kernel and its programs.
        memory: the device memory with every array mapped.
        config: grid, block, parameter bytes, order and limits.
        gpu: the GPU that is simulated; clock_mhz: the SM clock for everything that is a time.
        image: the variables and constant banks, if not the module's own.
    """

    code: KernelCode
    memory: DeviceMemory
    config: LaunchConfig
    gpu: GpuSpec
    clock_mhz: float
    image: engine.ModuleImage | None = None

    @property
    def sass(self) -> SassKernel:
        """The kernel's machine code and resources."""
        return self.code.sass

    @property
    def variables(self) -> engine.ModuleImage:
        """The module's variables and constant banks."""
        return self.image or self.code.image.variables

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory of a block."""
        return self.sass.static_shared + self.config.dynamic_shared

    def with_config(self, config: LaunchConfig) -> ExecutableLaunch:
        """The same launch, run in another way."""
        return replace(self, config=config)

    def run(self, program: engine.Program | None = None) -> Execution:
        """Runs the grid to its end, by default with the kernel's ordinary program.

        Raises:
            ExecutionFault: the kernel did something illegal or met a limit.
        """
        if program is None:
            program = self.code.interleaved if self.config.interleave else self.code.program
        config = replace(self.config, is_blind=lambda: not self.code.depends_on_memory)
        return engine.execute(program, self.variables, self.memory, config)
