"""Which architectures `warplens build` compiles for, by the options that makefiles give."""

from __future__ import annotations

import pytest

from warplens.toolchain.nvcc import architectures

_OLD = ["-gencode", "arch=compute_60,code=sm_60"]
_A100 = ["-gencode=arch=compute_80,code=sm_80"]


@pytest.mark.parametrize(("words", "must_run", "expected"), [
    ([], False, ["-arch=sm_90"]),
    (["-O3", "-arch=sm_60"], False, ["-arch=sm_90", "-O3"]),
    (["-arch", "native", "-lm"], False, ["-arch=sm_90", "-lm"]),
    ([*_OLD, *_A100, "-O3"], False, [*_A100, "-O3"]),
    ([*_A100, "-O3"], True, ["-arch=sm_90", "-O3"]),  # machine code of another generation alone
    (["-arch=sm_80"], True, ["-arch=sm_80"]),  # its PTX runs
    (["-arch=compute_80", "-code=sm_80"], True, ["-arch=sm_90"]),
    (["-arch=all-major"], True, ["-arch=all-major"]),
    (["--gpu-architecture=sm_90a"], True, ["--gpu-architecture=sm_90a"]),
    (["-gencode", "arch=compute_75,code=compute_75"], True,
     ["-gencode", "arch=compute_75,code=compute_75"]),
])  # fmt: skip
def test_architectures(words: list[str], must_run: bool, expected: list[str]) -> None:
    """What nvcc knows and the GPU runs stays; else the GPU's own architecture is compiled for."""
    assert architectures(words, sm=90, must_run=must_run) == expected
