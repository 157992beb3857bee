"""A short fuzzing run of each family, and tests of the fuzzer itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests import exact
from tests.fuzz.campaign import check, run
from tests.fuzz.families import FAMILIES
from tests.fuzz.generate import generate
from tests.in_turn import one_in
from tests.kernels.arithmetic import floats
from tests.kernels.model import ARCHITECTURES

PROGRAMS = 8


@pytest.mark.parametrize(
    ("architecture", "family"),
    one_in(9, list(product(ARCHITECTURES, FAMILIES)), "-".join, first=3, several=True),
)
def test_random_programs(architecture: str, family: str) -> None:
    """Random programs give what NumPy computes."""
    tally = run(range(PROGRAMS), [architecture], family)

    assert tally.runs == PROGRAMS
    assert not tally.failures, "\n\n".join(failure.report() for failure in tally.failures[:3])


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_are_reproducible(family: str) -> None:
    """A seed always gives the same source and the same inputs."""
    one, two = generate(5, family), generate(5, family)

    assert one.cuda("p") == two.cuda("p")
    assert [a.tobytes() for a in one.arguments()] == [a.tobytes() for a in two.arguments()]


def test_a_wrong_expectation_is_found() -> None:
    """One wrong bit in one thread is a mismatch that names thread and variable."""
    program = generate(7)
    expected = program.expected()
    name = next(iter(expected))
    wrong = np.ascontiguousarray(expected[name]).copy()
    wrong.view(np.uint8)[-1] ^= 1
    [failure] = check([program], "sm_86", [{**expected, name: wrong}])

    assert failure.kind == "mismatch"
    assert failure.message.startswith(f"{name} of thread 63: expected")


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
