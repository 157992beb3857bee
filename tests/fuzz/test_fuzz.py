"""A short fuzzing run, and tests of the fuzzer itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests import exact
from tests.fuzz.campaign import run
from tests.fuzz.generate import generate
from tests.kernels.arithmetic import floats
from tests.kernels.model import ARCHITECTURES

PROGRAMS = 20


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_random_programs(architecture: str) -> None:
    """Random programs give what NumPy computes."""
    failures = run(range(PROGRAMS), [architecture])

    assert not failures, "\n\n".join(failure.report() for failure in failures[:3])


def test_programs_are_reproducible() -> None:
    """A seed always gives the same source and the same inputs."""
    one, two = generate(5), generate(5)

    assert one.cuda("p") == two.cuda("p")
    assert [a.tobytes() for a in one.arguments()] == [a.tobytes() for a in two.arguments()]


@pytest.mark.parametrize("mode", exact.MODES)
def test_fma_oracles_agree(mode: str) -> None:
    """Rounding to odd in doubles and exact rationals give the same float32 bits."""
    generator = np.random.default_rng(3)
    a, b, c = (floats(generator, np.float32, 2000) for _ in range(3))
    with np.errstate(all="ignore"):
        c = np.where(generator.random(2000) < 0.3, -(a * b), c)
    fast, slow = exact.fma(a, b, c, mode), exact.fma_exact(a, b, c, mode)
    nan = np.isnan(fast) & np.isnan(slow)

    assert ((fast.view(np.int32) == slow.view(np.int32)) | nan).all()
