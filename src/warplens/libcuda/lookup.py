"""cuGetProcAddress: which exported function a program means by a name and a CUDA version."""

from __future__ import annotations

from collections.abc import Callable

from warplens.driver.cells import get_text, put_i32, put_u64
from warplens.driver.entries.table import Entry
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.libcuda.header import DriverApi

_FOUND, _NO_SUCH_NAME, _TOO_NEW = 0, 1, 2


def exported_name(api: DriverApi, name: str, version: int) -> str:
    """The exported function, empty if there is none of that name in that version.

    The n-th signature of a function is exported with the suffix _vN, the first without.
    """
    known = api.versions.get(name, ())
    if known and version < known[0]:
        return ""
    exported = set(api.names)
    place = sum(since <= version for since in known)
    candidates = [f"{name}_v{n}" for n in range(place, 1, -1)]
    if place == len(known) and name in api.current:
        candidates.insert(0, api.current[name])
    return next((one for one in (*candidates, name) if one in exported), "")


def lookups(api: DriverApi, address_of: Callable[[str], int]) -> dict[str, Entry]:
    """The two entries that look others up."""

    def find(driver: Driver, symbol: int, function: int, version: int) -> int:
        name = get_text(symbol)
        found = exported_name(api, name, version)
        put_u64(function, address_of(found) if found else 0)
        if found:
            return _FOUND
        return _TOO_NEW if name in api.versions else _NO_SUCH_NAME

    def get(driver: Driver, symbol: int, function: int, version: int, flags: int) -> None:
        if find(driver, symbol, function, version) != _FOUND:
            raise DriverError(Status.CUDA_ERROR_NOT_FOUND, get_text(symbol))

    def get_v2(
        driver: Driver, symbol: int, function: int, version: int, flags: int, status: int
    ) -> None:
        found = find(driver, symbol, function, version)
        if status:
            put_i32(status, found)
        if found != _FOUND:
            raise DriverError(Status.CUDA_ERROR_NOT_FOUND, get_text(symbol))

    types = ("Pointer", "Pointer", "I32", "U64")
    return {
        "cuGetProcAddress": Entry(name="cuGetProcAddress", types=types, function=get),
        "cuGetProcAddress_v2": Entry(
            name="cuGetProcAddress_v2", types=(*types, "Pointer"), function=get_v2
        ),
    }
