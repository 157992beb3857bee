"""Kernels and their launches: `kernel[grid, block](*arguments)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from warplens import config
from warplens.analysis.occupancy import Occupancy, occupancy_of_kernel
from warplens.analysis.sweep import Sweep, sweep
from warplens.analysis.transfers import copied_arrays
from warplens.arguments import Formal, dimensions, formals_of, pack
from warplens.errors import ArgumentError, InputError, LaunchError, Unsupported
from warplens.execute import grid as engine
from warplens.gpus.spec import GpuSpec
from warplens.launch import Launch
from warplens.naming import bare_name
from warplens.progress import Progress
from warplens.sass.model import SassKernel
from warplens.stepping import keep, step_warp
from warplens.timing.attach import predicted_execution, take

if TYPE_CHECKING:
    from warplens.module import Image, Module
    from warplens.sanitize.launching import Sanitizing


class Kernel:
    """One kernel, lifted and ready to launch: `kernel[grid, block](*arguments)`."""

    def __init__(self, module: Module, image: Image, sass: SassKernel, *, asked: str) -> None:
        self.module = module
        self.device = module.device
        self.sass = sass
        self.asked = asked  # the name by which the user asked for it
        self._image = image
        self._program = engine.prepare(sass, image.kernels.cubin)
        self._observed: engine.Program | None = None
        self._stepped: engine.Program | None = None
        self._clustered: dict[tuple[int, int, int], Kernel] = {}
        self.parameters: tuple[Formal, ...] = formals_of(sass.parameters, image.types(sass))

    @property
    def name(self) -> str:
        """The demangled signature."""
        return self.sass.demangled

    @property
    def registers(self) -> int:
        """Registers per thread."""
        return self.sass.registers

    @property
    def static_shared(self) -> int:
        """Declared shared memory of a block in bytes."""
        return self.sass.static_shared

    @property
    def local_bytes(self) -> int:
        """Local memory of a thread in bytes: spills and local arrays."""
        return self.sass.local_bytes

    @property
    def n_barriers(self) -> int:
        """Block barriers the code names."""
        return self.sass.n_barriers

    @property
    def max_threads(self) -> tuple[int, int, int] | None:
        """The launch bounds, if any."""
        return self.sass.max_threads

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        """The kernel with grid, block and, if given, stream, dynamic shared bytes and cluster."""
        parts = configuration if isinstance(configuration, tuple) else (configuration,)
        if not 2 <= len(parts) <= 5:
            raise InputError(
                "a launch is kernel[grid, block], [grid, block, stream], "
                "[grid, block, stream, shared_bytes] or "
                "[grid, block, stream, shared_bytes, cluster]"
            )
        if len(parts) == 5 and parts[4] is not None:
            return self.clustered(parts[4])[parts[:4]]
        stream = parts[2] if len(parts) > 2 else 0
        shared = parts[3] if len(parts) > 3 else 0
        shape = LaunchShape(
            grid=dimensions("grid", parts[0]),
            block=dimensions("block", parts[1]),
            dynamic_shared=_shared_bytes(shared),
        )
        check_launch(self.sass, self.device.gpu, shape)
        return ConfiguredKernel(self, shape, stream)

    def clustered(self, cluster: int | tuple[int, ...]) -> Kernel:
        """The kernel launched in clusters of so many blocks, chosen at launch.

        Raises:
            LaunchError: the GPU has no clusters, or the kernel was compiled for other ones.
        """
        shape = dimensions("cluster", cluster)
        gpu, fixed = self.device.gpu, self.sass.cluster
        if fixed is not None and self.sass.cluster_shape != shape:
            raise LaunchError(
                f"{self.name} was compiled with __cluster_dims__{self.sass.cluster_shape} and "
                f"cannot be launched in clusters of {shape}"
            )
        if min(shape) < 1:
            raise LaunchError(f"cluster {shape} is not one to three positive sizes")
        if gpu.cluster_blocks_max == 1 and prod(shape) > 1:
            raise LaunchError(
                f"{gpu.name} has no thread block clusters",
                hint="They came with compute capability 9.0.",
            )
        if fixed is not None or prod(shape) == 1:
            return self
        if shape not in self._clustered:
            sass = replace(self.sass, cluster=shape)
            self._clustered[shape] = Kernel(self.module, self._image, sass, asked=self.asked)
        return self._clustered[shape]

    @property
    def predict(self) -> Predictor:
        """`kernel.predict[grid, block](*arguments)`: time from sampled blocks only.

        Only a few blocks run, and what they write is taken back: the outputs are not meaningful.
        Counts are the sample's, scaled to the grid.
        """
        return Predictor(self)

    @property
    def memory_image(self) -> engine.ModuleImage:
        """The module's variables and constant banks."""
        return self._image.memory_image

    def observed_program(self) -> engine.Program:
        """The program that tells an observer what it does; made when first needed."""
        if self._observed is None:
            self._observed = engine.prepare(self.sass, self._image.kernels.cubin, observe=True)
        return self._observed

    def stepped_program(self) -> engine.Program:
        """The program that shows every instruction to an observer; made when first needed."""
        if self._stepped is None:
            cubin = self._image.kernels.cubin
            self._stepped = engine.prepare(self.sass, cubin, observe=True, single=True)
        return self._stepped

    def __call__(self, *arguments: Any) -> Launch:
        raise LaunchError(
            f"{self.name} needs a grid and a block", hint="kernel[grid, block](*arguments)"
        )

    def occupancy(
        self,
        block: int | tuple[int, ...],
        dynamic_shared: int = 0,
        *,
        carveout: int | None = None,
        cluster: int | None = None,
    ) -> Occupancy:
        """The theoretical occupancy for a block shape; `.occupancy` of it is a fraction."""
        return occupancy_of_kernel(
            self.sass, self.device.gpu, block, dynamic_shared, carveout=carveout, cluster=cluster
        )

    def sweep(
        self,
        *,
        maxrregcount: Sequence[int | None] = (None,),
        block: Sequence[int | tuple[int, ...]] = (256,),
        dynamic_shared: int = 0,
    ) -> Sweep:
        """Recompiles with register caps; registers, spills and occupancy of every variant."""
        unit = self.module.unit
        if unit is None:
            raise Unsupported(
                f"{self.name} comes from a cubin; a sweep needs the source to recompile",
                hint="Make the module with Device.compile.",
            )

        def variant(cap: int | None) -> SassKernel:
            extra = () if cap is None else (f"-maxrregcount={cap}",)
            return self.device.recompiled(unit, extra).sass(self.asked)

        return sweep(
            variant,
            self.device.gpu,
            maxrregcount=maxrregcount,
            block=block,
            dynamic_shared=dynamic_shared,
        )

    @property
    def sanitize(self) -> Sanitizing:
        """`kernel.sanitize[grid, block](*arguments)`: the launch under the sanitizers."""
        from warplens.sanitize.launching import Sanitizing

        return Sanitizing(self)

    def _run(self, shape: LaunchShape, stream: Any, arguments: tuple[Any, ...],
             predict: bool = False) -> Launch:  # fmt: skip
        formals, memory = self.parameters, self.device.memory
        if len(arguments) != len(formals):
            raise ArgumentError(
                f"{self.name} takes {len(formals)} arguments, {len(arguments)} were given"
            )
        if not predict:
            config.check_launch(self, shape, arguments)
        options = self.device.options
        bar = Progress(bare_name(self.name), shown=options.show_progress)
        kept = keep(arguments)
        packed = pack(memory, formals, self.sass.parameter_bytes, arguments)
        finished = False
        config_of_launch = engine.LaunchConfig(
            grid=shape.grid,
            block=shape.block,
            dynamic_shared=shape.dynamic_shared,
            params=packed.parameters,
            deterministic=options.deterministic,
            workers=options.workers,
            max_steps=options.max_steps,
            max_seconds=options.max_seconds,
            max_resident=max(1, self._resident_blocks(shape)),
            sm_count=self.device.gpu.sm_count,
            progress=options.progress or bar,
        )
        timing = None
        try:
            if options.timing or predict:
                timing = take(
                    self, shape, config_of_launch, scheduler=options.scheduler,
                    exact=options.exact_timing, carveout=options.carveout,
                    sampling_over_time=options.pm_sampling,
                )  # fmt: skip
            if predict:
                execution = predicted_execution(self.name, timing)
            else:
                execution = engine.execute(
                    self._program, self._image.memory_image, memory, config_of_launch
                )
            finished = not predict
        finally:
            bar.close()
            packed.finish(memory, write_back=finished)
        unit = self.module.unit
        launch = Launch(
            execution,
            self.device.gpu,
            clock_mhz=self.device.clock_mhz,
            function_name=bare_name(self.name),
            texts={} if unit is None else {unit.name: unit.text},
            timing=timing,
            predicted=predict,
            stepper=partial(step_warp, self, shape, kept),
            copied=copied_arrays(formals, arguments),
            carveout=options.carveout,
        )
        config.announce(launch)
        return launch

    def _resident_blocks(self, shape: LaunchShape) -> int:
        """Blocks that the whole GPU holds at once."""
        carveout = self.device.options.carveout
        occupancy = self.occupancy(shape.block, shape.dynamic_shared, carveout=carveout)
        return int(occupancy.blocks) * self.device.gpu.sm_count

    def _repr_html_(self) -> str:
        from warplens.report.jupyter import facts_html

        return facts_html(
            self.name,
            (
                ("GPU", f"{self.device.name} (sm_{self.sass.sm})"),
                ("registers per thread", self.registers),
                ("static shared memory", f"{self.static_shared:,} byte"),
                ("local memory per thread", f"{self.local_bytes:,} byte"),
                ("instructions", f"{len(self.sass.instructions):,}"),
                ("parameters", ", ".join(p.spelled or f"{p.size} byte" for p in self.parameters)),
            ),
        )

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, sm_{self.sass.sm}, {self.registers} registers)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """Grid, block and dynamic shared memory of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int


class ConfiguredKernel:
    """A kernel with its launch shape; call it with the arguments."""

    def __init__(self, kernel: Kernel, shape: LaunchShape, stream: Any) -> None:
        self.kernel = kernel
        self.shape = shape
        self.stream = stream

    def __call__(self, *arguments: Any) -> Launch:
        """Runs the kernel and gives its counters."""
        return self.kernel._run(self.shape, self.stream, arguments)


class Predictor:
    """`kernel.predict`: takes grid and block like the kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __getitem__(self, configuration: Any) -> PredictedKernel:
        """The kernel with its grid and block."""
        configured = self._kernel[configuration]
        return PredictedKernel(configured.kernel, configured.shape, configured.stream)


