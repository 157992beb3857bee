"""The GPU files: sources, names, overrides, and agreement of figures with each other."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re

import pytest

from warplens import isa
from warplens.errors import InputError, UnknownGpu
from warplens.gpus import (
    GpuFileError,
    GpuSpec,
    find_gpu,
    gpu_names,
    list_architectures,
    list_gpus,
    override,
)
from warplens.gpus.spec import parse_gpu_file
from warplens.isa.table import all_ops

REQUIRED = [
    "T4",
    "RTX 2080 Ti",
    "A100",
    "A100 80GB",
    "A100 40GB PCIe",
    "A10",
    "RTX 3090",
    "RTX A4000",
    "RTX A6000",
    "L4",
    "RTX 4060",
    "RTX 4090",
    "H100",
    "H100 SXM",
    "H200",
    "B200",
    "RTX 5090",
]


@pytest.mark.parametrize("name", REQUIRED)
def test_required_cards_are_found(name: str) -> None:
    """Every card that the documentation promises is found, whatever the case and blanks."""
    spec = find_gpu(name)

    assert find_gpu(name.upper().replace(" ", "_")) is spec
    assert find_gpu(f"NVIDIA  {name.lower()}") is spec


def test_bare_names_mean_the_documented_cards() -> None:
    """A100, H100 and H200 alone mean the SXM cards."""
    meant = {name: find_gpu(name).name for name in ("A100", "H100", "H200")}

    assert meant == {"A100": "A100 80GB SXM", "H100": "H100 SXM5", "H200": "H200 SXM"}


def test_every_number_of_every_file_has_a_source() -> None:
    """No value of any GPU is without a source of some words."""
    for spec in (*list_gpus(), *list_architectures()):
        for key, entry in spec.numbers.items():
            assert len(entry.source) > 5, (spec.name, key)


@pytest.mark.parametrize(
    "line", ["a = 1", "a = { value = 1 }", "a = { value = 1, source = ' ' }", "a = [1, 2]"]
)
def test_a_number_without_source_is_refused_with_file_and_key(line: str) -> None:
    """The error names the file and the key."""
    with pytest.raises(GpuFileError, match=r"mine\.toml: limits\.a has no source"):
        parse_gpu_file(f'name = "x"\n[limits]\n{line}\n', "mine.toml")


@pytest.mark.parametrize(
    "text", ["a = 1", "[t]\na = { value = 'x', source = 'some' }", "[t", "[t]\na = { value = true,"]
)
def test_a_malformed_file_is_refused(text: str) -> None:
    """Stray numbers, text values and broken TOML are typed errors naming the file."""
    with pytest.raises(GpuFileError, match=r"mine\.toml"):
        parse_gpu_file(text, "mine.toml")


@pytest.mark.parametrize("spec", [*list_gpus(), *list_architectures()], ids=lambda s: s.name)
def test_figures_agree_with_each_other(spec: GpuSpec) -> None:
    """Limits that follow from each other do so in every file."""
    assert spec.max_threads_per_sm == spec.max_warps_per_sm * spec.warp_size
    assert spec.shared_per_block_optin_bytes + spec.shared_reserved_bytes == (
        spec.shared_per_sm_bytes
    )
    assert spec.carveouts_kb[-1] * 1024 == spec.shared_per_sm_bytes
    assert spec.l1_shared_size_bytes >= spec.shared_per_sm_bytes
    # A pass through the banks takes Turing two cycles.
    passes = 2 if spec.sm == 75 else 1
    assert spec.shared_bytes_per_cycle * passes == spec.shared_banks * spec.shared_bank_bytes
    assert spec.value("pipes.fma") * spec.sub_partitions == spec.fp32_lanes
    assert spec.base_clock_mhz <= spec.boost_clock_mhz
    implied = 2e6 * spec.memory_clock_mhz * spec.dram_bus_bits / 8
    if spec.chip != "GB20B":  # its memory clock is already the data rate
        assert abs(implied / spec.dram_bandwidth_bytes_per_second - 1) < 0.03


def test_all_architectures_give_the_same_keys() -> None:
    """A timing model may ask any architecture for any latency, pipe or dependence."""
    for table in (
        "limits", "shared", "l1", "lanes", "pipes", "issue", "dependence", "latency", "fetch",
    ):  # fmt: skip
        keys = {tuple(sorted(spec.table(table))) for spec in list_architectures()}

        assert len(keys) == 1, table


def test_an_architecture_has_the_counts_of_its_nominal_card() -> None:
    """sm_90 is found under several names, with the H200's counts marked as borrowed."""
    spec = find_gpu("sm_90")

    assert spec is find_gpu("9.0") is find_gpu("SM_90a") is find_gpu("compute_90")
    assert (spec.sm, spec.max_blocks_per_sm, spec.sm_count) == (90, 32, 132)
    assert spec.is_architecture and spec.source("counts.sm").startswith("nominal card H200")


def test_an_unknown_gpu_names_close_ones() -> None:
    """The error's hint helps on."""
    with pytest.raises(UnknownGpu, match="RTX 4090"):
        find_gpu("RTX 4099")


def test_override_changes_one_number_and_remembers_whose_it_is() -> None:
    """A what-if copy differs in that number only."""
    spec = find_gpu("H200")
    other = override(spec, {"l2.size_bytes": 1 << 20})

    assert other.l2_size_bytes == 1 << 20 and other.source("l2.size_bytes") == "set by the user"
    assert spec.l2_size_bytes == 62914560 and other != spec
    assert other.sm_count == spec.sm_count


@pytest.mark.parametrize(
    "change",
    [
        {"l2.size": 1},
        {"l2.size_bytes": -1},
        {"l2.size_bytes": True},
        {"shared.carveouts_kb": 100},
    ],
)
def test_a_bad_override_is_an_input_error(change: dict[str, int]) -> None:
    """Unknown keys, negative sizes and values of another shape are refused."""
    with pytest.raises(InputError):
        override(find_gpu("H200"), change)


def test_clock_is_base_boost_or_a_number() -> None:
    """Anything else is an input error."""
    spec = find_gpu("H200")

    assert [spec.clock_mhz(c) for c in ("base", "boost", 1234)] == [1500, 1980, 1234]
    for bad in ("turbo", 0, -5, 1e9):
        with pytest.raises(InputError):
            spec.clock_mhz(bad)


def test_names_have_no_duplicates_and_specs_travel() -> None:
    """Every product is listed once, and a spec can be sent to another process."""
    names = gpu_names()

    assert len(set(names)) == len(names) == len(list_gpus()) >= 39
    assert pickle.loads(pickle.dumps(find_gpu("T4"))) == find_gpu("T4")


def test_every_latency_class_and_pipe_of_an_unknown_key_is_named() -> None:
    """A missing key is an error with close keys."""
    with pytest.raises(InputError, match=re.escape("latency.dram")):
        find_gpu("T4").value("latency.dramm")


def test_every_class_of_the_opcode_registry_has_its_cycles_and_pipe() -> None:
    """Each latency class and pipe that an operation names is in every architecture's file."""
    for info in pkgutil.iter_modules(isa.__path__):
        importlib.import_module(f"{isa.__name__}.{info.name}")
    operations = all_ops()
    classes = {operation.latency for operation in operations}
    pipes = {operation.pipe for operation in operations} - {"none"}
    for spec in list_architectures():
        missing = [f"latency.{name}" for name in classes if not spec.has(f"latency.{name}")]
        missing += [f"pipes.{name}" for name in pipes if not spec.has(f"pipes.{name}")]

        assert not missing, (spec.name, missing)
