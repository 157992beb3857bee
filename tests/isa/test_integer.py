"""Integer, logic and move instructions: formula, NumPy engine and LLVM engine agree bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.in_turn import one_in
from tests.isa import bit_formulas, formulas
from tests.isa.cases import (
    Case,
    assert_formula,
    check_constants,
    check_engines,
    function_of,
    inputs_of,
)
from tests.isa.engines import Compiled

CASES = [
    *formulas.additions(),
    *formulas.products(),
    *formulas.comparisons(),
    *formulas.addresses(),
    *formulas.extremes(),
    *bit_formulas.logic(),
    *bit_formulas.shifts(),
    *bit_formulas.permutes(),
    *bit_formulas.fields(),
    *bit_formulas.moves(),
]
SEEDS = st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4)
few = settings(max_examples=2, deadline=None, derandomize=True)


@pytest.mark.parametrize("case", one_in(2, CASES, str))
@given(seeds=SEEDS)
@few
def test_engines_and_formula_agree(case: Case, seeds: list[int]) -> None:
    """32 lanes of edge-biased operands give the formula's results on both engines."""
    check_engines(case, seeds, 32, None)


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_engines_agree_without_avx512(case: Case) -> None:
    """Code for a lesser processor gives the same results."""
    check_engines(case, range(3), 32, "avx2")


@pytest.mark.parametrize("case", CASES[1::3], ids=str)
def test_engines_agree_for_uniform_values(case: Case) -> None:
    """One value instead of 32, as in the uniform datapath."""
    check_engines(case, range(20), 1, None)


@pytest.mark.parametrize("case", one_in(2, CASES, str, first=1))
def test_constant_operands_fold_to_the_same(case: Case) -> None:
    """RZ, PT and immediates are folded while the code is written."""
    for seed in range(2):
        check_constants(case, seed)


@pytest.mark.parametrize(("selector", "case"), list(bit_formulas.fixed_permutes()))
def test_prmt_with_a_known_selector(selector: int, case: Case) -> None:
    """A selector known beforehand gives what the general way gives."""
    arrays = inputs_of(case, selector)
    arrays[1] = np.full(32, selector, np.uint32)
    compiled = Compiled(function_of(case, {1: selector}), case.types)

    assert_formula(case, compiled(np.ones(32, bool), *arrays), arrays)
