"""What lifting has found is kept on disk, and used for the same question only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.execute.executable import KernelCode
from warplens.lift import jit, kept
from warplens.lift.engines.host import host_features
from warplens.lift.lifter import lift
from warplens.lift.regions.lifted import Lifted
from warplens.lift.regions.watch import WATCH_ALL
from warplens.sass.model import SassKernel, Special
from warplens.toolchain.cache import Cache, default_cache

SOURCE = """
extern "C" __global__ void sums(const float* x, float* out, int n) {
    __shared__ float part[128];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 128) sum += x[blockIdx.x * n + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 64; step; step >>= 1) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
_FEATURES = host_features()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Where a test keeps what it lifts."""
    return Cache(tmp_path)


@pytest.fixture
def lifts(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> list[SassKernel]:
    """The kernels that were lifted in a test, which begins with an empty cache."""
    done: list[SassKernel] = []

    def noted(kernel: SassKernel, *more: Any) -> Lifted:
        done.append(kernel)
        return lift(kernel, *more)

    monkeypatch.setattr(kept, "lift", noted)
    monkeypatch.setattr(kept, "default_cache", lambda: cache)
    return done


def sums() -> wl.Kernel:
    """The kernel as another process meets it."""
    return wl.Device("H200").compile(SOURCE)["sums"]


def plain(lifts: list[SassKernel]) -> SassKernel:
    """The kernel's machine code, lifted once, as it is."""
    sass = sums().sass
    assert lifts == [sass]
    lifts.clear()
    return sass


def launched(kernel: wl.Kernel) -> dict[str, Any]:
    """What a prediction and a launch say; the result is right."""
    x, out = np.ones((8, 1000), np.float32), np.zeros(8, np.float32)
    names = ("gpu__time_duration.sum", "smsp__inst_executed.sum", "l1tex__t_requests.sum",
             "smsp__thread_inst_executed.sum")  # fmt: skip
    predicted = kernel.predict[8, 128](x, out, 1000)
    run = kernel[8, 128](x, out, 1000)
    np.testing.assert_array_equal(out, 1000)
    return {f"{name} {i}": one.metric(name)
            for i, one in enumerate((predicted, run)) for name in names}  # fmt: skip


def test_second_process_lifts_nothing(lifts: list[SassKernel]) -> None:
    """A prediction and a launch are the same to the byte without lifting, traced and not."""
    first = launched(sums())
    assert len(lifts) >= 2  # as it is, and traced
    lifts.clear()

    assert launched(sums()) == first
    assert not lifts


@pytest.mark.parametrize("tier", [0, 1])
def test_tables_are_those_of_lifting(tier: int, lifts: list[SassKernel]) -> None:
    sass = sums().sass
    made = kept.lifted(sass, _FEATURES, WATCH_ALL, tier)
    found = kept.lifted(sass, _FEATURES, WATCH_ALL, tier)

    assert made.ir
    assert not found.ir
    assert found.key == made.key == jit.key_of(made, _FEATURES)
    np.testing.assert_array_equal(found.counters.rows, made.counters.rows)
    assert found.counters.names == made.counters.names
    for name in ("layout", "n_counters", "sites", "site_widths", "n_registers", "ordered_reason",
                 "tier"):  # fmt: skip
        assert getattr(found, name) == getattr(made, name), name


def _instruction(sass: SassKernel, **changed: Any) -> SassKernel:
    code = list(sass.instructions)
    code[5] = dataclasses.replace(code[5], **changed)
    return dataclasses.replace(sass, instructions=tuple(code))


