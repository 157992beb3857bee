"""GPU files: one TOML file per architecture and per product, every number with its source.

A product file says `extends = "sm_90"` and holds only what differs (counts, clocks, memory). Every
number is `{ value = ..., source = "..." }`; one without a source is refused with file and key.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from warplens.errors import InputError, UnknownGpu, WarplensError

Value = int | float | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value of a GPU file and where it comes from."""

    value: Value
    source: str


class GpuFileError(WarplensError):
    """A GPU file is malformed: a number without source, a missing or unknown key."""


def _key(key: str) -> Any:
    """A field of GpuSpec that is read from `key` of the TOML files."""
    return field(metadata={"key": key})


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One GPU: limits, counts, clocks and sizes as attributes, all else through `value(key)`."""

    name: str
    aliases: tuple[str, ...]
    sm: int
    compute_capability: str
    architecture: str
    chip: str
    memory_type: str
    notes: str
    is_architecture: bool

    sm_count: int = _key("counts.sm")
    base_clock_mhz: float = _key("clock.base_mhz")
    boost_clock_mhz: float = _key("clock.boost_mhz")
    memory_clock_mhz: float = _key("clock.memory_mhz")
    dram_bandwidth_bytes_per_second: int = _key("dram.bandwidth_bytes_per_second")
    dram_bus_bits: int = _key("dram.bus_bits")
    dram_size_bytes: int = _key("dram.size_bytes")
    l2_size_bytes: int = _key("l2.size_bytes")
    l2_read_bytes_per_cycle: int = _key("l2.read_bytes_per_cycle")
    l1_shared_size_bytes: int = _key("l1.size_bytes")
    l1_bytes_per_cycle: int = _key("l1.bytes_per_cycle")
    line_bytes: int = _key("l1.line_bytes")
    sector_bytes: int = _key("l1.sector_bytes")

    warp_size: int = _key("limits.warp_size")
    sub_partitions: int = _key("limits.sub_partitions")
    max_threads_per_block: int = _key("limits.max_threads_per_block")
    max_block_x: int = _key("limits.max_block_x")
    max_block_y: int = _key("limits.max_block_y")
    max_block_z: int = _key("limits.max_block_z")
    max_grid_x: int = _key("limits.max_grid_x")
    max_grid_y: int = _key("limits.max_grid_y")
    max_grid_z: int = _key("limits.max_grid_z")
    max_blocks_per_sm: int = _key("limits.max_blocks_per_sm")
    max_warps_per_sm: int = _key("limits.max_warps_per_sm")
    max_threads_per_sm: int = _key("limits.max_threads_per_sm")
    registers_per_sm: int = _key("limits.registers_per_sm")
    registers_per_block: int = _key("limits.registers_per_block")
    registers_per_thread: int = _key("limits.registers_per_thread")
    register_unit: int = _key("limits.register_unit")
    register_warp_rounding: int = _key("limits.register_warp_rounding")
    barriers_per_block: int = _key("limits.barriers_per_block")
    barrier_factor: int = _key("limits.barrier_factor")
    virtual_resources_per_sm: int = _key("limits.virtual_resources_per_sm")
    cluster_blocks_portable: int = _key("limits.cluster_blocks_portable")
    cluster_blocks_max: int = _key("limits.cluster_blocks_max")

    shared_per_sm_bytes: int = _key("shared.per_sm_bytes")
    shared_per_block_bytes: int = _key("shared.per_block_bytes")
    shared_per_block_optin_bytes: int = _key("shared.per_block_optin_bytes")
    shared_reserved_bytes: int = _key("shared.reserved_bytes")
    shared_unit_bytes: int = _key("shared.unit_bytes")
    carveouts_kb: tuple[int, ...] = _key("shared.carveouts_kb")
    shared_banks: int = _key("shared.banks")
    shared_bank_bytes: int = _key("shared.bank_bytes")
    shared_bytes_per_cycle: int = _key("shared.bytes_per_cycle")

    fp32_lanes: int = _key("lanes.fp32")
    int32_lanes: int = _key("lanes.int32")
    fp64_lanes: int = _key("lanes.fp64")
    sfu_lanes: int = _key("lanes.sfu")
    lsu_lanes: int = _key("lanes.lsu")
    tensor_cores: int = _key("lanes.tensor")

    numbers: Mapping[str, Sourced] = field(repr=False, hash=False)

    def has(self, key: str) -> bool:
        """Whether the GPU's files give `key`."""
        return key in self.numbers

    def value(self, key: str, default: Value | None = None) -> Any:
        """The value of `table.key`; a missing key is an error unless a default is given."""
        if key in self.numbers:
            return self.numbers[key].value
        if default is not None:
            return default
        raise self._unknown_key(key)

    def units(self, kind: str) -> int | None:
        """How many units of a kind the GPU has, as counters name them in front of `__`; None where
        that is not known."""
        counts = {
            "smsp": self.sm_count * self.sub_partitions, "sm": self.sm_count,
            "l1tex": self.sm_count, "idc": self.sm_count, "gpu": 1,
            "gpc": self.value("counts.gpc", 0), "lts": self.value("l2.slices", 0),
            "dram": self.value("dram.channels", 0),
        }  # fmt: skip
        return counts.get(kind) or None

    def source(self, key: str) -> str:
        """Where the value of `table.key` comes from."""
        if key not in self.numbers:
            raise self._unknown_key(key)
        return self.numbers[key].source

    def table(self, name: str) -> dict[str, Any]:
        """All values of one table, for example `table("latency")`, without their sources."""
        prefix = name + "."
        return {
            key[len(prefix) :]: entry.value
            for key, entry in self.numbers.items()
            if key.startswith(prefix)
        }

    @property
    def tensor_clock_mhz(self) -> float:
        """The SM clock that matrix instructions leave: the boost clock if no lower one is known."""
        return float(self.value("clock.tensor_mhz", self.boost_clock_mhz))

    @property
    def load_clock_mhz(self) -> float:
        """The most that the board's power leaves arithmetic: no limit if none is known."""
        return float(self.value("clock.load_mhz", float("inf")))

    def clock_mhz(self, clock: str | float = "base") -> float:
        """The SM clock in MHz for "base", "boost" or a number of MHz."""
        if clock == "base":
            return float(self.base_clock_mhz)
        if clock == "boost":
            return float(self.boost_clock_mhz)
        if isinstance(clock, str) or not 1 <= clock <= 10_000:
            raise InputError(
                f"clock {clock!r} is neither 'base' nor 'boost' nor a frequency of 1 to 10,000 MHz"
            )
        return float(clock)

    @property
    def peak_fp32_flops(self) -> float:
        """FP32 operations per second at boost clock, a fused multiply-add counted as two."""
        return 2.0 * self.fp32_lanes * self.sm_count * self.boost_clock_mhz * 1e6

    @property
    def peak_fp64_flops(self) -> float:
        """FP64 operations per second at boost clock, a fused multiply-add counted as two."""
        return 2.0 * self.fp64_lanes * self.sm_count * self.boost_clock_mhz * 1e6

    def _unknown_key(self, key: str) -> InputError:
        close = difflib.get_close_matches(key, self.numbers, n=3)
        return InputError(
            f"the files of {self.name} have no value {key!r}",
            hint=f"Did you mean {', '.join(close)}?" if close else None,
        )


