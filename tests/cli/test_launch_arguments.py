"""The --arg language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warplens.cli._launch_arguments import parse, save_target, triple
from warplens.errors import InputError
from warplens.session.written_arguments import TYPES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32[4]=arange", np.arange(4, dtype=np.int32)),
        ("u8[3]=255", np.full(3, 255, np.uint8)),
        ("f64[2,3]=0.5", np.full((2, 3), 0.5)),
        ("f16[2]=1.5", np.full(2, 1.5, np.float16)),
        ("i64[1<<3]=-1", np.full(8, -1, np.int64)),
        ("u32[2*3]=0x10", np.full(6, 16, np.uint32)),
        ("bf16[1]=1", np.array([0x3F80], np.uint16)),
        ("bf16[3]=arange", np.array([0, 0x3F80, 0x4000], np.uint16)),
        ("i32[0]=0", np.zeros(0, np.int32)),
    ],
)
def test_buffers(text: str, expected: Any) -> None:
    """TYPE[N]=INIT gives an array of that type, shape and content."""
    found = parse(text)

    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert (found == expected).all()


@pytest.mark.parametrize("kind", TYPES)
def test_every_type(kind: str) -> None:
    """Every type works as scalar and as buffer."""
    assert parse(f"{kind}[5]=rand").shape == (5,)
    assert parse(f"{kind}[5]=randint(1,3)").nbytes == 5 * np.dtype(TYPES[kind]).itemsize
    assert parse(f"{kind}=1") is not None


def test_random_buffers_repeat() -> None:
    """The same seed gives the same data, another seed other data."""
    first, again, other = (parse("f32[64]=rand", seed=seed) for seed in (1, 1, 2))

    assert (first == again).all()
    assert (first != other).any()
    assert first.min() >= 0 and first.max() < 1
    low = parse("i32[1000]=randint(-3,4)")
    assert set(low.tolist()) == set(range(-3, 4))


def test_bfloat16_rounds_to_even() -> None:
    """The bits of bfloat16 are those of float32, rounded to nearest even."""
    for value in (1.00390625, 1.01171875, 3.3895e38, -2.7, float("nan")):
        bits = int(parse(f"bf16[1]={value}")[0])
        widened = np.array([bits << 16], np.uint32).view(np.float32)[0]
        neighbours = [np.array([(bits + d) << 16 & 0xFFFFFFFF], np.uint32).view(np.float32)[0]
                      for d in (-1, 1)]  # fmt: skip
        if value != value:
            assert np.isnan(widened)
            continue
        assert all(abs(widened - value) <= abs(n - value) for n in neighbours if np.isfinite(n))


def test_files(tmp_path: Path) -> None:
    """A .npy file gives its content; size and type must fit; pickles are not loaded."""
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6, dtype=np.int32).reshape(2, 3))

    assert parse(f"i32[6]={path}").shape == (6,)
    assert parse(f"i32[]={path}").shape == (2, 3)
    for bad in (f"i32[5]={path}", f"f32[6]={path}", f"i32[6]={tmp_path}/no.npy"):
        with pytest.raises(InputError):
            parse(bad)
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError):
        parse(f"i32[]={path}")


@pytest.mark.parametrize(
    "text",
    ["", "i32", "i32[", "i32[4]", "q32=1", "i32=1.5", "i32=99999999999", "u8=-1", "f32=x",
     "i32[-1]=0", "i32[4]=randint(3,1)", "i32[4]=randint(1)", "i32[4]=what", "i32[1<<60]=0",
     "u8[4]=300", "i32[1,,2]=0"],
)  # fmt: skip
def test_bad_arguments(text: str) -> None:
    """What cannot be understood is refused with the text itself."""
    with pytest.raises(InputError, match="--arg"):
        parse(text)


def test_other_options() -> None:
    """--grid and --save-arg are read strictly."""
    assert triple("grid", "32,0x10") == (32, 16)
    assert save_target("1=a", 2) == (1, Path("a.npy"))
    for bad in ("a=1", "2=x.npy", "1", "1="):
        with pytest.raises(InputError):
            save_target(bad, 2)
