"""Accesses of 256 bits to global memory on sm_100."""

from __future__ import annotations

import numpy as np

from warplens import Device

SOURCE = """
extern "C" __global__ void copy(const unsigned *a, unsigned *b, unsigned *c) {
    unsigned r[8];
    a += threadIdx.x * 8, b += threadIdx.x * 8;
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "l"(a));
    asm volatile("st.global.v8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" ::"r"(r[0] + 1), "r"(r[1]), "r"(r[2]), "r"(r[3] + 4), "r"(r[4] + 5), "r"(r[5]), "r"(r[6]), "r"(r[7] + 8), "l"(b) : "memory");
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "l"(b + 256));
    c[threadIdx.x] = r[0] ^ r[4];
}
"""  # noqa: E501


def test_eight_words() -> None:
    """A lane's eight words in their order; words that nobody wants are not loaded."""
    kernel = Device("sm_100").compile(SOURCE, options=["-arch=sm_100a"])["copy"]
    a = np.random.default_rng(1).integers(0, 2**32, (64, 8), np.uint32)
    b = np.random.default_rng(2).integers(0, 2**32, (64, 8), np.uint32)
    start, c = b.copy(), np.zeros(32, np.uint32)

    kernel[1, 32](a[:32].copy(), b, c)

    wide = [i for i in kernel.sass.instructions if "256" in i.modifiers]
    assert sorted(i.opcode for i in wide) == ["LDG", "LDG", "STG"]
    assert np.array_equal(b[:32], a[:32] + np.array([1, 0, 0, 4, 5, 0, 0, 8], np.uint32))
    assert np.array_equal(b[32:], start[32:])
    assert np.array_equal(c, start[32:, 0] ^ start[32:, 4])
