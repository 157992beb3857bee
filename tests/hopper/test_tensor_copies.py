"""Tensor copies (TMA) equal an H100's, and NumPy's slices."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
from warplens import ArgumentError, Device, MemoryFault, TensorMap

Array = npt.NDArray[Any]
DATA = Path(__file__).parents[2] / "validation" / "data"
# CUtensorMapDataType, as recorded
TYPES = {0: "u1", 1: "u2", 2: "u4", 3: "i4", 4: "u8", 5: "i8", 6: "f2", 7: "f4", 8: "f8", 9: "u2"}
HEAD = """struct alignas(64) Map { unsigned long long words[16]; };
extern __shared__ __align__(1024) unsigned char box[];
"""
SWIZZLES = (None, "32B", "64B", "128B")


def _load(rank: int) -> str:
    names = ", ".join(f"%{3 + i}" for i in range(rank))
    given = ", ".join(f'"r"(c{i})' for i in range(rank))
    return f"""
extern "C" __global__ void load{rank}(
    const __grid_constant__ Map map, int c0, int c1, int c2, int c3, int c4, int bytes, int pieces,
    uint4* out) {{
  __shared__ alignas(8) unsigned long long bar;
  for (int i = threadIdx.x; i < pieces; i += 128)
    ((uint4*)box)[i] = make_uint4(0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd);
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {{{names}}}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(box)), "l"(&map), "r"(b), {given}
                 : "memory");
  }}
  asm volatile("{{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
               " @!p bra W; }}" :: "r"(b) : "memory");
  __syncthreads();
  for (int i = threadIdx.x; i < pieces; i += 128) out[i] = ((uint4*)box)[i];
}}
"""


def _store(name: str) -> str:
    kind = "cp.async.bulk.tensor" if name == "store" else "cp.reduce.async.bulk.tensor"
    tail = "" if name == "store" else f".{name}"
    return f"""
