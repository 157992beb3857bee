"""The occupancy rules of each compute capability as small look-up tables.

The number of blocks that an SM can hold depends on few distinct quantities: registers per thread,
warps per block and shared-memory units per block. Every limit is therefore computed once per
capability for all values these can take; a point is then a handful of table look-ups, which is what
makes ten million points a matter of a second. The rules are those of NVIDIA's `cuda_occupancy.h`,
against which the tests compare every field.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.gpus.spec import GpuSpec, read_gpu_file

Ints = npt.NDArray[np.int32]

NO_LIMIT = 2**31 - 1
MAX_TABLE_WARPS = 40  # a little above 32, so that a block that is too large is answered as well
MAX_TABLE_REGISTERS = 260

FLAG_WARPS, FLAG_REGISTERS, FLAG_SHARED, FLAG_BLOCKS, FLAG_BARRIERS, FLAG_VIRTUAL = (
    1 << bit for bit in range(6)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the occupancy of one compute capability depends on."""

    name: str
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_warps_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    registers_per_thread: int = 256  # the ceiling of the rule; instructions can name 255
    register_unit: int = 256
    sub_partitions: int = 4
    family_sub_partitions: int = 4  # a block must also fit an SM of the family with this many
    shared_per_sm: int
    shared_per_block: int = 49152
    shared_per_block_optin: int
    shared_reserved: int
    shared_unit: int
    carveouts: tuple[int, ...]  # bytes
    barrier_factor: int
    virtual_resources: int
    raises_to_largest: bool = False  # a carve-out too small for one block becomes the largest


