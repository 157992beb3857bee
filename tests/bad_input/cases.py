"""The list of bad inputs: what is done, the error's class, and words its message must hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl

SOURCE = Path(__file__).with_name("faults.cu")
ARCHITECTURE = "sm_86"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadInput:
    """One mistake of a user."""

    name: str
    error: type[wl.WarplensError]
    words: tuple[str, ...]
    action: Callable[[], Any]


CASES: list[BadInput] = []


def bad(name: str, error: type[wl.WarplensError], words: str, action: Callable[[], Any]) -> None:
    """Declares a case; `words` are separated by commas and compared without case."""
    split = tuple(word.strip().lower() for word in words.split(",") if word.strip())
    CASES.append(BadInput(name=name, error=error, words=split, action=action))


@cache
def module() -> Any:
    """The kernels of faults.cu, shared by all cases: faults must not harm it."""
    return wl.Device(ARCHITECTURE).compile(SOURCE)


@cache
def limited(**limits: Any) -> Any:
    """The same module on a device with limits."""
    from warplens.api import LaunchOptions

    return wl.Device(ARCHITECTURE, options=LaunchOptions(**limits)).compile(SOURCE)


def run_good() -> None:
    """A correct launch on the shared device must still work."""
    data, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    module()["good"][4, 32](data, out, 100)
    assert (out == 2 * data + 1).all()


def ints(n: int = 64) -> Any:
    """A zeroed int32 array."""
    return np.zeros(n, np.int32)


def launch(kernel: str, *arguments: Any, grid: Any = 1, block: Any = 32, shared: int = 0) -> Any:
    """An action that launches a kernel of faults.cu."""
    return lambda: module()[kernel][grid, block, 0, shared](*arguments)