extern "C" __global__ void {name}2(
    const __grid_constant__ Map map, int c0, int c1, int pieces, const uint4* in) {{
  for (int i = threadIdx.x; i < pieces; i += 128) ((uint4*)box)[i] = in[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("{kind}.2d.global.shared::cta{tail}.tile.bulk_group [%0, {{%2, %3}}], [%1];\\n"
                 "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
                 :: "l"(&map), "r"((unsigned)__cvta_generic_to_shared(box)), "r"(c0), "r"(c1)
                 : "memory");
}}
"""


@lru_cache(maxsize=1)
def recorded() -> dict[str, Array]:
    """The recording."""
    return dict(np.load(DATA / "tensor_copies_sm90.npz"))


@lru_cache(maxsize=1)
def module() -> Any:
    """Loads of every rank, stores and reductions."""
    names = ("store", "add", "min", "max", "inc", "and")
    return Device("H200").compile(
        HEAD + "".join(map(_load, range(1, 6))) + "".join(map(_store, names))
    )  # fmt: skip


def tensor_map(data: Array, kind: int, sizes: tuple[int, ...], box: tuple[int, ...], swizzle: int,
               fill: int = 0, steps: tuple[int, ...] | None = None) -> TensorMap:  # fmt: skip
    """The map of a recorded case, whose sizes are innermost first."""
    array = data.view(TYPES[kind]).reshape(sizes[::-1])
    return TensorMap(
        array, box[::-1], swizzle=SWIZZLES[swizzle], fill="nan" if fill else "zero",
        steps=None if steps is None else steps[::-1], dtype="bf16" if kind == 9 else None,
    )  # fmt: skip


@pytest.mark.parametrize("i", range(24))
def test_loads_are_an_h100s(i: int) -> None:
    """Every byte of shared memory: swizzles, edges, fills, steps, 1 to 5 dimensions."""
    case = ast.literal_eval(str(recorded()["loads"][i]))
    kind, sizes, box, at, swizzle, fill, steps, size = case
    data, expected = recorded()[f"load{i}_in"].copy(), recorded()[f"load{i}_out"]
    found = np.zeros_like(expected)
    given = tensor_map(data, kind, sizes, box, swizzle, fill, tuple(steps))

    module()[f"load{len(sizes)}"][1, 128, 0, 40960](
        given, *(*at, 0, 0, 0, 0)[:5], size, len(expected) // 16, found.view(np.uint32)
    )

    assert np.array_equal(found, expected), case


@pytest.mark.parametrize("i", range(16))
def test_stores_and_reductions_are_an_h100s(i: int) -> None:
    """Every byte of the tensor afterwards."""
    case = ast.literal_eval(str(recorded()["stores"][i]))
    name, kind, sizes, box, at, swizzle = case
    data = recorded()[f"store{i}_in"].copy()
    source = recorded()[f"store{i}_source"].view(np.uint32)

    module()[f"{name}2"][1, 128, 0, 40960](
        tensor_map(data, kind, sizes, box, swizzle), *at, source.nbytes // 16, source
    )

    assert np.array_equal(data, recorded()[f"store{i}_out"]), case
    assert not np.array_equal(data, recorded()[f"store{i}_in"])


@pytest.mark.parametrize("policy", one_in(2, ["0ull", "0x12f0000000000000ull"], str))
def test_a_cache_policy_changes_no_byte(policy: str) -> None:
    """`.L2::cache_hint`, which stands as `desc[URZ]` or `desc[UR]`, in loads and reductions."""
    hint, given = ".L2::cache_hint", f', "l"({policy})'
    load = _load(2).replace("::bytes [%0], [%1, {%3, %4}], [%2];",
                            f'::bytes{hint} [%0], [%1, {{%3, %4}}], [%2], %5;')
    load = load.replace('"r"(c1)', f'"r"(c1){given}')
    add = _store("add").replace("bulk_group [%0, {%2, %3}], [%1];",
                                f"bulk_group{hint} [%0, {{%2, %3}}], [%1], %4;")
    add = add.replace('"r"(c1)', f'"r"(c1){given}')
    assert load.count("%5") == add.count("%4") == 1
    device = Device("H200").compile(HEAD + load + add)
    tensor = np.arange(64 * 96, dtype=np.int32).reshape(64, 96)
    before, box = tensor.copy(), np.zeros((16, 32), np.uint32)
    map_ = TensorMap(tensor, box=(16, 32))

    device["load2"][1, 128, 0, 4096](map_, 32, 8, 0, 0, 0, 2048, 128, box)
    device["add2"][1, 128, 0, 4096](map_, 32, 8, 128, box)

    assert np.array_equal(box, before[8:24, 32:64])
    before[8:24, 32:64] *= 2
    assert np.array_equal(tensor, before)


def test_a_box_is_numpys_slice() -> None:
    """A map of a device array, partly outside."""
    device = module().device
    array = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    found = np.zeros((16, 32), np.float32)
    given = TensorMap(device.to_device(array), box=(16, 32))

    module()["load2"][1, 128, 0, 4096](given, 80, 56, 0, 0, 0, 2048, 128, found.view(np.uint32))

    expected = np.zeros((16, 32), np.float32)
    expected[:8, :16] = array[56:, 80:]
    assert np.array_equal(found, expected)


def test_what_is_no_map_is_a_fault() -> None:
    """Any 128 bytes are not taken for a map."""
    out = np.zeros(64, np.uint32)
    with pytest.raises(MemoryFault, match="no tensor map"):
        module()["load2"][1, 128, 0, 4096](bytes(128), 0, 0, 0, 0, 0, 256, 16, out)


def test_a_slanted_coordinate_is_a_fault() -> None:
    """The box must begin at a multiple of 16 bytes; an H100 stops with an illegal instruction."""
    given = TensorMap(np.zeros((8, 64), np.float16), box=(8, 16))
    with pytest.raises(MemoryFault, match="misaligned"):
        module()["load2"][1, 128, 0, 4096](given, 3, 0, 0, 0, 0, 256, 16, np.zeros(64, np.uint32))


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [((8, 64), {"box": (8, 12)}, "multiple of 16"), ((8, 64), {"box": (8,)}, "one number"),
     ((8, 64), {"box": (8, 64), "swizzle": "64B"}, "swizzle"),
     ((8, 60), {"box": (8, 8)}, "strides"), ((8, 64), {"box": (300, 8)}, "1 to 256"),
     ((8, 64), {"box": (8, 8), "fill": "one"}, "fill"),
     ((8, 64), {"box": (8, 8), "steps": (1, 2)}, "innermost"),
     ((8, 64), {"box": (8, 8), "dtype": "e4m3"}, "bf16")],
)  # fmt: skip
def test_impossible_maps_are_refused(
    shape: tuple[int, int], arguments: dict[str, Any], message: str
) -> None:
    """As cuTensorMapEncodeTiled refuses them, but saying why."""
    with pytest.raises(ArgumentError, match=message):
        TensorMap(np.zeros(shape, np.float16), **arguments)
