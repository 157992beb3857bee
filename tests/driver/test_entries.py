"""What the driver declares agrees with NVIDIA's header: names, parameters, numbers, versions."""

from __future__ import annotations

import re

import pytest

from warplens.driver.attributes import MOST_ATTRIBUTE, DeviceAttribute, FunctionAttribute
from warplens.driver.entries import served
from warplens.driver.status import Status
from warplens.libcuda.header import driver_api
from warplens.libcuda.lookup import exported_name, lookups
from warplens.libcuda.source import library_source
from warplens.toolchain import packages

TEXT = re.sub(
    r"/\*.*?\*/|#\s*define\s+\w+\s*\\\n", "", (packages.include_dirs()[0] / "cuda.h").read_text(),
    flags=re.DOTALL,
)  # fmt: skip
PROTOTYPES: dict[str, list[str]] = {}
for _name, _parameters in re.findall(r"CUresult\s+CUDAAPI\s+(cu\w+)\s*\(([^;]*?)\)\s*;", TEXT):
    PROTOTYPES.setdefault(_name, []).append(_parameters)
BYTES = {"I32": 4, "U32": 4, "U8": 1, "U16": 2, "U64": 8, "Pointer": 8}
FOUR = {"int", "unsigned int", "unsigned", "CUdevice", "cuuint32_t"}
# Structures by value that fill one register, declared as U64; what comes behind is not read.
BY_VALUE = {"CUmemLocation"}


def enumeration(name: str) -> dict[str, int]:
    """The names and numbers of an enumeration of the header."""
    found = re.search(rf"typedef enum {name} \{{(.*?)\n\}} \w+", TEXT, re.DOTALL)
    assert found is not None
    body, numbers, last = re.sub(r"#[^\n]*", "", found[1]), dict[str, int](), -1
    for part in filter(str.strip, body.split(",")):
        word, _, value = (piece.strip() for piece in part.partition("="))
        last = last + 1 if not value else numbers.get(value, 0) or int(value, 0)
        numbers[word.split()[0]] = last
    return numbers


def size_of(parameter: str) -> int:
    """How many bytes of a parameter are passed."""
    if "*" in parameter or "[" in parameter:
        return 8
    kind = " ".join(parameter.replace("const", "").split()[:-1])
    if kind in FOUR or kind in ENUMERATIONS:
        return 4
    return {"unsigned char": 1, "unsigned short": 2}.get(kind, 8)


ENUMERATIONS = set(re.findall(r"typedef enum \w+ \{[^}]*\} (\w+);", TEXT))
ENUMERATIONS |= {
    alias for kind, alias in re.findall(r"typedef (\w+) (\w+);", TEXT) if kind in ENUMERATIONS
}
LEGACY = {"cuProfilerStart", "cuProfilerStop", "cuMemAdvise_v2"}  # not spelled out in cuda.h


@pytest.mark.parametrize("name", served())
def test_signature(name: str) -> None:
    """An entry is a function of the header with as many parameters of the same sizes."""
    entry = served()[name]
    assert name in driver_api().names

    if name not in PROTOTYPES:
        base = next(n for n, current in driver_api().current.items() if current == name) \
            if name not in LEGACY else ""
        assert name in LEGACY or base
        return
    spelled = []
    for text in PROTOTYPES[name]:
        parts = [part.strip() for part in text.split(",")]
        sizes = [size_of(part) for part in parts if part and part != "void"]
        is_whole = [p.split()[0] in BY_VALUE and "*" not in p for p in parts]
        stop = is_whole.index(True) if True in is_whole else None
        spelled.append(sizes if stop is None else sizes[: stop + 1])
    assert [BYTES[kind] for kind in entry.types] in spelled, PROTOTYPES[name]


def test_codes() -> None:
    """Result codes have the header's names and numbers."""
    known = enumeration("cudaError_enum")

    assert {one.name: int(one) for one in Status}.items() <= known.items()


def test_attributes() -> None:
    """Attributes have the header's names and numbers."""
    device = enumeration("CUdevice_attribute_enum")
    function = enumeration("CUfunction_attribute_enum")

    assert {f"CU_DEVICE_ATTRIBUTE_{a.name}": int(a) for a in DeviceAttribute}.items() <= (
        device.items()
    )
    assert {f"CU_FUNC_ATTRIBUTE_{a.name}": int(a) for a in FunctionAttribute}.items() <= (
        function.items()
    )
    assert device["CU_DEVICE_ATTRIBUTE_MAX"] <= MOST_ATTRIBUTE


def test_newest_version_is_the_headers() -> None:
    """Asked with the header's own version, cuGetProcAddress gives what the header makes of it."""
    api = driver_api()
    asked = {name: exported_name(api, name, 13050) for name in api.current if name in api.versions}

    assert len(asked) > 100
    assert asked == {name: api.current[name] for name in asked}


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("cuMemAlloc", 13000, "cuMemAlloc_v2"),
        ("cuMemAlloc", 2000, "cuMemAlloc"),
        ("cuMemAlloc", 1000, ""),
        ("cuCtxCreate", 12000, "cuCtxCreate_v3"),
        ("cuCtxCreate", 13000, "cuCtxCreate_v4"),
        ("cuInit", 13000, "cuInit"),
        ("cuNoSuchThing", 13000, ""),
    ],
)
def test_versions(name: str, version: int, expected: str) -> None:
    """An older version gives the function as it was then."""
    assert exported_name(driver_api(), name, version) == expected


def test_every_function_is_exported() -> None:
    """The C text defines every function of the header once."""
    api = driver_api()
    entries = {**served(), **lookups(api, lambda _: 0)}
    text = library_source(api.names, {name: entry.types for name, entry in entries.items()})
    defined = re.findall(r"^EXPORTED int (cu\w+)\(", text, re.MULTILINE)

    assert sorted(defined) == sorted(api.names)
    assert len(defined) > 600
