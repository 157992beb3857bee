"""What kernels print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.kernels.model import ARCHITECTURES, FOLDER


@pytest.mark.parametrize("architecture", one_in(4, ARCHITECTURES, str))
def test_printf(architecture: str) -> None:
    """Device printf formats like C and prints lanes in order."""
    values = np.linspace(-1.5, 300, 40)
    run: Any = wl.Device(architecture).compile(FOLDER / "sync.cu", options=("-fmad=false",))[
        "print_lines"
    ][1, 40](values)
    expected = "".join(
        f"thread {t} of block: {values[t]:5.2f} {chr(97 + t)} {255 + t:x} {1234567890123 * t}%\n"
        for t in (3, 19, 35)
    )

    assert run.execution.output == expected
