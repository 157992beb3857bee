"""Products of tensor memory (tcgen05.mma) against NumPy and an H200's recorded wgmma."""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.images import along_k, along_rows, descriptor, instruction, scaled_instruction
from tests.in_turn import one_in
from warplens import Device

Array = npt.NDArray[Any]
DATA = Path(__file__).parents[2] / "validation" / "data"


@lru_cache(maxsize=2)
def module(architecture: str = "100a") -> Any:
    """The kernels; sm_103a lacks bytes, sm_110a D's old value scaled."""
    options = [f"-arch=sm_{architecture}"]
    if architecture == "100a":
        options.append("-DOF_SM_100")
    source = Path(__file__).parent / "products.cu"
    return Device(f"sm_{architecture[:3]}").compile(source, options=options)


def run(name: str, image: Array, a: int, b: int, idesc: int, before: Array, *, adds: int = 1,
        d: int = 0, scales: tuple[int, int] = (0, 0), masks: tuple[int, ...] = (0, 0, 0, 0),
        metadata: int = 0, architecture: str = "100a", is_checked: bool = False,
        ) -> Array:  # fmt: skip
    """All cells afterwards: 128 lanes, 512 columns. Under the sanitizers, which find nothing?"""
    image = np.concatenate([image, np.zeros(-len(image) % 16, np.uint8)])
    after = np.zeros((128, 512), np.uint32)
    start = np.zeros((128, 512), np.uint32)
    start[:, : before.shape[1]] = before
    operands = struct.pack("<QQ10I", a, b, idesc, adds, d, *scales, *masks, metadata)
    kernel = module(architecture)[name]
    runs = kernel.sanitize if is_checked else kernel
    report = runs[1, 128, 0, len(image) + 1024](
        image.view(np.uint32), len(image) // 16, operands, start, after
    )
    assert not is_checked or not report.findings
    return after


def small(rng: np.random.Generator, *shape: int) -> Array:
    """Whole numbers whose products add up exactly in every format."""
    return rng.integers(-4, 5, shape).astype(np.float64)


def bits16(x: Array, kind: int) -> Array:
    """Halves (0) or bfloat16 (1)."""
    if kind == 0:
        return x.astype(np.float16).view(np.uint16)
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bytes_of(words: Array) -> Array:
    """Rows of bytes."""
    return np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)


def lanes_of(rows: int) -> Array:
    """Where D's rows stand: all lanes, or sixteen of each warp's."""
    n = np.arange(rows)
    return n // 16 * 32 + n % 16 if rows == 64 else n


@pytest.mark.parametrize(("m", "n"), [(128, 256), (128, 16), (64, 8), (64, 136)])
@pytest.mark.parametrize("layout", [0, 6, 4, 2])
def test_halves(m: int, n: int, layout: int) -> None:
    """Every shape's limits and every swizzle; D of singles that counts."""
    rng = np.random.default_rng(m + n + layout)
    a, b, c = small(rng, m, 16), small(rng, n, 16), small(rng, m, n)
    first, da = along_k(bytes_of(bits16(a, 0)), layout, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), layout, len(first))
    before = np.zeros((128, n), np.uint32)
    before[lanes_of(m)] = c.astype(np.float32).view(np.uint32)

    after = run("f16", np.concatenate([first, second]), da, db,
                instruction(m, n, a=0, b=0, d=1), before)  # fmt: skip

    assert np.array_equal(after[lanes_of(m), :n].view(np.float32), a @ b.T + c)
    others = np.setdiff1d(np.arange(128), lanes_of(m))
    assert not after[others].any() and not after[:, n:].any()


def narrow(rng: np.random.Generator, kind: int, *shape: int) -> tuple[Array, Array]:
    """Random codes of a format of at most 8 bits, by its number in descriptors; their values."""
    sizes = {0: (4, 3), 1: (5, 2), 3: (2, 3), 4: (3, 2), 5: (2, 1)}  # exponent, fraction bits
    n, p = sizes[kind]
    codes = rng.integers(0, 1 << (n + p + 1), shape)
    size = codes & ((1 << (n + p)) - 1)
    # without infinities and NaN
    codes = np.where(size >= ((1 << (n + p)) - (1 << p) if kind < 3 else 1 << 30), 0, codes)
    field, part = codes >> p & ((1 << n) - 1), codes & ((1 << p) - 1)
    whole = np.where(field > 0, part + (1 << p), part).astype(np.float64)
    values = whole * 2.0 ** (np.maximum(field, 1) - ((1 << (n - 1)) - 1) - p)
    return codes.astype(np.uint8), np.where(codes >> (n + p) & 1, -values, values)


