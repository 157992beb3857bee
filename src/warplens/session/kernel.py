"""Kernels: facts, occupancy, and the ways to launch one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

from warplens.errors import InputError, LaunchError, Unsupported
from warplens.execute.executable import KernelCode, LaunchShape
from warplens.occupancy_calculator.occupancy import Occupancy, occupancy_of_kernel
from warplens.occupancy_calculator.sweep import Sweep, sweep
from warplens.result.notebook import facts_html
from warplens.sass.model import SassKernel
from warplens.session.arguments import Formal, dimensions, formals_of
from warplens.session.configured import ConfiguredKernel, Predictor, Sanitizing
from warplens.session.limits import check_launch, shared_bytes
from warplens.session.sweeping import prepare
from warplens.session.target import Target


class Kernel:
    """One kernel, lifted and ready to launch: `kernel[grid, block](*arguments)`."""

    def __init__(self, device: Target, code: KernelCode) -> None:
        self.device = device
        self.sass = code.sass
        self._code = code
        self.parameters: tuple[Formal, ...] = formals_of(
            code.sass.parameters, code.image.types(code.sass)
        )

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

    @property
    def code(self) -> KernelCode:
        """The kernel's machine code and the programs made of it."""
        return self._code

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
        shape = LaunchShape(
            grid=self._blocks(dimensions("grid", parts[0])),
            block=dimensions("block", parts[1]),
            dynamic_shared=shared_bytes(parts[3] if len(parts) > 3 else 0),
        )
        check_launch(self.sass, self.device.gpu, shape)
        stream = parts[2] if len(parts) > 2 else 0
        return ConfiguredKernel(self.device, self._code, self.parameters, shape, stream)

    def _blocks(self, grid: tuple[int, int, int]) -> tuple[int, int, int]:
        """The grid in blocks, which a launch may name in clusters."""
        if not self.sass.blocks_are_clusters:
            return grid
        x, y, z = (n * m for n, m in zip(grid, self.sass.cluster_shape, strict=True))
        return x, y, z

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
                f"cannot be launched with clusters of {shape}"
            )
        if min(shape) < 1:
            raise LaunchError(f"cluster {shape} is not one to three positive integers")
        if gpu.cluster_blocks_max == 1 and prod(shape) > 1:
            raise LaunchError(
                f"{gpu.name} has no thread block clusters",
                hint="They need compute capability 9.0 or higher.",
            )
        if fixed is not None or prod(shape) == 1:
            return self
        return Kernel(self.device, self._code.clustered(shape))

    @property
    def predict(self) -> Predictor:
        """`kernel.predict[grid, block](*arguments)`: time from sampled blocks only.

        Only a few blocks run, and what they write is taken back: the outputs are not meaningful.
        Counts are the sample's, scaled to the grid.
        """
        return Predictor(self.__getitem__)

    @property
    def sanitize(self) -> Sanitizing:
        """`kernel.sanitize[grid, block](*arguments)`: the launch under the sanitizers."""
        return Sanitizing(self.__getitem__)

    def __call__(self, *arguments: Any) -> NoReturn:
        raise LaunchError(
            f"{self.name} needs a grid and a block size", hint="Launch it as kernel[grid, "
                "block](*arguments)."
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
        processes: int | None = 1,
        scheduler: str | None = None,
    ) -> Sweep:
        """Recompiles with register caps; registers, spills and occupancy of every variant.

        Args:
            processes: that compile (None: one for each core); scheduler: a Dask address, or
                "local", instead.
        """
        if not self._code.has_source:
            raise Unsupported(
                f"{self.name} was loaded from a cubin; a sweep recompiles and needs the source",
                hint="Compile the module with Device.compile.",
            )

        def options(cap: int | None) -> tuple[str, ...]:
            return () if cap is None else (f"-maxrregcount={cap}",)

        def variant(cap: int | None) -> SassKernel:
            return self._code.image.recompiled(options(cap)).kernels[self.sass.name]

        variants = [self._code.image.variant(options(cap)) for cap in maxrregcount]
        prepare(variants, processes=processes, scheduler=scheduler)

        return sweep(
            variant,
            self.device.gpu,
            maxrregcount=maxrregcount,
            block=block,
            dynamic_shared=dynamic_shared,
        )

    def _repr_html_(self) -> str:
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