OTHERS: dict[str, Callable[[SassKernel], tuple[Any, ...]]] = {
    "cluster": lambda sass: (dataclasses.replace(sass, cluster=(2, 1, 1)), _FEATURES),
    "encoding": lambda sass: (_instruction(sass, encoding=1), _FEATURES),
    "operands": lambda sass: (
        _instruction(sass, operands=sass.instructions[5].operands[::-1]), _FEATURES,
    ),
    "processor": lambda sass: (sass, dataclasses.replace(_FEATURES, has_halves=True, cpu="other")),
    "shown": lambda sass: (sass, _FEATURES, WATCH_ALL),
    "needless": lambda sass: (
        sass, _FEATURES, dataclasses.replace(WATCH_ALL, needless=frozenset({3})),
    ),
    "tier": lambda sass: (sass, _FEATURES, False, 1),
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_other_questions_have_other_answers(
    other: str, lifts: list[SassKernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    sass = plain(lifts)

    def as_it_is(*_: Any) -> Lifted:
        lifts.append(sass)
        return lift(sass, _FEATURES)

    monkeypatch.setattr(kept, "lift", as_it_is)
    kept.lifted(sass, _FEATURES)
    assert not lifts

    kept.lifted(*OTHERS[other](sass))
    assert lifts


def test_changed_sources_find_nothing(
    lifts: list[SassKernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever changes how kernels are lifted meets no table of before."""
    sass = plain(lifts)
    assert kept.found(sass, "a question", lambda: [1]) == [1]
    monkeypatch.setattr(kept, "sources", lambda *patterns: "others")

    kept.lifted(sass, _FEATURES)
    assert lifts == [sass]
    assert kept.found(sass, "a question", lambda: [2]) == [2]
    assert kept.found(sass, "a question", lambda: [3]) == [2]


@pytest.mark.parametrize("damage", [b"", b"\0" * 100])
def test_damaged_tables_are_made_anew(
    damage: bytes, lifts: list[SassKernel], tmp_path: Path
) -> None:
    sass = plain(lifts)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(damage)

    assert kept.lifted(sass, _FEATURES).ir
    assert not kept.lifted(sass, _FEATURES).ir


@pytest.mark.parametrize("text", [b"[]\n", b"{}\n", b"no JSON", b'{"key": 3}\nrow', b"\xff\n"])
def test_what_others_put_there_is_not_used(
    text: bytes, lifts: list[SassKernel], cache: Cache
) -> None:
    sass = plain(lifts)
    cache.put(kept.KIND, kept.key(sass, _FEATURES, False, 0), text)

    assert kept.lifted(sass, _FEATURES).ir
    assert not kept.lifted(sass, _FEATURES).ir


class _Forgetful(Cache):
    """A cache that has lost all objects."""

    def get(self, kind: str, key: str | bytes) -> bytes | None:
        """An entry of another kind."""
        return None if kind == "object" else super().get(kind, key)


def test_lost_machine_code_is_compiled_again(
    lifts: list[SassKernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables are kept apart from machine code, which may be removed before them."""
    first = launched(sums())
    monkeypatch.setattr(jit, "default_cache", lambda: _Forgetful(default_cache().directory))
    lifts.clear()

    assert launched(sums()) == first
    assert lifts


def test_gaps_are_refused_every_time(lifts: list[SassKernel]) -> None:
    """With all of them listed, also those that only writing the code meets."""
    kernel = sums()
    code = list(kernel.sass.instructions)
    for i, inst in enumerate(code):
        if inst.opcode == "S2R":
            operands = inst.operands[0], Special("SR_UNHEARD_OF")
            code[i] = dataclasses.replace(inst, operands=operands)
    sass = dataclasses.replace(kernel.sass, instructions=tuple(code))
    texts = set()
    for _ in range(2):
        with pytest.raises(wl.Unsupported, match="SR_UNHEARD_OF") as refused:
            KernelCode(kernel.code.image, sass)
        texts.add(str(refused.value))
    assert len(texts) == 1


def test_nothing_is_kept_without_a_cache(
    lifts: list[SassKernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    sass = plain(lifts)
    monkeypatch.setattr(kept, "default_cache", lambda: Cache(None))
    assert kept.lifted(sass, _FEATURES).ir
    assert kept.found(sass, "a question", lambda: [1]) == [1]
