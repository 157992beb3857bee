"""Functions of the driver that code for sm_120 calls for bulk copies into other blocks' memory.

That chip copies only into the block's own shared memory. Where each argument stands was found in
compiled code: destination R4, source R6:R7, bytes R8, ranks R9 (multicast), mbarrier R10.
"""

from __future__ import annotations

import ctypes

from warplens.errors import MemoryFault
from warplens.execute.hook_registry import Caller, Hooks
from warplens.execute.warp_registers import lanes_of, read_pair, read_register

HOOKS = Hooks()
_LOW = (1 << 24) - 1
_COUNT, _BYTES = (1 << 20) - 1, (1 << 21) - 1


def _received(word: int, size: int) -> int:
    """An mbarrier's word (lift/runtime/mbarrier_ir.py) after bytes have arrived."""
    expected, pending, phase = word >> 1 & _COUNT, word >> 43 & _COUNT, word >> 63
    missing = ((word >> 22 & _BYTES) - size) & _BYTES
    if pending == 0 and missing == 0:
        pending, phase = expected, phase ^ 1
    return phase << 63 | pending << 43 | missing << 22 | expected << 1


def _copy(caller: Caller, warp: int, index: int, lane: int, ranks: tuple[int, ...]) -> None:
    """One lane's copy into the blocks of some ranks, and the report to each one's mbarrier."""
    destination, barrier = (read_register(warp, r, lane) & _LOW for r in (4, 10))
    source, size = read_pair(warp, 6, lane), read_register(warp, 8, lane)
    where = caller.thread_text(index, lane)
    if (destination | source | size) & 15:
        raise MemoryFault(
            f"bulk copy of {size:,} bytes from {source:#x} to {destination:#x} by {where}: "
            "addresses and sizes must be multiples of 16 bytes"
        )
    inst = (read_register(warp, 20, lane) >> 4) - 1  # the call before the return address
    caller.allow_read(inst, lane, source, size)
    data = caller.memory.view(source, size).tobytes()
    limit = caller.shared_limit
    for rank in ranks:
        base = caller.cluster_shared(rank)
        if base == 0 or max(destination + size, barrier + 8) > limit:
            raise MemoryFault(
                f"bulk copy of {size:,} bytes to {destination:#x} in the shared memory of block "
                f"{rank} of the cluster by {where}: there is no such block, or it does not have "
                "these bytes"
            )
        ctypes.memmove(base + destination, data, size)
        word = ctypes.c_uint64.from_address(base + barrier)
        word.value = _received(word.value, size)


@HOOKS.named("__cuda_syscall_cp_async_bulk_unicast")
def unicast(caller: Caller, warp: int, mask: int, index: int) -> None:
    """A copy into one block's shared memory; the destination names the rank."""
    for lane in lanes_of(mask):
        _copy(caller, warp, index, lane, (read_register(warp, 4, lane) >> 24,))


@HOOKS.named("__cuda_syscall_cp_async_bulk_multicast")
def multicast(caller: Caller, warp: int, mask: int, index: int) -> None:
    """A copy to the same place of several blocks' shared memory."""
    for lane in lanes_of(mask):
        named = read_register(warp, 9, lane)
        _copy(caller, warp, index, lane, tuple(r for r in range(16) if named >> r & 1))
