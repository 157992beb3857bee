"""The formulas against simulation, enumeration and exact arithmetic that know nothing of them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warplens.models as m
from warplens.errors import InputError
from warplens.gpus import find_gpu


def simulated_utilisation(warps: int, latency: int, issue: int, cycles: int = 40_000) -> float:
    """One scheduler, cycle by cycle: issue `issue` instructions, then wait for the load."""
    ready_at, left = [0] * warps, [issue] * warps
    busy = 0
    for now in range(cycles):
        warp = min(range(warps), key=lambda w: ready_at[w])  # the one that waits longest
        if ready_at[warp] <= now:
            busy += 1
            left[warp] -= 1
            if left[warp] == 0:
                left[warp], ready_at[warp] = issue, now + 1 + latency
    return busy / cycles


@pytest.mark.parametrize(
    ("warps", "latency", "issue"), [(1, 40, 4), (4, 40, 4), (8, 36, 4), (3, 20, 1)]
)
def test_utilisation_equals_a_simulated_scheduler(warps: int, latency: int, issue: int) -> None:
    """Below saturation the share of busy cycles is the formula's."""
    expected = simulated_utilisation(warps, latency, issue)

    assert m.scheduler_utilisation(warps, latency, issue, schedulers=1) == pytest.approx(
        expected, rel=0.01
    )


@pytest.mark.parametrize(("latency", "issue"), [(40, 4), (41, 4), (30, 7)])
def test_warps_to_hide_is_the_least_number(latency: int, issue: int) -> None:
    """That many simulated warps keep the scheduler busy, one fewer do not."""
    enough = m.warps_to_hide(latency, issue)

    assert simulated_utilisation(enough, latency, issue) > 0.995
    assert simulated_utilisation(enough - 1, latency, issue) < 0.995


def test_bandwidth_follows_from_bytes_in_flight() -> None:
    """With the warps that saturate DRAM the bandwidth is reached, with half of them half of it."""
    spec = find_gpu("H100")
    need = m.warps_to_saturate_dram(spec)

    assert m.bandwidth_reached(spec, need) == spec.dram_bandwidth_bytes_per_second
    assert m.bandwidth_reached(spec, need / 2) == pytest.approx(
        spec.dram_bandwidth_bytes_per_second / 2, rel=0.02
    )
    seconds = spec.value("latency.dram") / (spec.boost_clock_mhz * 1e6)
    assert m.bytes_in_flight(spec) == pytest.approx(
        m.in_flight(spec.dram_bandwidth_bytes_per_second, seconds)
    )


@given(st.fractions(0, 1, max_denominator=50), st.integers(1, 10))
@settings(max_examples=40)
def test_divergence_probability_by_enumeration(p: Fraction, lanes: int) -> None:
    """Summing the probability of every outcome of up to ten lanes gives the formula's value."""
    mixed = sum(
        p ** sum(outcome) * (1 - p) ** (lanes - sum(outcome))
        for outcome in itertools.product((0, 1), repeat=lanes)
        if 0 < sum(outcome) < lanes
    )

    assert m.divergence_probability(float(p), lanes) == pytest.approx(float(mixed), abs=1e-12)