_HEADER_KEYS = frozenset(
    {
        *("name", "kind", "aliases", "architecture", "compute_capability"),
        *("nominal", "extends", "chip", "memory_type", "notes"),
    }
)
_DROPPED_WORDS = re.compile(r"\b(nvidia|geforce|tesla|quadro)\b")


def _normal(name: str) -> str:
    """A name without case, blanks, punctuation and brand words, for comparison."""
    text = _DROPPED_WORDS.sub(" ", name.casefold().replace("_", " "))
    return re.sub(r"[^a-z0-9]+", "", text)


def parse_gpu_file(text: str, file: str) -> tuple[dict[str, Any], dict[str, Sourced]]:
    """Reads one GPU file into its header and its numbers by dotted key.

    Raises:
        GpuFileError: a number without a source or a malformed entry, naming file and key.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GpuFileError(f"{file} is not valid TOML: {error}") from error
    header: dict[str, Any] = {}
    numbers: dict[str, Sourced] = {}
    for name, entry in document.items():
        if isinstance(entry, dict):
            for key, item in entry.items():
                numbers[f"{name}.{key}"] = _sourced(item, f"{name}.{key}", file)
        elif name in _HEADER_KEYS:
            header[name] = entry
        else:
            raise GpuFileError(
                f"{file}: {name} is outside any table",
                hint="Write numbers as `key = { value = ..., source = '...' }` inside a table.",
            )
    return header, numbers


def _sourced(item: object, key: str, file: str) -> Sourced:
    if not isinstance(item, dict) or "value" not in item:
        raise GpuFileError(
            f"{file}: {key} has no source", hint="Write { value = ..., source = '...' }."
        )
    source = item.get("source")
    if not isinstance(source, str) or not source.strip():
        raise GpuFileError(f"{file}: {key} has no source")
    if set(item) != {"value", "source"}:
        raise GpuFileError(f"{file}: {key} has entries other than value and source")
    value = item["value"]
    if isinstance(value, list):
        value = tuple(value)
    parts = value if isinstance(value, tuple) else (value,)
    if not parts or any(isinstance(p, bool) or not isinstance(p, int | float) for p in parts):
        raise GpuFileError(f"{file}: {key} is not a number or a list of numbers")
    return Sourced(value, source)


@functools.cache
def _file_texts() -> Mapping[str, str]:
    """File name without ending -> text, for every GPU file of the package."""
    folder = resources.files("warplens.gpus")
    return {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda e: e.name)
        if entry.name.endswith(".toml")
    }


_HOST_LINK = "host_link"  # numbers that every product has
_NOT_A_GPU = frozenset({"other_capabilities", _HOST_LINK})  # occupancy rules; copies


def read_gpu_file(file: str) -> tuple[dict[str, Any], dict[str, Sourced]]:
    """The header and the numbers of one of the package's files, by its name without ending."""
    return _parsed(file)


