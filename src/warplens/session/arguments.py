"""Launch arguments: arrays in place, scalars checked against the kernel's parameter types."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warplens.analysis.transfers import Copied
from warplens.errors import ArgumentError, InputError
from warplens.execute.memory import DeviceMemory
from warplens.session.arrays import Array, DeviceArray, check_dtype, map_array
from warplens.session.tensor_map import TensorMap
from warplens.session.texture import Surface, Texture
from warplens.toolchain.attributes import Parameter
from warplens.toolchain.ptx import ParameterType
from warplens.wording import count

_FLOATS = {2: "e", 4: "f", 8: "d"}
_CHARACTERS = frozenset({"char", "signed char", "unsigned char"})  # also for raw bytes
_POINTEES = {  # type pointed to -> (element size, NumPy kinds that may stand for it)
    "bool": (1, "biu"),
    "short": (2, "iu"),
    "unsigned short": (2, "iuf"),
    "int": (4, "iu"),
    "unsigned int": (4, "iu"),
    "long": (8, "iu"),
    "unsigned long": (8, "iu"),
    "long long": (8, "iu"),
    "unsigned long long": (8, "iu"),
    "__half": (2, "fiu"),
    "float": (4, "f"),
    "double": (8, "f"),
}
_INTEGERS = frozenset({"int", "uint", "integer", "bool", "word"})
_DESCRIBED = {
    "pointer": "a pointer",
    "int": "a signed integer",
    "uint": "an unsigned integer",
    "integer": "an integer",
    "bool": "a bool",
    "word": "a pointer or integer",
    "float": "a float",
    "bfloat": "a bfloat16",
    "struct": "a structure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Formal:
    """One parameter of a kernel, as much as is known of it.

    Attributes:
        kind: as in `toolchain.ptx.ParameterType`, or "unknown": a cubin alone gives sizes only.
        spelled: its C++ type; pointee: what it points to; both empty if unknown.
    """

    index: int
    offset: int
    size: int
    kind: str = "unknown"
    spelled: str = ""
    pointee: str = ""

    def __str__(self) -> str:
        return f"parameter {self.index}" + (f" ({self.spelled})" if self.spelled else "")

    @property
    def described(self) -> str:
        """What it is, for messages."""
        return f"{_DESCRIBED.get(self.kind, 'a value')} of {self.size} bytes"

    @property
    def bounds(self) -> tuple[int, int]:
        """The range of an integer parameter; where the sign is unknown, both ranges together."""
        bits = 8 * self.size
        low = 0 if self.kind in ("uint", "bool") else -(1 << bits - 1)
        return low, (1 << bits - (self.kind == "int")) - 1


def formals_of(
    parameters: Sequence[Parameter], types: Sequence[ParameterType] | None
) -> tuple[Formal, ...]:
    """The parameters of a kernel; `types` comes from the PTX of the same compile."""
    if types is None or len(types) != len(parameters):
        return tuple(
            Formal(index=p.ordinal, offset=p.offset, size=p.size) for p in parameters
        )
    return tuple(
        Formal(
            index=p.ordinal,
            offset=p.offset,
            size=p.size,
            kind=t.kind,
            spelled=t.spelled,
            pointee=t.pointee,
        )
        for p, t in zip(parameters, types, strict=True)
    )


@dataclass(slots=True)
class PackedArguments:
    """The parameter bytes of one launch, and what to undo after it."""

    parameters: bytes
    mapped: list[int] = field(default_factory=list)
    copies: list[tuple[Array, Array]] = field(default_factory=list)  # (original, copy)
    objects: list[int] = field(default_factory=list)  # textures and surfaces

    def finish(self, memory: DeviceMemory, *, write_back: bool) -> None:
        """Copies back what was copied in and gives the addresses back."""
        if write_back:
            for original, copy in self.copies:
                original[...] = copy
        for address in self.mapped:
            memory.free(address)
        for number in self.objects:
            memory.textures.objects.pop(number, None)


def pack(
    memory: DeviceMemory, formals: Sequence[Formal], total_bytes: int, values: Sequence[Any]
) -> PackedArguments:
    """Turns launch arguments into the kernel's parameter bytes.

    Raises:
        ArgumentError: an argument does not fit; it names the parameter.
    """
    packed = PackedArguments(b"")
    data = bytearray(total_bytes)
    known: dict[tuple[int, int, tuple[int, ...]], int] = {}
    try:
        for formal, value in zip(formals, values, strict=True):
            raw = _argument(memory, formal, value, packed, known)
            if len(raw) != formal.size:
                raise ArgumentError(
                    f"{formal} has {count(formal.size, 'byte')}, the argument {len(raw):,}"
                )
            data[formal.offset : formal.offset + formal.size] = raw
    except BaseException:
        packed.finish(memory, write_back=False)
        raise
    packed.parameters = bytes(data)
    return packed


def _argument(
    memory: DeviceMemory,
    formal: Formal,
    value: Any,
    packed: PackedArguments,
    known: dict[tuple[int, int, tuple[int, ...]], int],
) -> bytes:
    if isinstance(value, Texture | Surface):
        return _object(memory, formal, value, packed, known)
    if isinstance(value, TensorMap):
        tensor = value.array
        if isinstance(tensor, DeviceArray):
            return value.packed(_device_address(memory, formal, tensor))
        return value.packed(_map(memory, formal, tensor, packed, known))
    if isinstance(value, DeviceArray):
        return _pointer(formal, _device_address(memory, formal, value))
    array = _as_array(formal, value)
    if array is not None:
        return _pointer(formal, _map(memory, formal, array, packed, known))
    if value is None:
        return _pointer(formal, 0)
    return _scalar(formal, value)


def _object(
    memory: DeviceMemory, formal: Formal, value: Texture | Surface, packed: PackedArguments,
    known: dict[tuple[int, int, tuple[int, ...]], int],
) -> bytes:  # fmt: skip
    """The number of an object that lives as long as the launch."""
    address = _map(memory, formal, value.array, packed, known)
    number = value.placed(memory, address)
    packed.objects.append(number)
    return struct.pack("<Q", number)


def _device_address(memory: DeviceMemory, formal: Formal, value: DeviceArray) -> int:
    if not value.belongs_to(memory):
        raise ArgumentError(
            f"{formal}: the device array belongs to another Device",
            hint="Create it with to_device of the device that compiled the kernel.",
        )
    return value.address


def _as_array(formal: Formal, value: Any) -> Array | None:
    if isinstance(value, np.ndarray):
        return None if value.ndim == 0 and formal.kind == "struct" else value
    if isinstance(value, np.generic | int | float | bytes | str) or value is None:
        return None
    if hasattr(value, "__dlpack__") and not isinstance(value, DeviceArray):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"{formal}: {type(value).__name__} cannot be used in place ({error})",
                hint="Pass an array in host memory.",
            ) from error
    return None


def _map(
    memory: DeviceMemory,
    formal: Formal,
    array: Array,
    packed: PackedArguments,
    known: dict[tuple[int, int, tuple[int, ...]], int],
) -> int:
    check_dtype(array, str(formal))
    _check_pointee(formal, array)
    key = (array.__array_interface__["data"][0], array.nbytes, array.strides)
    if key in known:  # the same array given twice keeps one address, as on a GPU
        return known[key]
    held = array
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        held = np.ascontiguousarray(array)
        if array.flags.writeable:
            packed.copies.append((array, held))
        else:
            held.flags.writeable = False
    address = map_array(memory, held, str(formal))
    if address:
        packed.mapped.append(address)
    known[key] = address
    return address


def _check_pointee(formal: Formal, array: Array) -> None:
    """Refuses an array whose elements are not what the kernel's pointer says."""
    if formal.pointee in _CHARACTERS and array.dtype.kind in "fc":
        raise _other_elements(formal, array)
    expected = _POINTEES.get(formal.pointee)
    if expected is None or array.dtype.kind == "V":
        return
    size, kinds = expected
    is_complex = array.dtype.kind == "c" and array.dtype.itemsize == 2 * size
    if is_complex and "f" in kinds:
        return
    if array.dtype.itemsize != size or array.dtype.kind not in kinds:
        raise _other_elements(formal, array)


