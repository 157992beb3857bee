"""What the page may ask for: JSON documents, checked field by field before anything is done."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from warplens.errors import InputError

MOST_SOURCE = 1_000_000  # characters
_NAME = re.compile(r"[\w .()<>,:*&~+\-/\[\]$]{0,400}", re.ASCII)


def text_of(document: dict[str, Any], key: str, most: int = 400, default: str | None = None) -> str:
    """A string of limited length."""
    value = document.get(key, default)
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise InputError(f"{key} is not a text of at most {most:,} characters")
    return value


def number_of(document: dict[str, Any], key: str, low: int, high: int, default: int) -> int:
    """A whole number within limits."""
    value = document.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{key} is not a whole number from {low:,} to {high:,}")
    return value


def triple_of(document: dict[str, Any], key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """One to three positive numbers."""
    value = document.get(key, list(default))
    is_list = isinstance(value, list) and 1 <= len(value) <= 3
    if not is_list or not all(type(n) is int and 1 <= n < 1 << 31 for n in value):
        raise InputError(f"{key} is not one to three positive whole numbers")
    return tuple(value)


def texts_of(document: dict[str, Any], key: str, most: int = 64) -> tuple[str, ...]:
    """A list of strings."""
    value = document.get(key, [])
    if not isinstance(value, list) or len(value) > most:
        raise InputError(f"{key} is not a list of at most {most} texts")
    if not all(isinstance(one, str) and len(one) <= 400 and "\0" not in one for one in value):
        raise InputError(f"{key} holds something that is no text of at most 400 characters")
    return tuple(value)


def name_of(document: dict[str, Any], key: str, default: str = "") -> str:
    """The name of a kernel, a template expression, or a GPU."""
    value = text_of(document, key, default=default)
    if _NAME.fullmatch(value) is None:
        raise InputError(f"{key} is not a name")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """A source and how to compile it.

    Attributes:
        file: its name, as the workspace knows it; kernel: "" for the first one.
        cap: registers per thread at most, 0 for no cap.
    """

    file: str
    source: str
    kernel: str
    gpu: str
    cap: int = 0

    @classmethod
    def read(cls, document: dict[str, Any]) -> CodeRequest:
        """Reads and checks a document."""
        return cls(**_code(document))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRequest(CodeRequest):
    """A launch: the code, its shape and its arguments in writing."""

    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (32,)
    shared: int = 0
    arguments: tuple[str, ...] = ()
    warp: tuple[int, int] = (0, 0)

    @classmethod
    def read(cls, document: dict[str, Any]) -> LaunchRequest:
        """Reads and checks a document."""
        return cls(
            **_code(document),
            grid=triple_of(document, "grid", (1,)),
            block=triple_of(document, "block", (32,)),
            shared=number_of(document, "shared", 0, 1 << 20, 0),
            arguments=texts_of(document, "arguments"),
            warp=(number_of(document, "warp_block", 0, (1 << 31) - 1, 0),
                  number_of(document, "warp", 0, 31, 0)),
        )  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """As the message that a worker gets."""
        return asdict(self)


def _code(document: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": text_of(document, "file", default="kernel.cu"),
        "source": text_of(document, "source", MOST_SOURCE),
        "kernel": name_of(document, "kernel"),
        "gpu": name_of(document, "gpu", "H200"),
        "cap": number_of(document, "cap", 0, 255, 0),
    }
