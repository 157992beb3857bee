"""Different places among offsets, counted by runs of lanes or by comparing, against sets."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from warplens.lift import jit, vector_ir
from warplens.lift.counting import distinct_ir, runs_ir
from warplens.lift.engines.host import host_features

# offsets at %w, mask at %env, then what the functions answer
MAIN = """
define i32 @region0(ptr %w, ptr %env) {
  %off = load <32 x i32>, ptr %w, align 4
  %mask = load i32, ptr %env, align 4
  %rises = call i32 @wl.rises(<32 x i32> %off)
  %p0 = getelementptr i32, ptr %env, i64 1
  store i32 %rises, ptr %p0, align 4
""" + "".join(
    f"""  %n{grain} = call i32 @wl.runs(<32 x i32> %off, i32 %mask, i32 {grain})
  %p{grain} = getelementptr i32, ptr %env, i64 {slot}
  store i32 %n{grain}, ptr %p{grain}, align 4
"""
    for slot, grain in ((2, 1), (3, 32), (4, 128))
) + "  ret i32 0\n}\n"  # fmt: skip


@pytest.mark.parametrize("host", [None, "avx2"])
def test_runs(host: str | None) -> None:
    features = host_features(None if host is None or not host_features().is_x86 else host)
    functions = [vector_ir.DECLARATIONS["llvm.ctpop.i32"], *runs_ir.count_runs().values()]
    code = jit.compile_ir("\n".join((*functions, MAIN)), 1, features, 1)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.addresses[0])
    rng = np.random.default_rng(5)
    for step in (1, 3, 8, 40, 100, 300, 1 << 26):
        for _ in range(200):
            offsets = np.cumsum(rng.integers(0, step + 1, 32)).astype(np.uint32)
            answer = np.zeros(5, np.uint32)
            answer[0] = mask = rng.integers(0, 1 << 32) if rng.random() < 0.8 else 0xFFFFFFFF
            assert run(offsets.ctypes.data, answer.ctypes.data) == 0
            assert answer[1] == 0xFFFFFFFF
            on = [int(a) for lane, a in enumerate(offsets) if int(mask) >> lane & 1]
            wanted = [len({a // grain for a in on}) for grain in (1, 32, 128)]
            assert answer[2:].tolist() == wanted, (offsets, mask)
    falling = np.arange(32, dtype=np.uint32)
    falling[17] = 3
    run(falling.ctypes.data, answer.ctypes.data)
    assert answer[1] == 0xFFFFFFFF ^ 1 << 17


TOUCHED = """
define i32 @region0(ptr %w, ptr %env) {
  %off = load <32 x i32>, ptr %w, align 4
  %mask = load i32, ptr %env, align 4
  %three = call { i32, i32, i32 } @wl.touched(<32 x i32> %off, i32 %mask)
""" + "".join(
    f"""  %n{k} = extractvalue {{ i32, i32, i32 }} %three, {k}
  %p{k} = getelementptr i32, ptr %env, i64 {k + 1}
  store i32 %n{k}, ptr %p{k}, align 4
"""
    for k in range(3)
) + """  %sure = call i32 @wl.apart(<32 x i32> %off, i32 %mask)
  %p4 = getelementptr i32, ptr %env, i64 4
  store i32 %sure, ptr %p4, align 4
  ret i32 0
}
"""


@pytest.mark.parametrize("host", [None, "avx2", "no vp2intersect"])
def test_touched(host: str | None) -> None:
    features = host_features("avx2" if host == "avx2" and host_features().is_x86 else None)
    if host == "no vp2intersect":
        lesser = features.features.replace("+avx512vp2intersect", "-avx512vp2intersect")
        features = replace(features, features=lesser)
    functions = vector_ir.DECLARATIONS | distinct_ir.distinct(features)
    code = jit.compile_ir("\n".join((*functions.values(), TOUCHED)), 1, features, 1)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.addresses[0])
    rng = np.random.default_rng(6)
    for places in (1, 3, 30, 100, 1000, 10_000, 1 << 30):
        for grain in (1, 4, 32, 128):
            for mask in (0xFFFFFFFF, 1, 1 << 31, 0xFFFF0000, *rng.integers(1, 1 << 32, 40)):
                offsets = (rng.integers(0, places, 32) * grain).astype(np.uint32)
                answer = np.array([mask, 0, 0, 0, 2], np.uint32)
                run(offsets.ctypes.data, answer.ctypes.data)
                on = [int(a) for lane, a in enumerate(offsets) if int(mask) >> lane & 1]
                wanted = [len({a // size for a in on}) for size in (1, 32, 128)]
                assert answer[1:4].tolist() == wanted, (offsets, mask)
                assert answer[4] in (0, wanted[2]), (offsets, mask)
                assert not answer[4] or wanted[1] == len(on), (offsets, mask)
    lane = np.arange(32, dtype=np.uint64)
    for places in (2**32 - 2 - lane * 5, 2**32 - 2 - lane % 7, lane << 23, (lane << 23) + lane % 2,
                   (lane % 9 << 23) + (lane % 9 << 7), lane * 0):  # fmt: skip
        for mask in (0xFFFFFFFF, 0x00F00000, 0xFFFE7FFF):
            answer = np.array([mask, 0, 0, 0, 2], np.uint32)
            run(places.astype(np.uint32).ctypes.data, answer.ctypes.data)
            on = [int(a) for k, a in enumerate(places) if mask >> k & 1]
            wanted = [len({a // size for a in on}) for size in (1, 32, 128)]
            assert answer[1:4].tolist() == wanted, (places, mask)
            assert answer[4] in (0, wanted[2]), (places, mask)
            assert not answer[4] or wanted[1] == len(on), (places, mask)
