"""What is not executed is refused before anything runs, by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import warplens as wl
from warplens.errors import Unsupported

SOURCE = Path(__file__).parent / "refused.cu"
CASES = [
    ("sm_75", "texture", "textures"),
    ("sm_120", "texture", "textures"),
    ("sm_86", "surface", "surfaces"),
    ("sm_90", "tensor_map", "tensor maps"),
    ("sm_100", "tensor_map", "tensor maps"),
    ("sm_90", "cluster", "clusters"),
]


@pytest.mark.parametrize(("architecture", "kernel", "feature"), CASES)
def test_refused_by_name(architecture: str, kernel: str, feature: str) -> None:
    """The message names the feature."""
    module = wl.Device(architecture).compile(SOURCE)
    with pytest.raises(Unsupported, match=feature):
        module[kernel]
