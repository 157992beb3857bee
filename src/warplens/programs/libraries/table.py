"""How a function of a host library is declared: once, with its names and its C signature."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warplens.programs.runtime.table import SHAPES

# One letter a parameter: `n` is an int, and int64_t in the form of a name that ends in _64.
LETTERS = {
    "h": "Pointer", "p": "Pointer", "i": "I32", "n": "I32", "l": "I64", "z": "U64", "u": "U32",
    "f": "F32", "d": "F64",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A library: under which names programs ask for it, and its codes.

    Attributes:
        sonames: of CUDA 13 and of CUDA 12.
        header: what a program includes; the pip package `package` brings it.
        prefix: how its functions' names begin.
    """

    name: str
    sonames: tuple[str, ...]
    header: str
    package: str
    prefix: str
    not_initialized: int = 1
    invalid: int
    failed: int
    not_supported: int


LIBRARIES = {one.name: one for one in (
    Library(name="cublas", sonames=("libcublas.so.13", "libcublas.so.12"), header="cublas_api.h",
            package="nvidia-cublas", prefix="cublas", invalid=7, failed=13, not_supported=15),
    Library(name="cublasLt", sonames=("libcublasLt.so.13", "libcublasLt.so.12"),
            header="cublasLt.h", package="nvidia-cublas", prefix="cublasLt", invalid=7, failed=13,
            not_supported=15),
    Library(name="cufft", sonames=("libcufft.so.12", "libcufft.so.11"), header="cufft.h",
            package="nvidia-cufft", prefix="cufft", not_initialized=5, invalid=4, failed=6,
            not_supported=16),
    Library(name="cusparse", sonames=("libcusparse.so.12",), header="cusparse.h",
            package="nvidia-cusparse", prefix="cusparse", invalid=3, failed=6, not_supported=10),
    Library(name="cusolver", sonames=("libcusolver.so.12", "libcusolver.so.11"),
            header="cusolverDn.h", package="nvidia-cusolver", prefix="cusolver", invalid=3,
            failed=6, not_supported=9),
    Library(name="curand", sonames=("libcurand.so.10",), header="curand.h",
            package="nvidia-curand", prefix="curand", not_initialized=101, invalid=103,
            failed=201, not_supported=105),
)}  # fmt: skip


class LibraryFault(Exception):
    """A refusal with one of a library's own codes."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message or f"error {code}")
        self.code = code


class NotServed(Exception):
    """A form of a call that is not served: told once by name, refused with the library's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryEntry:
    """One function: what it is called, its parameters' types, what it does."""

    name: str
    library: Library
    types: tuple[str, ...]
    function: Callable[..., None]

    @property
    def layout(self) -> struct.Struct:
        """The message's words."""
        return struct.Struct("<" + "".join(SHAPES[kind][1] for kind in self.types))


ENTRIES: dict[str, LibraryEntry] = {}


def types_of(letters: str, *, is_wide: bool = False) -> tuple[str, ...]:
    """The parameters' types of a signature such as "h n p p n"."""
    return tuple(
        "I64" if is_wide and letter == "n" else LETTERS[letter] for letter in letters.split()
    )


def add(
    library: str, name: str, letters: str, function: Callable[..., None], *, wide: bool = False
) -> None:
    """Adds an entry, with its 64-bit form if it has one."""
    for ending, is_wide in (("", False), ("_64", True))[: 1 + (wide and "n" in letters)]:
        assert name + ending not in ENTRIES, name
        ENTRIES[name + ending] = LibraryEntry(
            name=name + ending, library=LIBRARIES[library], function=function,
            types=types_of(letters, is_wide=is_wide),
        )  # fmt: skip


def entry(library: str, names: str, letters: str) -> Callable[[Any], Any]:
    """Declares a function as these entries, which share a signature."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for name in names.split():
            add(library, name, letters, function)
        return function

    return declare