class PredictedKernel(ConfiguredKernel):
    """A kernel with its launch shape whose call runs sampled blocks only."""

    def __call__(self, *arguments: Any) -> Launch:
        """Predicts time and counts; arrays are left as they were."""
        return self.kernel._run(self.shape, self.stream, arguments, predict=True)


def _shared_bytes(value: Any) -> int:
    try:
        number = int(value)
        exact = number == value
    except (TypeError, ValueError):
        exact = False
    if not exact or number < 0:
        raise LaunchError(f"dynamic shared memory {value!r} is not a number of bytes")
    return number


def check_launch(kernel: SassKernel, gpu: GpuSpec, shape: LaunchShape) -> None:
    """Refuses what the GPU would refuse, naming the limit.

    Raises:
        LaunchError: a dimension, the threads, the registers or the shared memory are too many, or
            the kernel's launch bounds or cluster do not allow the shape.
    """
    _check_dimensions(gpu, shape)
    threads = prod(shape.block)
    if threads > gpu.max_threads_per_block:
        raise LaunchError(
            f"{kernel.demangled}: {threads} threads in a block; {gpu.name} allows "
            f"{gpu.max_threads_per_block}"
        )
    _check_bounds(kernel, gpu, shape, threads)
    shared = kernel.static_shared + shape.dynamic_shared
    most = gpu.shared_per_block_optin_bytes
    if shared > most:
        raise LaunchError(
            f"{kernel.demangled}: a block asks for {shared} bytes of shared memory "
            f"({kernel.static_shared} static, {shape.dynamic_shared} dynamic); {gpu.name} allows "
            f"{most}"
        )
    fits = occupancy_of_kernel(kernel, gpu, shape.block, shape.dynamic_shared).blocks
    if fits == 0:
        raise LaunchError(
            f"{kernel.demangled}: a block of {threads} threads with {kernel.registers} registers "
            f"each does not fit on an SM of {gpu.name} ({gpu.registers_per_block} registers)",
            hint="Use a smaller block, or compile with -maxrregcount or __launch_bounds__.",
        )