@given(
    st.fractions(0, 1, max_denominator=20), st.integers(1, 8), st.integers(0, 9), st.integers(0, 9)
)
@settings(max_examples=40)
def test_branch_cycles_by_enumeration(p: Fraction, lanes: int, first: int, second: int) -> None:
    """The mean over all outcomes, each paying for the paths that some lane takes."""
    mean = Fraction(0)
    for outcome in itertools.product((0, 1), repeat=lanes):
        weight = p ** sum(outcome) * (1 - p) ** (lanes - sum(outcome))
        mean += weight * (first * any(outcome) + second * (not all(outcome)))

    assert m.expected_branch_cycles(float(p), first, second, lanes) == pytest.approx(float(mean))


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=32), st.sampled_from([1, 2, 4, 8, 16]))
def test_any_access_equals_counting_with_sets(elements: list[int], width: int) -> None:
    """Sectors, lines and bytes are what sets of byte addresses contain."""
    addresses = [width * e for e in elements]
    touched = {a + b for a in addresses for b in range(width)}
    found = m.warp_access(addresses, width)

    assert found.sectors == len({byte // 32 for byte in touched})
    assert found.lines == len({byte // 128 for byte in touched})
    assert found.bytes_used == len(touched)
    assert found.efficiency == len(touched) / (32 * found.sectors)


@given(
    st.integers(-40, 40), st.integers(0, 70), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 32)
)
def test_strided_access_equals_counting(stride: int, offset: int, width: int, lanes: int) -> None:
    """Any stride, offset, width and number of lanes, also backwards."""
    starts = [width * (offset + stride * lane) for lane in range(lanes)]
    sectors = {(start + byte) // 32 for start in starts for byte in range(width)}

    assert m.strided_access(stride, width, offset, lanes).sectors == len(sectors)


def test_strides_vectorise() -> None:
    """A table of strides and offsets equals single questions."""
    strides, offsets = np.arange(0, 40)[:, None], np.arange(0, 9)
    table = m.strided_access(strides, 4, offsets)

    assert table.sectors.shape == (40, 9)
    for stride, offset in ((0, 0), (1, 3), (39, 8), (16, 1)):
        assert table.sectors[stride, offset] == m.strided_access(stride, 4, offset).sectors


@given(st.integers(1, 3000), st.integers(1, 130), st.sampled_from([1, 2, 4, 8, 16]))
def test_requests_and_sectors_equal_counting(threads: int, block: int, width: int) -> None:
    """Block by block, warp by warp, with sets."""
    requests = sectors = 0
    for begin in range(0, threads, block):
        end = min(begin + block, threads)
        for warp in range(begin, end, 32):
            lanes = range(warp, min(warp + 32, end))
            requests += 1
            sectors += len({(i * width + b) // 32 for i in lanes for b in range(width)})

    assert m.requests_and_sectors(threads, block, width) == (requests, sectors)


def counted_passes(addresses: list[int], width: int) -> int:
    """Passes by definition: groups of 128 bytes of lanes, one distinct word per bank and pass."""
    group = 32 * 4 // max(width, 4)
    passes = 0
    for first in range(0, len(addresses), group):
        banks: dict[int, set[int]] = {}
        for address in addresses[first : first + group]:
            for word in range(address // 4, (address + width - 1) // 4 + 1):
                banks.setdefault(word % 32, set()).add(word)
        passes += max(len(words) for words in banks.values())
    return passes


@given(st.lists(st.integers(0, 500), min_size=1, max_size=32), st.sampled_from([1, 2, 4, 8, 16]))
def test_any_bank_access_equals_counting(elements: list[int], width: int) -> None:
    """Arbitrary maps of every width."""
    addresses = [width * e for e in elements]
    found = m.bank_access(addresses, width)

    assert found.passes == counted_passes(addresses, width)
    assert found.conflicts == found.passes - found.ideal >= 0


@given(st.integers(-70, 70), st.integers(0, 40))
def test_affine_degree_is_the_greatest_common_divisor(stride: int, offset: int) -> None:
    """For words the degree is gcd(stride, 32); stride 0 is a broadcast."""
    expected = 1 if stride == 0 else math.gcd(stride, 32)
    found = m.affine_access(stride, 4, offset)

    assert found.degree == found.passes == expected
    if stride:
        assert m.banks_used(stride) * expected == 32


@pytest.mark.parametrize("words", range(1, 70))
def test_padding_removes_column_conflicts(words: int) -> None:
    """A padded row has no conflict in its columns, and less padding would not do."""
    padding = m.row_padding(words)

    assert m.affine_access(words + padding).conflicts == 0
    assert all(m.affine_access(words + less).conflicts > 0 for less in range(padding))


def test_masks_and_reduction_schemes() -> None:
    """Lane 0 to 15 are 0x0000ffff; the three reduction schemes keep all their additions."""
    assert m.active_mask(np.arange(32) < 16) == 0x0000FFFF
    assert m.active_mask(np.arange(32) % 2 == 0) == 0x55555555
    for scheme in ("interleaved", "packed", "sequential"):
        steps = [1 << s for s in range(8)]
        assert sum(int(m.reduction_activity(256, s, scheme).sum()) for s in steps) == 255
    values = np.random.default_rng(0).integers(0, 99, 64)
    for scheme in ("interleaved", "packed"):
        data = values.copy()
        for step in (1, 2, 4, 8, 16, 32):
            at = np.flatnonzero(m.reduction_activity(64, step, scheme))
            at = at if scheme == "interleaved" else 2 * step * at
            data[at] += data[at + step]
        assert data[0] == values.sum()


def test_cache_fit_has_its_best_where_the_data_still_fits() -> None:
    """Four blocks of 64 KB fill an L1 of 256 KB; shared memory per block takes from it."""
    fit = m.cache_fit("H200", max_blocks=8, warps_per_block=8, working_set_bytes=65536)
    less = m.cache_fit(
        "H200", max_blocks=8, warps_per_block=8, working_set_bytes=65536,
        shared_bytes_per_block=16384,
    )  # fmt: skip

    assert fit.best_blocks == 4 and np.all(np.diff(fit.hit_rate) <= 0)
    assert less.best_blocks < 4
    assert m.l1_bytes("RTX 4090") == 131072 and m.l1_bytes("RTX 4090", 100 * 1024) == 28 * 1024
    with pytest.raises(InputError, match="shared memory of an SM"):
        m.l1_bytes("RTX 4090", 200_000)


def test_hit_rate_equals_a_simulated_cache() -> None:
    """Random reuse of twice the capacity hits half the time."""
    rng = np.random.default_rng(1)
    cache: dict[int, None] = {}
    hits = 0
    for line in rng.integers(0, 200, 20_000).tolist():
        hits += line in cache
        cache.pop(line, None)
        cache[line] = None
        if len(cache) > 100:
            del cache[next(iter(cache))]

    assert m.hit_rate(100, 200) == pytest.approx(hits / 20_000, abs=0.02)


@pytest.mark.parametrize("tile", [(8, 4), (16, 16), (5, 3)])
def test_gemm_traffic_equals_a_walk_over_tiles(tile: tuple[int, int]) -> None:
    """Every tile of C reads its rows of A and its columns of B."""
    rows, columns, inner = 40, 30, 7
    bytes_moved = 0
    for top in range(0, rows, tile[0]):
        for left in range(0, columns, tile[1]):
            height, width = min(tile[0], rows - top), min(tile[1], columns - left)
            bytes_moved += 4 * (height * inner + width * inner + height * width)
    work = m.tiled_gemm_work(rows, columns, inner, *tile)

    assert work.bytes_moved == bytes_moved and work.operations == 2 * rows * columns * inner


def test_convolution_operations_equal_a_walk_over_outputs() -> None:
    """Every output multiplies and adds kernel * kernel * channels times."""
    image, weights = np.ones((3, 9, 8)), np.ones((5, 3, 3, 3))
    outputs = operations = 0
    for _ in range(-1, 9 + 1 - 3 + 1, 2):
        for _ in range(-1, 8 + 1 - 3 + 1, 2):
            outputs += weights.shape[0]
            operations += 2 * weights.size
    work = m.convolution_work(1, 3, 5, 9, 8, 3, stride=2, padding=1)

    assert work.operations == operations
    assert work.bytes_moved == 4 * (image.size + weights.size + outputs)


def test_chosen_stencil_tiles_are_feasible_and_not_beaten() -> None:
    """The choice keeps the occupancy asked for; a longer reach asks for larger tiles."""
    for radius in (1, 2, 4):
        best = m.choose_stencil_tile("RTX 4090", radius, min_occupancy=0.6)
        assert best.occupancy >= 0.6 and best.reads_per_output >= 1
        for other in ((32, 4), (64, 8), (32, 16), (128, 2)):
            tile = m.stencil_tile("RTX 4090", other, radius)
            assert tile.occupancy < 0.6 or tile.reads_per_output >= best.reads_per_output
    with pytest.raises(InputError, match="no tile"):
        m.choose_stencil_tile("RTX 4090", 1, registers=255)


def test_roofline_meets_at_the_ridge() -> None:
    """At the ridge both limits are equal; the peaks are the published ones."""
    roof = m.roofline("H200")
    tensor = m.roofline("H200", "fp16_fp32acc", clock=1830)

    assert roof.attainable(roof.ridge) == pytest.approx(roof.peak)
    assert roof.peak == pytest.approx(66.9e12, rel=0.01)
    assert tensor.peak == pytest.approx(989.5e12, rel=0.01)  # the datasheet's dense rate
    assert (roof.bound(1), roof.bound(100)) == ("memory", "compute")
    assert m.roofline("T4").peak == pytest.approx(8.1e12, rel=0.01)
    with pytest.raises(InputError, match="has no peak rate 'fp3'"):
        m.roofline("H200", "fp3")
    with pytest.raises(InputError, match="level"):
        m.roofline("H200", level="disk")


@given(st.integers(1, 5000), st.integers(1, 32), st.integers(1, 200))
def test_waves_equal_filling_the_gpu(blocks: int, per_sm: int, sms: int) -> None:
    """Dealing blocks out wave by wave gives the same counts."""
    left, capacity, full = blocks, per_sm * sms, 0
    while left >= capacity:
        left, full = left - capacity, full + 1
    found = m.waves(blocks, per_sm, sms)

    assert (found.full, found.tail_blocks) == (full, left)
    assert found.efficiency == blocks / (capacity * (full + (left > 0)))


def test_phases_add_up() -> None:
    """Amdahl's law is the two-phase mix; rates combine as times do."""
    assert m.amdahl(0.3, 5) == pytest.approx(m.phase_mix((0.3, 0.7), (5, 1)))
    assert m.phase_rate((10, 30), (5, 10)) == 40 / (10 / 5 + 30 / 10)
    assert m.combined_gain((1.7, 1.15)) == pytest.approx(1.955)


@pytest.mark.parametrize(
    "call",
    [
        lambda: m.divergence_probability(1.5),
        lambda: m.warps_to_hide(-1, 4),
        lambda: m.warps_to_hide("x", 4),
        lambda: m.path_efficiency((30, 5), (1, 1)),
        lambda: m.warp_access([2], 4),
        lambda: m.warp_access([4], 3),
        lambda: m.bank_access(list(range(0, 132, 4))),
        lambda: m.strided_access(1.5),
        lambda: m.strided_access(1, lanes=33),
        lambda: m.compacted_throughput(8, (1, 2), (0.5, 0.6)),
        lambda: m.phase_mix((0.5,), (1, 2)),
        lambda: m.waves(0, 1, 1),
        lambda: m.gemm_work(0, 1, 1),
        lambda: m.convolution_work(1, 1, 1, 2, 2, 5),
        lambda: m.choose_stencil_tile("H200", 1, 4),
        lambda: m.reduction_activity(8, 1, "odd"),
        lambda: m.active_mask([True] * 33),
        lambda: m.readiness([], 3),
    ],
)
def test_bad_input_is_a_typed_error(call) -> None:
    """Everything outside the domain is an InputError."""
    with pytest.raises(InputError):
        call()