def mixed_rows(codes: Array, kind: int) -> Array:
    """Rows of 32 numbers, of 4 and 6 bits packed and padded to 16 bytes for sixteen."""
    if kind < 3:
        return codes
    bits = 4 if kind == 5 else 6
    each = (codes[..., None] >> np.arange(bits) & 1).reshape(len(codes), 2, 16 * bits)
    padded = np.zeros((len(codes), 2, 128), np.uint8)
    padded[:, :, : 16 * bits] = each
    return np.packbits(padded.reshape(len(codes), 256), axis=1, bitorder="little")


def close(found: Array, exact: Array, size: Array) -> None:
    """Singles within what 25 kept bits of the largest of some sums' terms allow."""
    assert np.abs(found.astype(np.float64) - exact).max() <= 2.0**-22 * size.max()


@pytest.mark.parametrize("along", ["AB", "A", "B"])
@pytest.mark.parametrize("layout", [0, 6, 4, 2])
def test_operands_along_rows(along: str, layout: int) -> None:
    """Rows of A and columns of B may lie side by side in memory."""
    rng = np.random.default_rng(layout)
    m, n = 128, 64
    a, b = small(rng, m, 16), small(rng, n, 16)
    places = []
    image = np.zeros(0, np.uint8)
    for name, matrix in (("A", a), ("B", b)):
        words = bits16(matrix, 1)
        if name in along:
            more, place = along_rows(bytes_of(words.T), layout, len(image))
        else:
            more, place = along_k(bytes_of(words), layout, len(image))
        image = np.concatenate([image, more])
        places.append(place)
    idesc = instruction(m, n, a=1, b=1, d=1, a_along="A" in along, b_along="B" in along,
                        negated=(1, 0))  # fmt: skip

    after = run("f16", image, *places, idesc, np.zeros((128, n), np.uint32), adds=0)

    assert np.array_equal(after[:, :n].view(np.float32), -a @ b.T)


@pytest.mark.parametrize("layout", [1, 0])
def test_tf32_along_rows(layout: int) -> None:
    """TF32 with the swizzle of 32 bytes, and without one; 13 bits of each number do not count."""
    rng = np.random.default_rng(layout)
    a, b = small(rng, 128, 8), small(rng, 32, 8)
    words = [x.astype(np.float32).view(np.uint32) | 0x1000 for x in (a, b)]
    first, da = along_rows(bytes_of(words[0].T), layout, 0)
    second, db = along_rows(bytes_of(words[1].T), layout, len(first))
    idesc = instruction(128, 32, a=2, b=2, d=1, a_along=1, b_along=1)

    after = run("tf32", np.concatenate([first, second]), da, db, idesc,
                np.zeros((128, 32), np.uint32), adds=0)  # fmt: skip

    assert np.array_equal(after[:, :32].view(np.float32), a @ b.T)


@pytest.mark.parametrize("a_kind", [0, 1, 3, 4, 5])
@pytest.mark.parametrize("b_kind", [0, 3, 5])
def test_mixed_floats(a_kind: int, b_kind: int) -> None:
    """Floats of 8, 6 and 4 bits, mixed."""
    rng = np.random.default_rng(a_kind * 8 + b_kind)
    a, av = narrow(rng, a_kind, 128, 32)
    b, bv = narrow(rng, b_kind, 48, 32)
    first, da = along_k(mixed_rows(a, a_kind), 6, 0)
    second, db = along_k(mixed_rows(b, b_kind), 6, len(first))

    after = run("f8f6f4", np.concatenate([first, second]), da, db,
                instruction(128, 48, a=a_kind, b=b_kind, d=1), np.zeros((128, 48), np.uint32),
                adds=0)  # fmt: skip

    close(after[:, :48].view(np.float32), av @ bv.T, np.abs(av) @ np.abs(bv).T)


@pytest.mark.parametrize("signs", [(1, 1), (0, 1), (0, 0)])
@pytest.mark.parametrize("saturates", [0, 1])
def test_bytes(signs: tuple[int, int], saturates: int) -> None:
    """Signed and unsigned bytes; sums wrap or stop."""
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, (192, 32)).astype(np.uint8)
    a, b = (x.view(np.int8) if s else x for x, s in zip((raw[:128], raw[128:]), signs, strict=True))
    c = rng.choice(np.array([0, 2**31 - 1, -(2**31), 77], np.int64), (128, 64))
    first, da = along_k(raw[:128], 4, 0)
    second, db = along_k(raw[128:], 4, len(first))
    idesc = instruction(128, 64, a=signs[0], b=signs[1], d=2, saturates=saturates)

    after = run("i8", np.concatenate([first, second]), da, db, idesc,
                c.astype(np.int32).view(np.uint32))  # fmt: skip

    exact = a.astype(np.int64) @ b.astype(np.int64).T + c
    exact = np.clip(exact, -(2**31), 2**31 - 1) if saturates else exact
    assert np.array_equal(after[:, :64], exact.astype(np.int64).astype(np.uint32))