def _check_dimensions(gpu: GpuSpec, shape: LaunchShape) -> None:
    grids = (gpu.max_grid_x, gpu.max_grid_y, gpu.max_grid_z)
    blocks = (gpu.max_block_x, gpu.max_block_y, gpu.max_block_z)
    for name, sizes, limits in (("grid", shape.grid, grids), ("block", shape.block, blocks)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if not 1 <= size <= limit:
                raise LaunchError(
                    f"{name} {axis} = {size} is outside 1 to {limit}, the limits of {gpu.name}"
                )


def _check_bounds(
    kernel: SassKernel, gpu: GpuSpec, shape: LaunchShape, threads: int
) -> None:
    if kernel.required_threads is not None and shape.block != kernel.required_threads:
        raise LaunchError(
            f"{kernel.demangled} must be launched with blocks of {kernel.required_threads}, "
            f"not {shape.block}"
        )
    if kernel.max_threads is not None and threads > prod(kernel.max_threads):
        raise LaunchError(
            f"{kernel.demangled}: {threads} threads exceed its launch bounds of "
            f"{prod(kernel.max_threads)}",
            hint="Raise __launch_bounds__ or choose a smaller block.",
        )
    if kernel.cluster is not None:
        most = gpu.cluster_blocks_max
        if kernel.cluster_blocks > most:
            raise LaunchError(
                f"{kernel.demangled}: clusters of {kernel.cluster_blocks} blocks; {gpu.name} "
                f"allows {most}"
            )
        for axis, blocks, per_cluster in zip("xyz", shape.grid, kernel.cluster_shape, strict=True):
            if blocks % per_cluster:
                raise LaunchError(
                    f"{kernel.demangled}: grid {axis} = {blocks} is not a multiple of its "
                    f"cluster's {per_cluster}"
                )