@functools.cache
def _parsed(file: str) -> tuple[dict[str, Any], dict[str, Sourced]]:
    return parse_gpu_file(_file_texts()[file], f"{file}.toml")


@functools.cache
def _headers() -> Mapping[str, dict[str, Any]]:
    """The header of every file; the tables are not parsed, which keeps start-up short."""
    return {
        file: tomllib.loads(text.partition("\n[")[0])
        for file, text in _file_texts().items()
        if file not in _NOT_A_GPU
    }


def _own_names(header: Mapping[str, Any]) -> Iterator[str]:
    yield header["name"]
    yield from header.get("aliases", ())
    if header["kind"] == "architecture":
        digits = header["name"].removeprefix("sm_")
        for suffix in ("", "a", "f"):
            yield from (f"sm_{digits}{suffix}", f"compute_{digits}{suffix}")
        yield header["compute_capability"]
    elif header["name"].startswith("RTX "):
        yield header["name"].removeprefix("RTX ")


@functools.cache
def _index() -> Mapping[str, str]:
    """Normalised name or alias -> file."""
    index: dict[str, str] = {}
    for file, header in _headers().items():
        for name in _own_names(header):
            other = index.setdefault(_normal(name), file)
            if other != file:
                raise GpuFileError(f"{file}.toml: the name {name!r} is also used by {other}.toml")
    return index


@functools.cache
def _load(file: str) -> GpuSpec:
    header, own = _parsed(file)
    if header["kind"] == "architecture":
        return _load_architecture(header, own)
    parent, shared = _parsed(header["extends"].replace("_", ""))
    _, link = _parsed(_HOST_LINK)
    return _build({**parent, **header}, {**link, **shared, **own}, is_architecture=False)


def _load_architecture(header: dict[str, Any], own: dict[str, Sourced]) -> GpuSpec:
    """An architecture by itself: its limits, with counts and clocks of its nominal card."""
    card_header, card = _parsed(header["nominal"])
    borrowed = {
        key: Sourced(entry.value, f"nominal card {card_header['name']}: {entry.source}")
        for key, entry in card.items()
    }
    _, link = _parsed(_HOST_LINK)
    merged = {**card_header, **header, "aliases": [], "notes": ""}
    merged["notes"] = f"Limits of {header['name']}; counts and clocks of {card_header['name']}."
    return _build(merged, {**link, **own, **borrowed}, is_architecture=True)


