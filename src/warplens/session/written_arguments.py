"""Arguments in writing: `TYPE=VALUE` is a scalar, `TYPE[N]=INIT` a buffer, `struct{...}={...}` a
structure, as `--arg` of the command line and tuning specifications take them."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.wording import count as count_text

Array = npt.NDArray[Any]

TYPES: dict[str, Any] = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": np.uint16,  # NumPy has no bfloat16: its bits
    "f32": np.float32,
    "f64": np.float64,
}
_SHAPE = re.compile(r"^(?P<type>\w+)(?:\[(?P<size>[^\]]*)\])?=(?P<value>.*)$", re.DOTALL)
_STRUCT = re.compile(r"^struct\s*\{(?P<members>[^}]*)\}\s*=\s*\{(?P<values>[^}]*)\}$")
_MEMBER = re.compile(r"^(?P<type>\w+)\s+\w+(?:\[(?P<count>\d+)\])?$")
_RANGE = re.compile(r"^randint\(\s*(-?\w+)\s*,\s*(-?\w+)\s*\)$")
_MOST_BYTES = 1 << 40


def parse(text: str, *, seed: int = 0) -> Any:
    """The argument that one `--arg` means: a NumPy array, or a number for a scalar parameter.

    >>> parse("i32[4]=arange").tolist()
    [0, 1, 2, 3]
    >>> float(parse("f32=2"))
    2.0
    """
    structure = _STRUCT.match(text.strip())
    if structure is not None:
        return _structure(structure["members"], structure["values"], text)
    match = _SHAPE.match(text.strip())
    if match is None:
        raise InputError(
            f"--arg {text!r} is neither TYPE=VALUE nor TYPE[N]=INIT",
            hint="For example i32=7, f32[1024]=rand, i32[1024]=arange, f32[1024]=data.npy, "
            "'struct{f32 x; i32 n}={0.5, 7}', @0 for argument 0's array.",
        )
    kind, value = match["type"], match["value"].strip()
    if kind not in TYPES:
        raise InputError(f"--arg {text!r}: {kind!r} is not one of {', '.join(TYPES)}")
    if match["size"] is None:
        return _scalar(kind, value, text)
    return _buffer(kind, _sizes(match["size"], text), value, seed, text)


def _structure(members: str, values: str, text: str) -> Any:
    """A structure laid out as C++ does it: members at multiples of their sizes."""
    fields: list[tuple[str, str, int]] = []
    for number, member in enumerate(filter(None, map(str.strip, members.split(";")))):
        match = _MEMBER.match(member)
        if match is None or match["type"] not in TYPES:
            raise InputError(
                f"--arg {text!r}: {member!r} is not a member, such as f32 x or i32 n[4]",
                hint=f"Types are {', '.join(TYPES)}.",
            )
        fields.append((f"m{number}", match["type"], int(match["count"] or 1)))
    given = [value.strip() for value in values.split(",") if value.strip()]
    wanted = sum(n for _, _, n in fields)
    if len(given) != wanted or not fields:
        raise InputError(f"--arg {text!r}: {count_text(wanted, 'value')} for its members, "
                         f"{len(given)} given")
    layout = np.dtype([(name, TYPES[kind], (n,)) for name, kind, n in fields], align=True)
    filled = np.zeros((), layout)
    for name, kind, n in fields:
        numbers, given = [_number(kind, value, text) for value in given[:n]], given[n:]
        array = np.array(numbers)
        filled[name] = _bf16_bits(array.astype(np.float64)) if kind == "bf16" else array
    return filled[()]


def _scalar(kind: str, value: str, text: str) -> Any:
    number = _number(kind, value, text)
    if kind == "bf16":
        return _bf16_bits(np.array([number], np.float64)).tobytes()
    if kind.startswith("f"):
        return TYPES[kind](number) if kind != "f64" else float(number)
    return TYPES[kind](number)


def _number(kind: str, value: str, text: str) -> int | float:
    """A number of that type, checked against its range."""
    try:
        if kind.startswith(("f", "bf")):
            return float(value)
        number = int(value, 0)
    except ValueError as error:
        raise InputError(f"--arg {text!r}: {value!r} is not a number of type {kind}") from error
    info = np.iinfo(TYPES[kind])
    if not info.min <= number <= info.max:
        raise InputError(f"--arg {text!r}: {kind} ranges from {info.min:,} to {info.max:,}")
    return number


def _sizes(size: str, text: str) -> tuple[int, ...] | None:
    """`1024`, `64,64`, `1<<20` or `1024*1024`; nothing for "as many as the file has"."""
    if not size.strip():
        return None
    sizes = tuple(_size(part, text) for part in size.split(","))
    if any(n < 0 for n in sizes) or prod(sizes) > _MOST_BYTES:
        raise InputError(f"--arg {text!r}: {size!r} is negative or too large")
    return sizes


def _size(part: str, text: str) -> int:
    try:
        if "<<" in part:
            base, _, shift = part.partition("<<")
            return int(base, 0) << min(int(shift, 0), 64)
        return prod(int(factor, 0) for factor in part.split("*"))
    except ValueError as error:
        raise InputError(f"--arg {text!r}: {part!r} is not a size") from error


def _buffer(
    kind: str, sizes: tuple[int, ...] | None, init: str, seed: int, text: str
) -> Array:
    if init.endswith(".npy"):
        return _from_file(kind, sizes, Path(init), text)
    if sizes is None:
        raise InputError(f"--arg {text!r}: a buffer needs a size, TYPE[N]={init}")
    try:
        return _filled(kind, sizes, init, np.random.default_rng(seed), text)
    except MemoryError as error:
        raise InputError(f"--arg {text!r}: not enough memory on this machine") from error


def _filled(
    kind: str, sizes: tuple[int, ...], init: str, random: np.random.Generator, text: str
) -> Array:
    count, dtype = prod(sizes), TYPES[kind]
    is_float = kind.startswith(("f", "bf"))
    bounds = _RANGE.match(init)
    if init == "arange":
        values: Array = np.arange(count, dtype=np.float64 if kind in ("f16", "bf16") else dtype)
    elif init == "rand" and is_float:
        values = random.random(count, dtype=np.float64 if kind == "f64" else np.float32)
    elif init == "rand":
        info = np.iinfo(dtype)
        values = random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    elif bounds is not None:
        low, high = (int(_number(kind, bound, text)) for bound in bounds.groups())
        if low >= high:
            raise InputError(f"--arg {text!r}: {low} is not less than {high}")
        values = random.integers(low, high, count, dtype=np.int64 if is_float else dtype)
    else:
        number = _number(kind, init, text)
        dtype = np.dtype(np.float64) if kind == "bf16" else dtype
        # Zeros cost no memory until they are touched, and a prediction touches little.
        values = np.full(count, number, dtype=dtype) if number else np.zeros(count, dtype)
    if kind == "bf16":
        return _bf16_bits(values).reshape(sizes)
    return np.ascontiguousarray(values.astype(dtype, copy=False).reshape(sizes))


def _from_file(kind: str, sizes: tuple[int, ...] | None, path: Path, text: str) -> Array:
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"--arg {text!r}: cannot read {path}: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(TYPES[kind]):
        raise InputError(f"--arg {text!r}: {path} has dtype {array.dtype}, not {kind}")
    if sizes is not None:
        if array.size != prod(sizes):
            raise InputError(f"--arg {text!r}: {path} has {count_text(array.size, 'element')}")
        array = array.reshape(sizes)
    return np.ascontiguousarray(array)


def _bf16_bits(values: Array) -> Array:
    """Rounds to bfloat16, to nearest even, and gives the bits."""
    bits = values.astype(np.float32).view(np.uint32)  # only sums of NaNs may not fit
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)
