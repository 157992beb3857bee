"""What a kernel takes, as `--arg` lines, and arguments that point into other arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warplens.errors import InputError
from warplens.session.arrays import DeviceArray
from warplens.wording import count

if TYPE_CHECKING:
    from warplens.session.arguments import Formal
    from warplens.session.kernel import Kernel
    from warplens.session.target import Target

_SHARED = re.compile(r"^@(\d+)(?:\+(\d+))?$")
_SPELLED = {
    "bool": "u8", "char": "i8", "signed char": "i8", "unsigned char": "u8", "short": "i16",
    "unsigned short": "u16", "int": "i32", "unsigned int": "u32", "long": "i64",
    "unsigned long": "u64", "long long": "i64", "unsigned long long": "u64", "__half": "f16",
    "__nv_bfloat16": "bf16", "float": "f32", "double": "f64",
}  # fmt: skip
_KINDS = {"int": "i", "uint": "u", "integer": "i", "bool": "u", "float": "f", "bfloat": "bf"}


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`@I` or `@I+N`: the array of argument I, from its element N on."""

    index: int
    first: int


def elsewhere(text: str) -> Elsewhere | None:
    """What `@I+N` names; None for any other argument."""
    found = _SHARED.match(text.strip())
    return None if found is None else Elsewhere(int(found[1]), int(found[2] or 0))


def resolved(values: Sequence[Any], device: Target) -> list[Any]:
    """The arguments with every `@I+N` replaced by the array, or an address inside it.

    An array that others point into is put on the device, so that all of them see one memory.

    Raises:
        InputError: an argument names none, or no array, or an element beyond its end.
    """
    found = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, Elsewhere):
            continue
        base = values[value.index] if value.index < len(values) else None
        if not isinstance(base, np.ndarray):
            raise InputError(f"--arg @{value.index}: argument {value.index} is no array")
        if value.first > base.size:
            raise InputError(f"--arg @{value.index}+{value.first}: argument {value.index} has "
                             f"{count(base.size, 'element')}")
        if not value.first:
            found[index] = found[value.index]
            continue
        if isinstance(found[value.index], np.ndarray):
            found[value.index] = DeviceArray(device.memory, base)
        found[index] = np.uint64(found[value.index].address + value.first * base.itemsize)
    return [found[v.index] if isinstance(v, Elsewhere) and not v.first else f
            for v, f in zip(values, found, strict=True)]  # fmt: skip


def check_count(kernel: Kernel, given: int) -> None:
    """Refuses too few or too many arguments, with a line for each that the kernel takes."""
    if given == len(kernel.parameters):
        return
    lines = "\n".join(f"  --arg '{example(formal)}'" for formal in kernel.parameters)
    raise InputError(
        f"{kernel.name} takes {count(len(kernel.parameters), 'argument')}, {given} given",
        hint=f"For example:\n{lines}" if lines else "Leave --arg out.",
    )


def example(formal: Formal) -> str:
    """An `--arg` that fits a parameter: a buffer of 1,048,576 elements, or a scalar."""
    if formal.kind == "pointer" or (formal.kind == "unknown" and formal.size == 8):
        kind = _SPELLED.get(formal.pointee, "u8" if formal.kind == "pointer" else "f32")
        return f"{kind}[1<<20]={'rand' if kind in ('f16', 'bf16', 'f32', 'f64') else 'arange'}"
    if formal.kind == "struct":
        words, rest = divmod(formal.size, 4)
        members = [f"u32 word{i}" for i in range(words)] + [f"u8 byte{i}" for i in range(rest)]
        return f"struct{{{'; '.join(members)}}}={{{', '.join('0' for _ in members)}}}"
    letter = _KINDS.get(formal.kind, "u")
    kind = "bf16" if letter == "bf" else f"{letter}{8 * formal.size}"
    return f"{kind}={'1.0' if 'f' in letter else '1024'}"