def _other_elements(formal: Formal, array: Array) -> ArgumentError:
    return ArgumentError(
        f"{formal} points to {formal.pointee}; the argument is an array of {array.dtype}",
        hint="Convert the array with astype(...), or reinterpret it with view(...).",
    )


def _pointer(formal: Formal, address: int) -> bytes:
    if formal.kind not in ("pointer", "word", "integer", "unknown") or formal.size != 8:
        raise ArgumentError(
            f"{formal} is {formal.described}, not a pointer; the argument is an array or None",
            hint="Pass a number or, for a structure, its bytes.",
        )
    return struct.pack("<Q", address)


def _scalar(formal: Formal, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return _raw_bytes(formal, bytes(value))
    if isinstance(value, np.void | np.ndarray):
        return _raw_bytes(formal, value.tobytes())
    if formal.kind == "pointer":
        return _address(formal, value)
    if formal.kind in _INTEGERS:
        return _integer(formal, value)
    if formal.kind in ("float", "bfloat"):
        return _float(formal, value)
    if isinstance(value, np.generic):
        return _raw_bytes(formal, value.tobytes())
    if formal.kind == "struct":
        raise ArgumentError(
            f"{formal} is a structure of {formal.size} bytes; the argument is {_shown(value)}",
            hint="Pass its bytes, or a NumPy void scalar of that layout.",
        )
    raise ArgumentError(
        f"{formal}: a cubin records its size ({count(formal.size, 'byte')}) but not its type; "
        f"the argument is {_shown(value)}",
        hint="Pass a NumPy scalar, such as np.int32(7).",
    )


def _address(formal: Formal, value: Any) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(
            f"{formal} is a pointer; the argument is {_shown(value)}",
            hint="Pass a NumPy array, a device array, or None for a null pointer.",
        )
    if not 0 <= int(value) < 1 << 64:
        raise ArgumentError(f"{formal}: {value} is not an address")
    return struct.pack("<Q", int(value))


def _raw_bytes(formal: Formal, data: bytes) -> bytes:
    if len(data) != formal.size:
        raise ArgumentError(f"{formal} has {count(formal.size, 'byte')}, the argument "
                            f"{len(data):,}")
    return data


def _integer(formal: Formal, value: Any) -> bytes:
    if isinstance(value, bool | np.bool_):
        value = int(value)
    if not isinstance(value, int | np.integer):
        raise ArgumentError(
            f"{formal} is {formal.described}; the argument is {_shown(value)}",
            hint="Floats are not converted to integers implicitly: use int(...).",
        )
    number, (low, high) = int(value), formal.bounds
    if not low <= number <= high:
        raise ArgumentError(f"{formal} ranges from {low:,} to {high:,}; the argument is {number:,}")
    return (number & ((1 << 8 * formal.size) - 1)).to_bytes(formal.size, "little")


def _float(formal: Formal, value: Any) -> bytes:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise ArgumentError(f"{formal} is {formal.described}; the argument is {_shown(value)}")
    try:
        number = float(value)
        if formal.kind == "bfloat":
            return _bfloat16(formal, number)
        data = struct.pack("<" + _FLOATS[formal.size], number)
    except OverflowError as error:
        raise ArgumentError(f"{formal}: {value!r} does not fit {formal.described}") from error
    if math.isfinite(number) and not _is_finite(data, formal.size):
        raise ArgumentError(f"{formal}: {value!r} does not fit {formal.described}")
    return data


def _bfloat16(formal: Formal, number: float) -> bytes:
    """Rounds to nearest even at bit 16 of the single-precision pattern."""
    bits = int(struct.unpack("<I", struct.pack("<f", number))[0])
    if math.isnan(number):
        return b"\xff\x7f"
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if math.isfinite(number) and rounded & 0x7F80 == 0x7F80:
        raise ArgumentError(f"{formal}: {number!r} does not fit {formal.described}")
    return struct.pack("<H", rounded)


def _is_finite(data: bytes, size: int) -> bool:
    return math.isfinite(struct.unpack("<" + _FLOATS[size], data)[0])


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


def dimensions(name: str, value: Any) -> tuple[int, int, int]:
    """One to three positive sizes as x, y, z."""
    sizes = tuple(value) if isinstance(value, tuple | list) else (value,)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sizes)
    if not 1 <= len(sizes) <= 3 or not whole:
        raise InputError(f"{name} {value!r} is not one to three integers")
    x, y, z = (*(int(n) for n in sizes), 1, 1)[:3]
    return x, y, z


