"""Theoretical occupancy: how many blocks and warps an SM can hold, and what limits them.

Scalars give Python numbers, arrays give arrays of the broadcast shape:

>>> r = occupancy("H100", threads=256, registers=40, static_shared=8192)
>>> r.blocks, r.warps, r.occupancy, r.limiters
(6, 48, 0.75, ('registers',))
>>> occupancy("A100", threads=512, registers=[31, 33]).occupancy.tolist()
[1.0, 0.75]
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError, LaunchError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.clusters import ClusterOccupancy, cluster_occupancy
from warplens.occupancy_calculator.inputs import (
    IntLike,
    cache_number,
    check_inputs,
    whole_numbers,
)
from warplens.occupancy_calculator.rules import (
    FLAG_BARRIERS,
    FLAG_BLOCKS,
    FLAG_REGISTERS,
    FLAG_SHARED,
    FLAG_VIRTUAL,
    FLAG_WARPS,
    NO_LIMIT,
    Limits,
    Points,
    Rules,
    block_limits,
    capability_rules,
    carveout_index,
    rules_of,
)
from warplens.result.notebook import facts_html

Numbers = Any  # a Python number for scalar input, an array otherwise

LIMITERS = {
    "registers": FLAG_REGISTERS,
    "shared": FLAG_SHARED,
    "warps": FLAG_WARPS,
    "blocks": FLAG_BLOCKS,
    "barriers": FLAG_BARRIERS,
    "virtual": FLAG_VIRTUAL,
}
_CHUNK = 1 << 15  # points at a time: the intermediate arrays stay in the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The answer for one point (Python numbers) or many (arrays of one shape).

    Attributes:
        blocks, warps: what one SM holds at the same time; 0 if not even one block fits.
        occupancy: warps as a fraction of the warps an SM can hold.
        limit_*: blocks per SM that this resource alone would allow; NO_LIMIT if it does not count.
        limiters: the names of the limits that bind; "cluster" if clusters cannot fill the GPU.
        header_flags: the flag word that `cuda_occupancy.h` returns, quirks included.
        allocated_registers, allocated_shared: what one block is charged, after rounding.
        cluster: how many clusters the GPU holds (a model), if a cluster size was given.
    """

    gpu: str
    threads: Numbers
    registers: Numbers
    static_shared: Numbers
    dynamic_shared: Numbers
    blocks: Numbers
    warps: Numbers
    occupancy: Numbers
    warps_per_block: Numbers
    limit_registers: Numbers
    limit_shared: Numbers
    limit_warps: Numbers
    limit_blocks: Numbers
    limit_barriers: Numbers
    limit_virtual: Numbers
    header_flags: Numbers
    allocated_registers: Numbers
    allocated_shared: Numbers
    max_warps: int
    cluster: ClusterOccupancy | None = None

    def _repr_html_(self) -> str:
        names = ("threads", "registers", "static_shared", "dynamic_shared", "blocks", "warps",
                 "occupancy", "limiters", "limit_registers", "limit_shared", "limit_warps",
                 "limit_blocks")  # fmt: skip
        rows = [(name.replace("_", " "), getattr(self, name)) for name in names]
        return facts_html(f"Occupancy on {self.gpu}", rows)

    @property
    def limiter_flags(self) -> Numbers:
        """The bits of `LIMITERS` whose limit equals the number of blocks."""
        pairs = (
            (self.limit_registers, FLAG_REGISTERS),
            (self.limit_shared, FLAG_SHARED),
            (self.limit_warps, FLAG_WARPS),
            (self.limit_blocks, FLAG_BLOCKS),
            (self.limit_barriers, FLAG_BARRIERS),
            (self.limit_virtual, FLAG_VIRTUAL),
        )
        return sum((limit == self.blocks) * flag for limit, flag in pairs)

    @property
    def limiters(self) -> Numbers:
        """The names of the limits that bind: a tuple, or an object array of tuples."""
        if isinstance(self.blocks, int):
            names = _names_of(int(self.limiter_flags))
            binds = self.cluster is not None and self.cluster.binds
            return (*names, "cluster") if binds else names
        table = np.empty(1 << len(LIMITERS), object)
        for word in range(table.size):
            table[word] = _names_of(word)
        return table[self.limiter_flags]

    def to_dict(self) -> dict[str, Any]:
        """The answer with plain Python values, as the command's JSON shows it; None: no limit."""
        result: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "cluster":
                continue
            if isinstance(value, np.ndarray):
                result[name] = value.tolist()
            else:
                result[name] = None if value == NO_LIMIT else value
        limiters = self.limiters
        single = isinstance(limiters, tuple)
        result["limiters"] = list(limiters) if single else [list(x) for x in limiters.ravel()]
        if self.cluster is not None:
            result["cluster"] = self.cluster.to_dict()
        return result


