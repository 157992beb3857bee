"""Inputs of `occupancy`: read as integers, refused with the limit they break."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.occupancy_calculator.rules import CACHE_PREFERENCES, Rules

IntLike = int | npt.ArrayLike


def whole_numbers(name: str, value: IntLike) -> npt.NDArray[np.int64]:
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.size == 0:
        raise InputError(f"{name} = {value!r} is not an integer or a non-empty array of integers")
    wide_enough = array.dtype in (np.dtype(np.int32), np.dtype(np.int64))
    return array if wide_enough else array.astype(np.int64)


def cache_number(preference: str) -> int:
    if preference not in CACHE_PREFERENCES:
        raise InputError(
            f"cache_preference = {preference!r} is not one of {', '.join(CACHE_PREFERENCES)}"
        )
    return CACHE_PREFERENCES[preference]


def _require(name: str, values: npt.NDArray[np.int64], low: int, high: int, limit: str) -> None:
    if int(values.min()) >= low and int(values.max()) <= high:
        return
    flat = values.ravel()
    at = int(np.flatnonzero((flat < low) | (flat > high))[0])
    where = f" (element {at})" if flat.size > 1 else ""
    raise InputError(f"{name} = {int(flat[at])}{where} is outside {low:,} to {high:,}: {limit}")


def check_inputs(
    rules: Rules,
    gpu: str,
    values: dict[str, npt.NDArray[np.int64]],
    percent: npt.NDArray[np.int64] | None,
    optin: bool,
) -> None:
    """Refuses what no launch could have, naming the limit of the GPU."""
    most = rules.max_threads_per_block
    _require("threads", values["threads"], 1, most, f"the threads per block of {gpu}")
    most = min(rules.registers_per_thread, 255)
    _require("registers", values["registers"], 0, most, f"the registers per thread of {gpu}")
    static, dynamic = values["static_shared"], values["dynamic_shared"]
    # That static shared memory ends at 48 KiB is nvcc's limit: other compilers' cubins have more.
    most = rules.shared_per_block_optin if optin else rules.shared_per_block
    which = "opt-in" if optin else "default"
    text = f"the {which} shared memory per block of {gpu} in bytes"
    _require("static_shared", static, 0, most, text)
    _require("dynamic_shared", dynamic, 0, most, text)
    both = np.asarray(static + dynamic)
    _require("static_shared + dynamic_shared", both, 0, most, text)
    _require("barriers", values["barriers"], 0, 16, f"the barriers per block of {gpu}")
    text = f"the virtual resources per SM of {gpu}"
    _require("virtual_resources", values["virtual_resources"], 0, rules.virtual_resources, text)
    if percent is not None:
        _require("carveout", percent, 0, 100, "percent of the largest carve-out")
