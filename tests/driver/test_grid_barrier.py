"""The grid's barrier as a system call, as cooperative groups of PTX and numba use it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.driver.calls import Api, pointer
from warplens.driver.status import Status

GRID = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) __cuda_syscall_CGS_get_intrinsic_handle (.param .b32 a);
.extern .func (.param .b32 r) __cuda_syscall_CGS_sync (.param .b64 a, .param .b32 b);
.visible .entry turns(.param .u64 p, .param .u32 rounds)
{
    .reg .b64 %h, %x, %at, %from;
    .reg .b32 %t, %n, %i, %v, %r, %other, %s;
    .reg .pred %go;
    ld.param.u64 %x, [p];
    ld.param.u32 %r, [rounds];
    mov.u32 %t, %ctaid.x;  mov.u32 %n, %ntid.x;  mul.lo.u32 %s, %t, %n;
    mov.u32 %t, %tid.x;    add.u32 %s, %s, %t;
    mov.u32 %t, %nctaid.x; mul.lo.u32 %n, %n, %t;
    { .param .b32 a; .param .b64 r;
      st.param.b32 [a], 1;
      call.uni (r), __cuda_syscall_CGS_get_intrinsic_handle, (a);
      ld.param.b64 %h, [r]; }
    mov.u32 %i, 0;
again:
    mul.lo.u32 %v, %i, %n;       add.u32 %other, %n, -1;  sub.u32 %other, %other, %s;
    add.u32 %other, %other, %v;  mul.wide.u32 %from, %other, 4;  add.u64 %from, %from, %x;
    ld.volatile.global.u32 %other, [%from];  add.u32 %other, %other, 1;
    add.u32 %v, %v, %n;  add.u32 %v, %v, %s;  mul.wide.u32 %at, %v, 4;  add.u64 %at, %at, %x;
    st.volatile.global.u32 [%at], %other;
    { .param .b64 a; .param .b32 b; .param .b32 r;
      st.param.b64 [a], %h; st.param.b32 [b], 0;
      call.uni (r), __cuda_syscall_CGS_sync, (a, b);
      ld.param.b32 %v, [r]; }
    add.u32 %i, %i, 1;
    setp.lt.u32 %go, %i, %r;
    @%go bra again;
    ret;
}
"""

# One block's threads leave before the barrier: the others would wait for ever.
LEAVES = GRID.replace("again:", "setp.lt.u32 %go, %s, 64; @%go ret;\nagain:")


def load(api: Api, text: str) -> None:
    """Makes a PTX text the module."""
    image = ctypes.create_string_buffer(text.encode())
    api.module = api.value("cuModuleLoadData", image)


# Every third thread calls the barrier; the others of its warp go past it and read.
SOME = GRID[: GRID.index("mov.u32 %i, 0;")] + """
    .reg .b32 %third, %first;
    .reg .b64 %after;
    mov.u32 %t, %tid.x;  rem.u32 %third, %t, 3;  sub.u32 %first, %t, %third;
    mul.wide.u32 %at, %t, 4;  add.u64 %at, %at, %x;
    mul.wide.u32 %from, %first, 4;  add.u64 %from, %from, %x;
    setp.ne.u32 %go, %third, 0;
    @%go bra done;
    st.volatile.global.u32 [%at], %t;
    { .param .b64 a; .param .b32 b; .param .b32 r;
      st.param.b64 [a], %h; st.param.b32 [b], 0;
      call (r), __cuda_syscall_CGS_sync, (a, b);
      ld.param.b32 %v, [r]; }
    ld.volatile.global.u32 %v, [%at];  add.u32 %v, %v, 100;  st.volatile.global.u32 [%at], %v;
done:
    ld.volatile.global.u32 %v, [%from];
    mul.wide.u32 %after, %n, 4;  add.u64 %after, %after, %at;
    st.volatile.global.u32 [%after], %v;
    ret;
}
"""


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (4, 64), (7, 96)])
def test_rounds_see_each_other(api: Api, blocks: int, threads: int) -> None:
    """Every round reads what the last thread wrote in the one before, blocks and warps apart."""
    load(api, GRID)
    n, rounds = blocks * threads, 5
    x = np.zeros((rounds + 1, n), np.uint32)
    x[0] = np.arange(n)
    address = api.array(x)
    code = api.launch("turns", blocks, threads, pointer(address), ctypes.c_uint32(rounds))
    expected = x.copy()
    for i in range(rounds):
        expected[i + 1] = expected[i][::-1] + 1

    assert code == 0
    assert np.array_equal(api.read(address, x), expected)


@pytest.mark.parametrize("threads", [32, 64])
def test_some_lanes_of_a_warp_come(api: Api, threads: int) -> None:
    """The others go on at once, and read what is there before the barrier: so an H200 did."""
    load(api, SOME)
    x = np.full((2, threads), 0xFFFF, np.uint32)
    address = api.array(x)
    code = api.launch("turns", 1, threads, pointer(address), ctypes.c_uint32(0))
    i = np.arange(threads)
    out, after = api.read(address, x)

    assert code == 0
    assert np.array_equal(out, np.where(i % 3 == 0, i + 100, 0xFFFF))
    assert np.array_equal(after, np.where(i % 3 == 0, i + 100, i // 3 * 3))


def test_threads_that_never_come(api: Api) -> None:
    """A block that ends without the barrier leaves the others waiting: a deadlock."""
    load(api, LEAVES)
    address = api.array(np.zeros((2, 256), np.uint32))

    assert api.launch("turns", 4, 64, pointer(address), ctypes.c_uint32(1)) == (
        Status.CUDA_ERROR_LAUNCH_TIMEOUT
    )
    assert "the grid's barrier" in str(api.driver.last_error)