def _names_of(word: int) -> tuple[str, ...]:
    return tuple(name for name, flag in LIMITERS.items() if word & flag)


def _resolve(gpu: str | GpuSpec) -> tuple[Rules, GpuSpec | None, str]:
    """The rules of a GPU; capabilities without a GPU file (Kepler to Pascal) have rules only."""
    rules = capability_rules(gpu) if isinstance(gpu, str) else None
    if rules is not None:
        return rules, None, rules.name
    spec = find_gpu(gpu)
    return rules_of(spec), spec, spec.name


def occupancy(
    gpu: str | GpuSpec,
    *,
    threads: IntLike,
    registers: IntLike,
    static_shared: IntLike = 0,
    dynamic_shared: IntLike = 0,
    carveout: IntLike | None = None,
    barriers: IntLike = 1,
    cluster: int | None = None,
    virtual_resources: IntLike = 0,
    optin: bool = True,
    cache_preference: str = "none",
) -> Occupancy:
    """Blocks, warps and occupancy per SM, for one configuration or arrays of them.

    Args:
        gpu: any name that `find_gpu` knows, or a capability such as "sm_61".
        threads: threads per block.
        registers: registers per thread, as the compiler reports them.
        static_shared, dynamic_shared: bytes per block, without what the system reserves.
        carveout: shared memory preference in percent of the largest; None leaves all of it.
        barriers: block barriers that the kernel uses (checked from capability 9.0).
        cluster: blocks per cluster; adds how many clusters fit on the GPU (a model).
        virtual_resources: of the header's resource of that name, checked from 10.0; normally 0.
        optin: shared memory above the default limit is allowed, as the runtime does after
            `cudaFuncSetAttribute(..., MaxDynamicSharedMemorySize, ...)`.
        cache_preference: "none", "shared", "l1" or "equal", where no carve-out is given.

    Raises:
        InputError: a value that no launch could have; the message names the limit.
        UnknownGpu: no such GPU.
    """
    rules, spec, name = _resolve(gpu)
    given = {
        "threads": threads,
        "registers": registers,
        "static_shared": static_shared,
        "dynamic_shared": dynamic_shared,
        "barriers": barriers,
        "virtual_resources": virtual_resources,
    }
    values = {key: whole_numbers(key, value) for key, value in given.items()}
    percent = None if carveout is None else whole_numbers("carveout", carveout)
    check_inputs(rules, name, values, percent, optin)
    cache = cache_number(cache_preference)
    values["carveout"] = np.asarray(
        carveout_index(rules, -1 if percent is None else percent, cache)
    )
    shape = np.broadcast_shapes(*(value.shape for value in values.values()))
    limits = _evaluate(rules, values, shape, optin)
    clusters = None
    if cluster is not None:
        if shape:
            raise InputError("cluster takes one configuration, not arrays of configurations")
        clusters = cluster_occupancy(spec, name, cluster, int(limits.blocks))
    return _answer(rules, name, values, limits, shape, clusters)


def _evaluate(
    rules: Rules, values: dict[str, npt.NDArray[np.int64]], shape: tuple[int, ...], optin: bool
) -> Limits:
    if not shape:
        scalars: dict[str, Any] = {key: int(value) for key, value in values.items()}
        return block_limits(rules, Points(optin=optin, **scalars))
    columns = {
        key: value.reshape(()) if value.size == 1 else np.broadcast_to(value, shape).reshape(-1)
        for key, value in values.items()
    }
    total = int(np.prod(shape))
    # What does not depend on the point is stored once and shown with the shape of the answer.
    inputs = {"slots": None, "barriers": "barriers", "virtual": "virtual_resources"}
    fixed = {name for name, key in inputs.items() if key is None or columns[key].ndim == 0}
    out = {name: np.empty(1 if name in fixed else total, np.int32) for name in Limits.__slots__}
    for start in range(0, total, _CHUNK):
        part = slice(start, start + _CHUNK)
        piece: dict[str, Any] = {
            key: column if column.ndim == 0 else column[part] for key, column in columns.items()
        }
        answer = block_limits(rules, Points(optin=optin, **piece))
        for name, array in out.items():
            array[slice(None) if name in fixed else part] = getattr(answer, name)
    shaped = {
        name: np.broadcast_to(array, shape) if name in fixed else array.reshape(shape)
        for name, array in out.items()
    }
    return Limits(**shaped)