def _build(
    header: Mapping[str, Any], numbers: dict[str, Sourced], *, is_architecture: bool
) -> GpuSpec:
    typed: dict[str, Any] = {}
    for entry in fields(GpuSpec):
        key = entry.metadata.get("key")
        if key is None:
            continue
        if key not in numbers:
            raise GpuFileError(f"the files of {header['name']} have no {key}")
        typed[entry.name] = numbers[key].value
    capability = header["compute_capability"]
    return GpuSpec(
        name=header["name"],
        aliases=tuple(header.get("aliases", ())),
        sm=int(capability.replace(".", "")),
        compute_capability=capability,
        architecture=header["architecture"],
        chip=header["chip"],
        memory_type=header["memory_type"],
        notes=header.get("notes", ""),
        is_architecture=is_architecture,
        numbers=numbers,
        **typed,
    )


def named_gpu(name: str | GpuSpec) -> GpuSpec:
    """The GPU of that name or alias; see `find_gpu`."""
    if isinstance(name, GpuSpec):
        return name
    wanted = _normal(str(name))
    index = _index()
    if wanted in index:
        return _load(index[wanted])
    names = gpu_names()
    near = difflib.get_close_matches(wanted, index, n=4, cutoff=0.5)
    close = dict.fromkeys(_headers()[index[key]]["name"] for key in near)
    raise UnknownGpu(
        f"no GPU named {name!r}",
        hint=(f"did you mean {', '.join(close)}? " if close else "")
        + f"`warplens list gpus` shows all {len(names)}",
    )


def gpu_names(kind: str = "product") -> tuple[str, ...]:
    """The names of all products (or, with kind="architecture", of all architectures)."""
    names = [header["name"] for header in _headers().values() if header["kind"] == kind]
    return tuple(sorted(names))


def list_gpus() -> tuple[GpuSpec, ...]:
    """Every product, ordered by compute capability and name; architectures are not in the list."""
    specs = [_load(file) for file, header in _headers().items() if header["kind"] == "product"]
    return tuple(sorted(specs, key=lambda spec: (spec.sm, spec.name)))


def list_architectures() -> tuple[GpuSpec, ...]:
    """Every architecture as `find_gpu("sm_NN")` gives it, ordered by number."""
    found = [named_gpu(name) for name in gpu_names("architecture")]
    return tuple(sorted(found, key=lambda spec: spec.sm))


def override(
    spec: GpuSpec, changes: Mapping[str, Value], *, source: str = "set by the user"
) -> GpuSpec:
    """A copy of the GPU with other numbers, for what-if questions.

    >>> override(named_gpu("H200"), {"l2.size_bytes": 1 << 20}).l2_size_bytes
    1048576
    """
    given = {key: Sourced(value, source) for key, value in changes.items()}
    return renamed(spec, spec.name, given)


def renamed(spec: GpuSpec, name: str, changes: Mapping[str, Sourced]) -> GpuSpec:
    """A copy of the GPU with another name and other numbers.

    Raises:
        InputError: GPUs have no such number, or not one like that.
    """
    numbers = dict(spec.numbers)
    for key, entry in changes.items():
        value = entry.value
        if key not in numbers:
            raise spec._unknown_key(key)
        old = numbers[key].value
        parts = value if isinstance(value, tuple) else (value,)
        bad = isinstance(old, tuple) != isinstance(value, tuple) or any(
            isinstance(p, bool) or not isinstance(p, int | float) or p < 0 for p in parts
        )
        if bad:
            raise InputError(f"{key} = {value!r} is not a value like {old!r}")
        numbers[key] = entry
    header = {
        one.name: getattr(spec, one.name)
        for one in fields(GpuSpec)
        if "key" not in one.metadata and one.name not in ("numbers", "sm", "is_architecture")
    }
    return _build({**header, "name": name}, numbers, is_architecture=spec.is_architecture)