def test_d_of_halves() -> None:
    """D of halves: one in each cell."""
    rng = np.random.default_rng(4)
    a, b, c = small(rng, 128, 16), small(rng, 32, 16), small(rng, 128, 32)
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))

    after = run("f16", np.concatenate([first, second]), da, db,
                instruction(128, 32, a=0, b=0, d=0), bits16(c, 0).astype(np.uint32))  # fmt: skip

    assert np.array_equal(after[:, :32].astype(np.uint16).view(np.float16), a @ b.T + c)


@pytest.mark.parametrize(("name", "kinds"), [("f16_f32", "f16"), ("bf16_f32", "f16"),
                                             ("tf32_f32", "tf32"), ("f16_f16", "f16")])  # fmt: skip
def test_sums_are_wgmmas(name: str, kinds: str) -> None:
    """Adversarial numbers give the bits that an H100 gave for the same product."""
    data = np.load(DATA / "wgmma_sm90.npz")
    a, b, c, d = (data[f"{name}_{part}"] for part in "ABCD")
    code = {"f16": 0, "bf16": 1, "tf32": 2}[name.split("_")[0]]
    is_single = name.endswith("f32")
    lanes = lanes_of(64)

    def spread(registers: Array) -> Array:
        """D's fragments (thread, register) as rows and columns."""
        found = np.zeros((64, 8), np.uint32)
        for thread in range(128):
            row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
            for half in range(2):
                for k in range(2):
                    if is_single:
                        word = registers[thread, 2 * half + k]
                    else:
                        word = registers[thread, half] >> 16 * k & 0xFFFF
                    found[row + 8 * half, column + k] = word
        return found

    for case in range(0, len(a), max(1, len(a) // 12)):
        first, da = along_k(a[case].view(np.uint8).reshape(64, 32), 0, 0)
        second, db = along_k(b[case].view(np.uint8).reshape(8, 32), 0, len(first))
        before = np.zeros((128, 8), np.uint32)
        before[lanes] = spread(c[case].view(np.uint32).reshape(128, -1))
        idesc = instruction(64, 8, a=code, b=code, d=int(is_single))
        after = run(kinds, np.concatenate([first, second]), da, db, idesc, before)
        wanted = spread(d[case].view(np.uint32).reshape(128, -1))
        assert np.array_equal(after[lanes, :8], wanted), case


@pytest.mark.parametrize("m", [128, 64])
def test_a_in_tensor_memory(m: int) -> None:
    """A's rows stand in lanes, two halves in a cell."""
    rng = np.random.default_rng(5)
    a, b = small(rng, m, 16), small(rng, 32, 16)
    image, db = along_k(bytes_of(bits16(b, 0)), 2, 0)
    before = np.zeros((128, 72), np.uint32)
    before[lanes_of(m), 64:] = bits16(a, 0).view(np.uint32)

    after = run("f16_memory", image, 64, db, instruction(m, 32, a=0, b=0, d=1), before)

    assert np.array_equal(after[lanes_of(m), :32].view(np.float32), a @ b.T)
    assert np.array_equal(after[:, 64:72], before[:, 64:])


@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("n", [64, 256])
def test_weight_stationary(m: int, n: int) -> None:
    """mma.ws folds D's columns into the lanes that fewer rows leave free."""
    rng = np.random.default_rng(m + n)
    a, b = small(rng, m, 16), small(rng, n, 16)
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))

    idesc, before = instruction(m, n, a=0, b=0, d=1), np.zeros((128, 8), np.uint32)

    after = run("f16_ws", np.concatenate([first, second]), da, db, idesc, before, adds=0)

    parts = 128 // m
    d = after[:, : n // parts].view(np.float32).reshape(parts, m, n // parts)
    assert np.array_equal(d.transpose(1, 0, 2).reshape(m, n), a @ b.T)


def test_lanes_that_are_left_out() -> None:
    """A mask names the lanes that keep what they held."""
    rng = np.random.default_rng(6)
    a, b = small(rng, 128, 16), small(rng, 16, 16)
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))
    masks = (0x0F0F1234, 0xFFFFFFFF, 0, 0x80000001)

    after = run("f16_masked", np.concatenate([first, second]), da, db,
                instruction(128, 16, a=0, b=0, d=1), np.full((128, 16), 99, np.uint32), adds=0,
                masks=masks)  # fmt: skip

    kept = np.array([masks[lane // 32] >> lane % 32 & 1 for lane in range(128)], bool)
    assert (after[kept, :16] == 99).all()
    assert np.array_equal(after[~kept, :16].view(np.float32), (a @ b.T)[~kept])


def test_old_values_scaled() -> None:
    """scale-input-d divides what D held by a power of two."""
    rng = np.random.default_rng(7)
    a, b, c = small(rng, 128, 16), small(rng, 16, 16), small(rng, 128, 16)
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))

    idesc, before = instruction(128, 16, a=0, b=0, d=1), c.astype(np.float32).view(np.uint32)

    after = run("f16_shifted", np.concatenate([first, second]), da, db, idesc, before)

    assert np.array_equal(after[:, :16].view(np.float32), a @ b.T + c / 8)


# name, numbers in a row, steps of k for each scale, scales are powers of two, code of E2M1
SCALED = [("mxf8f6f4", 32, 32, 1, 5), ("mxf4", 64, 32, 1, 1), ("mxf4nvf4", 64, 32, 1, 1),
          ("nvf4", 64, 16, 0, 1)]  # fmt: skip


@pytest.mark.parametrize(("name", "depth", "per", "power", "code"), SCALED)
@pytest.mark.parametrize("byte", [0, 2])
def test_block_scales(name: str, depth: int, per: int, power: int, code: int, byte: int) -> None:
    """Numbers of 4 bits with factors for blocks of 32 or 16, from any bytes of their cells."""
    byte = 0 if name == "nvf4" else byte
    rng = np.random.default_rng(8)
    n, count = 64, depth // per
    a, av = narrow(rng, 5, 128, depth)
    b, bv = narrow(rng, 5, n, depth)
    pack = (lambda x: mixed_rows(x, 5)) if code == 5 else (lambda x: x[:, ::2] | x[:, 1::2] << 4)
    first, da = along_k(pack(a), 6, 0)
    second, db = along_k(pack(b), 6, len(first))
    if power:
        codes = rng.integers(121, 134, (128 + n, count))
        factors = 2.0 ** (codes - 127.0)
    else:
        codes, factors = narrow(rng, 0, 128 + n, count)
        codes, factors = codes & 127, np.abs(factors)
    before = np.zeros((128, 72), np.uint32)
    for row in range(128 + n):
        line, first_column = (row, 64) if row < 128 else (row - 128, 68)
        word = sum(int(codes[row, k]) << 8 * (byte + k) for k in range(count))
        before[line % 32 :: 32, first_column + line // 32] = word
    idesc = scaled_instruction(128, n, a=code, b=code, power=power, a_byte=byte, b_byte=byte)

    after = run(name, np.concatenate([first, second]), da, db, idesc, before, adds=0,
                scales=(64, 68))  # fmt: skip

    av, bv = av * factors[:128].repeat(per, 1), bv * factors[128:].repeat(per, 1)
    close(after[:, :n].view(np.float32), av @ bv.T, np.abs(av) @ np.abs(bv).T)


@pytest.mark.parametrize(
    ("name", "rows", "pieces", "lanes"),
    [
        ("128x256b", 128, 2, lambda r: [r]),
        ("4x256b", 4, 2, lambda r: [32 * r]),
        ("128x128b", 128, 1, lambda r: [r]),
        ("64x128b_02_13", 64, 1, lambda r: [r, r + 64]),
        ("64x128b_01_23", 64, 1, lambda r: [r % 32 + r // 32 * 64 + k for k in (0, 32)]),
        ("32x128b", 32, 1, lambda r: [r, r + 32, r + 64, r + 96]),
    ],
)  # fmt: skip
def test_copies(name: str, rows: int, pieces: int, lanes: Any) -> None:
    """tcgen05.cp: groups of eight rows of 16 bytes to lanes, some of them several times."""
    data = np.random.default_rng(9).integers(1, 2**32, (rows, pieces, 4), np.uint32)
    groups = np.zeros((pieces, max(rows, 8), 4), np.uint32)
    groups[:, :rows] = data.transpose(1, 0, 2)
    matrix = descriptor(0, groups[0].nbytes, 128, 0)

    after = run(f"copy_{name}", groups.reshape(-1).view(np.uint8), 0, matrix, 0,
                np.zeros((128, 1), np.uint32), d=8)  # fmt: skip

    wanted = np.zeros((128, 512), np.uint32)
    for row in range(rows):
        for lane in lanes(row):
            wanted[lane, 8 : 8 + 4 * pieces] = data[row].reshape(-1)
    assert np.array_equal(after, wanted)


@pytest.mark.parametrize("architecture", one_in(2, ["103a", "110a"], str))
def test_other_architectures(architecture: str) -> None:
    """sm_103a and sm_110a have the same instructions."""
    rng = np.random.default_rng(10)
    a, b = small(rng, 128, 16), small(rng, 32, 16)
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))
    idesc, before = instruction(128, 32, a=0, b=0, d=1), np.zeros((128, 8), np.uint32)

    after = run("f16", np.concatenate([first, second]), da, db, idesc, before, adds=0,
                architecture=architecture)  # fmt: skip

    assert np.array_equal(after[:, :32].view(np.float32), a @ b.T)
