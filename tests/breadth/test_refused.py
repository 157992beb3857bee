"""What is not executed is refused before anything runs: by name, with place and a way out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import warplens as wl
from warplens.errors import Unsupported

SOURCE = Path(__file__).parent / "refused.cu"
# kernel, architectures, what the message calls it, what it advises, the SASS
CASES = [
    ("copy_by_width", "100a", "TMA copies by im2col::w", "copy tiles", "UTMALDG.4D.W"),
]


@cache
def module(architecture: str) -> Any:
    """The compiled source; 100a is sm_100 with what only that chip has."""
    sm = architecture.rstrip("a")
    return wl.Device(f"sm_{sm}").compile(SOURCE, options=(f"-arch=sm_{architecture}",))


@pytest.mark.parametrize(
    ("kernel", "architecture", "feature", "advice", "sass"),
    [(k, sm, f, a, s) for k, sms, f, a, s in CASES for sm in sms.split()],
)
def test_refused_by_name(
    kernel: str, architecture: str, feature: str, advice: str, sass: str
) -> None:
    """The message names feature, kernel, offset, source line and SASS, and says what to do."""
    compiled = module(architecture)
    with pytest.raises(Unsupported) as caught:
        compiled[kernel]

    assert feature in caught.value.message
    assert re.search(rf"{kernel}\+0x[0-9a-f]{{4}} \(\S+:\d+\): .*{re.escape(sass)}",
                     caught.value.message)  # fmt: skip
    assert caught.value.hint is not None
    assert advice in caught.value.hint and "list opcodes" in caught.value.hint
    gaps = compiled.gaps(kernel)
    assert any(sass in gap.sass and feature in gap.reason and gap.line for gap in gaps)
    placed = [gap for gap in gaps if gap.line]  # calls of unknown functions have no place
    assert all(f"{gap.offset:#06x}" in caught.value.message for gap in placed)