def rules_of(spec: GpuSpec) -> Rules:
    """The occupancy rules of a GPU."""
    return Rules(
        name=f"sm_{spec.sm}",
        warp_size=spec.warp_size,
        max_threads_per_block=spec.max_threads_per_block,
        max_warps_per_sm=spec.max_warps_per_sm,
        max_blocks_per_sm=spec.max_blocks_per_sm,
        registers_per_sm=spec.registers_per_sm,
        registers_per_block=spec.registers_per_block,
        register_unit=spec.register_unit,
        sub_partitions=spec.sub_partitions,
        shared_per_sm=spec.shared_per_sm_bytes,
        shared_per_block=spec.shared_per_block_bytes,
        shared_per_block_optin=spec.shared_per_block_optin_bytes,
        shared_reserved=spec.shared_reserved_bytes,
        shared_unit=spec.shared_unit_bytes,
        carveouts=tuple(kb * 1024 for kb in spec.carveouts_kb),
        barrier_factor=spec.barrier_factor,
        virtual_resources=spec.virtual_resources_per_sm,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Block limits by registers and warps, by warps, and by carve-out and shared units."""

    registers: Ints  # flat [registers, warps]
    registers_per_warp: Ints  # [registers]
    warps: Ints  # [warps]
    shared: Ints  # flat [carve-out index, units]
    shared_units: int  # length of one row of `shared`


@functools.lru_cache(maxsize=64)
def tables_of(rules: Rules) -> Tables:
    """The look-up tables of a capability, built once."""
    shared, units = _shared_limits(rules)
    per_warp, registers = _register_limits(rules)
    return Tables(
        registers=registers,
        registers_per_warp=per_warp,
        warps=_warp_limits(rules),
        shared=shared,
        shared_units=units,
    )


def _register_limits(rules: Rules) -> tuple[Ints, Ints]:
    count = np.arange(MAX_TABLE_REGISTERS + 1)[:, None]
    warps = np.maximum(np.arange(MAX_TABLE_WARPS + 1), 1)[None, :]
    per_warp = -(-count * rules.warp_size // rules.register_unit) * rules.register_unit
    limit = _blocks_by_registers(rules, per_warp, warps, rules.sub_partitions)
    family = _blocks_by_registers(rules, per_warp, warps, rules.family_sub_partitions)
    limit = np.where((family == 0) | (count > rules.registers_per_thread), 0, limit)
    return per_warp.ravel().astype(np.int32), limit.ravel().astype(np.int32)


def _blocks_by_registers(
    rules: Rules, per_warp: npt.NDArray[np.int64], warps: npt.NDArray[np.int64], partitions: int
) -> npt.NDArray[np.int64]:
    # Registers live in the sub-partitions; what one cannot use, another cannot either.
    per_partition = rules.registers_per_sm // partitions // np.maximum(per_warp, 1)
    limit = np.where(per_warp == 0, NO_LIMIT, per_partition * partitions // warps)
    # The launch check charges a block for whole rows of sub-partitions: 9 warps as 12.
    charged = -(-warps // partitions) * partitions
    return np.where(per_warp * charged > rules.registers_per_block, 0, limit)


def _warp_limits(rules: Rules) -> Ints:
    warps = np.maximum(np.arange(MAX_TABLE_WARPS + 1), 1)
    limit = rules.max_warps_per_sm // warps
    return np.where(
        warps * rules.warp_size > rules.max_threads_per_block + rules.warp_size - 1, 0, limit
    ).astype(np.int32)


def _shared_limits(rules: Rules) -> tuple[Ints, int]:
    sizes = np.array(rules.carveouts)
    # One unit beyond the largest block, where the limit is 0, stands for everything larger.
    cap = rules.shared_per_block_optin + rules.shared_reserved
    units = max(cap, rules.carveouts[-1]) // rules.shared_unit + 2
    allocated = np.arange(units) * rules.shared_unit
    # A carve-out too small for one block is raised to the smallest that holds one, never further.
    raised = sizes[np.minimum(np.searchsorted(sizes, allocated), len(sizes) - 1)]
    if rules.raises_to_largest:
        raised = np.full_like(raised, sizes[-1])
    pool = np.where(sizes[:, None] >= allocated, sizes[:, None], raised[None, :])
    limit = np.where(allocated > 0, pool // np.maximum(allocated, 1), NO_LIMIT)
    limit = np.where(allocated > cap, 0, limit)
    return limit.ravel().astype(np.int32), units


CACHE_PREFERENCES = {"none": 0, "shared": 1, "l1": 2, "equal": 3}
_CACHE_PERCENT = np.array([-1, 100, 0, 50])  # what a cache preference means from 7.0 on


def carveout_index(
    rules: Rules,
    percent: npt.NDArray[np.int64] | int = -1,
    cache: npt.NDArray[np.int64] | int = 0,
) -> Ints | int:
    """Which carve-out setting a preference chooses.

    Args:
        percent: 0 to 100 % of the largest, rounded up to a setting; -1 leaves it to `cache`.
        cache: a number of `CACHE_PREFERENCES`; "none" asks for all shared memory.
    """
    last = len(rules.carveouts) - 1
    if rules.raises_to_largest:  # three settings, chosen by the cache preference alone
        chosen = np.array([last, last, 0, 1]).take(cache)
    else:
        wish = np.where(np.asarray(percent) == -1, _CACHE_PERCENT.take(cache), percent)
        wanted = np.where(wish < 0, rules.shared_per_sm, wish * rules.shared_per_sm // 100)
        chosen = np.minimum(np.searchsorted(np.array(rules.carveouts), wanted), last)
    return int(chosen) if chosen.ndim == 0 else chosen.astype(np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The inputs of a set of points; each a scalar or an int32 array of one common shape."""

    threads: Ints | int
    registers: Ints | int
    static_shared: Ints | int
    dynamic_shared: Ints | int
    carveout: Ints | int  # index of the setting, see `carveout_index`
    barriers: Ints | int = 1
    virtual_resources: Ints | int = 0
    optin: npt.NDArray[np.bool_] | bool = True
    max_dynamic: Ints | int | None = None  # None: as much as `dynamic_shared`


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The answer for a set of points, one entry per point."""

    blocks: Ints
    registers: Ints
    shared: Ints
    warps: Ints
    slots: Ints
    barriers: Ints
    virtual: Ints
    flags: Ints  # the flag word as the header composes it
    allocated_registers: Ints
    allocated_shared: Ints
    warps_per_block: Ints


def block_limits(rules: Rules, points: Points) -> Limits:
    """Every limit on the number of blocks per SM, for scalars or arrays of inputs."""
    table = tables_of(rules)
    threads = np.asarray(points.threads, np.int32)
    registers = np.asarray(points.registers, np.int32)
    warps = (threads + np.int32(rules.warp_size - 1)) // np.int32(rules.warp_size)
    row = np.minimum(registers, MAX_TABLE_REGISTERS)
    column = np.minimum(warps, MAX_TABLE_WARPS)
    by_registers = table.registers.take(row * np.int32(MAX_TABLE_WARPS + 1) + column)
    by_warps = table.warps.take(column)
    by_shared, allocated_shared = _shared_limit(rules, table, points)
    slots = np.int32(rules.max_blocks_per_sm)
    virtual = _divided(rules.virtual_resources, points.virtual_resources)
    blocks = np.minimum(np.minimum(by_registers, by_warps), np.minimum(by_shared, slots))
    if virtual is not None:
        blocks = np.minimum(blocks, virtual)
    flags = _flags(blocks, by_warps, by_registers, by_shared, slots, virtual)
    barriers = _divided(rules.barrier_factor * rules.max_blocks_per_sm, points.barriers)
    if barriers is not None:
        # The header keeps the flags found so far even if barriers bind more tightly.
        blocks = np.minimum(blocks, barriers)
        flags = flags | (blocks == barriers) * np.int32(FLAG_BARRIERS)
    return Limits(
        blocks=blocks,
        registers=by_registers,
        shared=by_shared,
        warps=by_warps,
        slots=np.asarray(slots),
        barriers=np.asarray(NO_LIMIT, np.int32) if barriers is None else barriers,
        virtual=np.asarray(NO_LIMIT, np.int32) if virtual is None else virtual,
        flags=flags,
        allocated_registers=table.registers_per_warp.take(row) * warps,
        allocated_shared=allocated_shared,
        warps_per_block=warps,
    )


def _shared_limit(rules: Rules, table: Tables, points: Points) -> tuple[Ints, Ints]:
    unit = np.int32(rules.shared_unit)
    fixed = np.asarray(points.static_shared, np.int32) + np.int32(rules.shared_reserved)
    dynamic = np.asarray(points.dynamic_shared, np.int32)
    used = (fixed + dynamic + (unit - np.int32(1))) // unit
    cell = np.minimum(used, np.int32(table.shared_units - 1))
    cell = cell + np.asarray(points.carveout, np.int32) * np.int32(table.shared_units)
    limit = table.shared.take(cell)
    allocated = used * unit
    if points.max_dynamic is None and points.optin is True:
        return limit, allocated
    most = dynamic if points.max_dynamic is None else np.asarray(points.max_dynamic, np.int32)
    raised = np.asarray(points.optin) & (fixed + most > rules.shared_per_block)
    # The reserved part does not count against the block's cap where there is one (8.0 and later).
    cap = np.where(raised, rules.shared_per_block_optin, rules.shared_per_block)
    refused = (allocated > cap + rules.shared_reserved) | (
        np.asarray(points.optin) & (dynamic > most)
    )
    return np.where(refused, np.int32(0), limit).astype(np.int32), allocated


def _divided(available: int, needed: Ints | int) -> Ints | None:
    """How many blocks a per-SM supply serves, or None if nothing is limited."""
    wanted = np.asarray(needed, np.int32)
    if available == 0 or not wanted.any():
        return None
    blocks = np.int32(available) // np.maximum(wanted, np.int32(1))
    return np.where(wanted > 0, blocks, np.int32(NO_LIMIT)).astype(np.int32)


def _flags(
    blocks: Ints,
    warps: Ints,
    registers: Ints,
    shared: Ints,
    slots: np.int32,
    virtual: Ints | None,
) -> Ints:
    flags: Ints = (blocks == warps) * np.int32(FLAG_WARPS)
    flags = flags | (blocks == registers) * np.int32(FLAG_REGISTERS)
    flags = flags | (blocks == shared) * np.int32(FLAG_SHARED)
    flags = flags | (blocks == slots) * np.int32(FLAG_BLOCKS)
    if virtual is not None:
        flags = flags | (blocks == virtual) * np.int32(FLAG_VIRTUAL)
    return flags


@functools.cache
def _other_capabilities() -> dict[str, Rules]:
    """Capabilities that have occupancy rules but no GPU file."""
    _, numbers = read_gpu_file("other_capabilities")
    rows: dict[str, dict[str, Any]] = {}
    for key, entry in numbers.items():
        name, _, field = key.partition(".")
        rows.setdefault(name, {})[field] = entry.value
    found = {}
    for name, row in rows.items():
        row["carveouts"] = tuple(kb * 1024 for kb in row.pop("carveouts_kb"))
        row["raises_to_largest"] = bool(row.get("raises_to_largest", 0))
        found[name] = Rules(name=name, **row)
    return found


def capability_rules(name: str) -> Rules | None:
    """The rules of a capability without GPU file ("sm_61", "6.1"), or None."""
    digits = name.casefold().strip().removeprefix("sm_").removeprefix("sm").replace(".", "")
    return _other_capabilities().get(f"sm_{digits}")


def other_capabilities() -> tuple[str, ...]:
    """The names that `capability_rules` knows."""
    return tuple(_other_capabilities())
