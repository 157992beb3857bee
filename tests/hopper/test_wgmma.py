"""wgmma equals an H100 bit for bit: every type and source on adversarial numbers, every layout."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from validation.recorder.wgmma_kernels import KERNELS, descriptor, source

from tests.in_turn import one_in
from warplens import Device, Kernel

Array = npt.NDArray[Any]
DATA = Path(__file__).parents[2] / "validation" / "data"


@lru_cache(maxsize=1)
def recorded() -> dict[str, Array]:
    """The recording."""
    return dict(np.load(DATA / "wgmma_sm90.npz"))


@lru_cache(maxsize=1)
def module() -> Any:
    """All kernels; the source is compiled for sm_90a because it needs it."""
    return Device("H200").compile(source(list(KERNELS.values())))


def run(name: str, images: Array, descriptors: tuple[int, int], counts: bool, a: Array,
        c: Array) -> Array:  # fmt: skip
    """D's registers (case, thread, register)."""
    kernel: Kernel = module()[name]
    before = c.view(np.float32) if KERNELS[name].sums == "f32" else c.view(np.uint32)
    after = np.zeros_like(before)
    kernel[len(images), 128, 0, images.shape[1] + 1024](
        images, images.shape[1] // 16, *descriptors, int(counts), a, before, after
    )
    return after.view(np.uint32)


def matrices(rows: Array) -> Array:
    """Rows of 32 bytes as core matrices of 8 x 16 bytes, two along k, 256 bytes along rows."""
    count, n, _ = rows.shape
    return rows.reshape(count, n // 8, 8, 2, 16).transpose(0, 1, 3, 2, 4).reshape(count, n * 32)


def fragments(rows: Array) -> Array:
    """A's four registers of every thread."""
    words = np.ascontiguousarray(rows).view(np.uint32).reshape(len(rows), 4, 2, 8, 2, 4)
    return np.ascontiguousarray(words.transpose(0, 1, 3, 5, 4, 2)).reshape(len(rows), 128, 4)


@pytest.mark.parametrize(
    "name", one_in(4, [n for n in KERNELS if not n.startswith("lay")], str)
)
def test_products_are_an_h100s(name: str) -> None:
    """All bits, infinities, NaNs, denormals and wrapped integers included."""
    data = recorded()
    a, b, c, d = (data[f"{name}_{part}"] for part in "ABCD")
    images = np.concatenate([matrices(a), matrices(b)], 1)
    places = descriptor(0, 128, 256, 0), descriptor(2048, 128, 256, 0)

    found = run(name, images, places, True, fragments(a), c.view(np.uint32))

    wrong = (found != d.view(np.uint32)).any((1, 2))
    assert not wrong.any(), sorted({str(label) for label in data[f"{name}_set"][wrong]})


def test_without_scale_d_the_old_value_does_not_count() -> None:
    """scale-d = 0 gives A * B alone, against NumPy on integers."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 10, s).astype(np.float16) for s in ((1, 64, 16), (1, 8, 16)))
    images = np.concatenate([matrices(a.view(np.uint8)), matrices(b.view(np.uint8))], 1)
    places = descriptor(0, 128, 256, 0), descriptor(2048, 128, 256, 0)
    junk = np.full((1, 128, 4), np.float32(7)).view(np.uint32)

    d = run("f16_f32", images, places, False, fragments(a.view(np.uint8)), junk)

    product = (a[0].astype(float) @ b[0].astype(float).T).astype(np.float32)
    thread = np.arange(128)
    row = 16 * (thread // 32) + thread % 32 // 4
    for i in range(4):
        expected = product[row + 8 * (i // 2), 2 * (thread % 4) + i % 2]
        assert np.array_equal(d[0, :, i].view(np.float32), expected)


@pytest.mark.parametrize("name", [n for n in KERNELS if n.startswith("lay")])
def test_layouts_are_an_h100s(name: str) -> None:
    """All swizzles, K-major and MN-major, starts inside the pattern and base offsets."""
    data = recorded()
    kind = {"lay_s8": np.int8, "lay_tf32": np.float32}.get(name, np.float16)
    image = np.ascontiguousarray(data[f"image_{name}"].astype(kind)).view(np.uint8)[None]
    zeros = np.zeros((1, 128, KERNELS[name].registers), np.uint32)
    compared = 0
    for i, case in enumerate(data["layouts"]):
        if case[0] != name:
            continue
        mode, at_a, la, sa, at_b, lb, sb, base = (int(part) for part in case[1:])
        places = descriptor(at_a, la, sa, mode, base), descriptor(at_b, lb, sb, mode, base)
        d = run(name, image, places, False, np.zeros(4, np.uint32), zeros)[0]
        some = d[:, [*range(8), *range(-4, 0)]]
        values = some.view(np.int32) if name == "lay_s8" else some.view(np.float32)
        assert np.array_equal(values.astype(np.int64), data[f"lay{i}"].astype(np.int64)), case
        compared += 1
    assert compared == 8


def test_a_descriptor_beyond_shared_memory_is_a_fault() -> None:
    """It is named, not read."""
    image, zeros = np.zeros((1, 4096), np.uint8), np.zeros((1, 128, 4), np.uint32)
    places = descriptor(0, 128, 256, 0), descriptor(200000, 128, 256, 0)
    with pytest.raises(Exception, match="invalid __shared__ access"):
        run("f16_f32", image, places, True, np.zeros(4, np.uint32), zeros)


@pytest.mark.parametrize(("name", "cycles"), [("lay_f16_00", 64)])
def test_a_product_holds_the_tensor_cores_half_a_cycle_a_column(name: str, cycles: int) -> None:
    """The rate behind predicted times is the recorded one."""
    from warplens.gpus.find import find_gpu
    from warplens.timing.tensor import warpgroup_interval

    product = next(i for i in module()[name].sass.instructions if i.opcode == "HGMMA")
    rows = [r for r in recorded()["pace"] if r[0] == "t_f16_128" and r[1] == "4"]
    measured = int(rows[0][3]) / int(rows[0][2]) / 4
    assert warpgroup_interval(find_gpu("H200"), product) == cycles
    assert measured == pytest.approx(cycles, rel=0.02)