def _answer(
    rules: Rules,
    name: str,
    values: dict[str, npt.NDArray[np.int64]],
    limits: Limits,
    shape: tuple[int, ...],
    clusters: ClusterOccupancy | None,
) -> Occupancy:
    def plain(value: Any) -> Numbers:
        return value if shape else int(value)

    def given(key: str) -> Numbers:
        return np.broadcast_to(values[key], shape) if shape else int(values[key])

    blocks = plain(limits.blocks)
    warps = blocks * plain(limits.warps_per_block)
    return Occupancy(
        gpu=name,
        threads=given("threads"),
        registers=given("registers"),
        static_shared=given("static_shared"),
        dynamic_shared=given("dynamic_shared"),
        blocks=blocks,
        warps=warps,
        occupancy=warps / rules.max_warps_per_sm,
        warps_per_block=plain(limits.warps_per_block),
        limit_registers=plain(limits.registers),
        limit_shared=plain(limits.shared),
        limit_warps=plain(limits.warps),
        limit_blocks=plain(limits.slots),
        limit_barriers=plain(limits.barriers),
        limit_virtual=plain(limits.virtual),
        header_flags=plain(limits.flags),
        allocated_registers=plain(limits.allocated_registers),
        allocated_shared=plain(limits.allocated_shared),
        max_warps=rules.max_warps_per_sm,
        cluster=clusters,
    )


def max_active_blocks(
    gpu: str | GpuSpec,
    *,
    threads: IntLike,
    registers: IntLike,
    static_shared: IntLike = 0,
    dynamic_shared: IntLike = 0,
    carveout: IntLike | None = None,
) -> Numbers:
    """Blocks per SM, as the runtime's query of that name answers.

    >>> max_active_blocks("H200", threads=128, registers=40)
    12
    """
    return occupancy(
        gpu,
        threads=threads,
        registers=registers,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        carveout=carveout,
    ).blocks


class KernelResources(Protocol):
    """What occupancy needs to know of a compiled kernel."""

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""

    @property
    def registers(self) -> int:
        """Registers per thread."""

    @property
    def static_shared(self) -> int:
        """Declared shared memory in bytes."""

    @property
    def n_barriers(self) -> int:
        """Block barriers the code names."""


def occupancy_of_kernel(
    kernel: KernelResources,
    gpu: str | GpuSpec,
    block: int | tuple[int, ...],
    dynamic_shared: int = 0,
    *,
    carveout: int | None = None,
    cluster: int | None = None,
) -> Occupancy:
    """The occupancy of a compiled kernel for one block shape.

    Raises:
        LaunchError: the block is larger than the kernel's launch bounds.
    """
    sides = tuple(block) if isinstance(block, Sequence) else (block,)
    if not 1 <= len(sides) <= 3 or any(side < 1 for side in sides):
        raise InputError(f"block {block!r} is not one to three positive integers")
    threads = int(np.prod(sides))
    bounds = getattr(kernel, "max_threads", None)
    if bounds is not None and threads > int(np.prod(bounds)):
        raise LaunchError(
            f"{kernel.name}: a block of {threads} threads exceeds its __launch_bounds__ of "
            f"{int(np.prod(bounds))} threads",
            hint="Raise __launch_bounds__ or choose a smaller block.",
        )
    return _of_numbers(
        gpu, threads, kernel.registers, kernel.static_shared, dynamic_shared, carveout,
        min(kernel.n_barriers, 16), cluster,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _of_numbers(
    gpu: str | GpuSpec, threads: int, registers: int, static_shared: int, dynamic_shared: int,
    carveout: int | None, barriers: int, cluster: int | None,
) -> Occupancy:  # fmt: skip
    """The same for every launch of a shape, most of which ask."""
    return occupancy(
        gpu, threads=threads, registers=registers, static_shared=static_shared,
        dynamic_shared=dynamic_shared, carveout=carveout, barriers=barriers, cluster=cluster,
    )  # fmt: skip


__all__ = [
    "LIMITERS",
    "NO_LIMIT",
    "KernelResources",
    "Occupancy",
    "max_active_blocks",
    "occupancy",
    "occupancy_of_kernel",
]