def copied_arrays(formals: Sequence[Formal], arguments: Sequence[Any]) -> tuple[Copied, ...]:
    """What a program copies around a launch: its host arrays, back those not behind `const`.

    Arrays that are on the device already are not copied; an array given twice is copied once.
    """
    found: dict[int, Copied] = {}
    for formal, given in zip(formals, arguments, strict=True):
        value = given.array if isinstance(given, TensorMap | Texture | Surface) else given
        if not isinstance(value, np.ndarray) or (value.ndim == 0 and formal.kind == "struct"):
            continue
        key = int(value.__array_interface__["data"][0])
        back = 0 if _is_read_only(formal) else value.nbytes
        known = found.get(key)
        found[key] = Copied(
            name=f"argument {formal.index}" if known is None else known.name,
            to_device_bytes=max(value.nbytes, 0 if known is None else known.to_device_bytes),
            to_host_bytes=max(back, 0 if known is None else known.to_host_bytes),
        )
    return tuple(found.values())


def _is_read_only(formal: Formal) -> bool:
    """Whether the parameter is spelled as a pointer to const."""
    pointed = formal.spelled.rstrip().removesuffix("const").rstrip()
    if not pointed.endswith("*"):
        return False
    words = pointed[:-1].split()
    return "const" in (words[:1] + words[-1:])
