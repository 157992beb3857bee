"""Kernels that fault, trap, hang or overflow while they run."""

from __future__ import annotations

from typing import Any

import numpy as np

import warplens as wl
from tests.bad_input.cases import bad, ints, launch, limited, module

KINDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint32, 16: np.uint32}
TYPES = {"unsigned char": 1, "unsigned short": 2, "unsigned": 4, "uint2": 8, "uint4": 16}
SIZE = 256  # bytes of the array that kernels leave


def bytes_(n: int = SIZE) -> Any:
    """A zeroed byte array."""
    return np.zeros(n, np.uint8)


for _type, _size in TYPES.items():
    for _offset in (SIZE, -_size, SIZE + 100 * _size, 2**40):
        bad(f"store_{_type}_{_offset}", wl.MemoryFault, "global, store, faults.cu, thread",
            launch(f"store<{_type}>", bytes_(), _offset, 3))  # fmt: skip
    bad(f"load_{_type}_behind", wl.MemoryFault, "global, read, thread",
        launch(f"read<{_type}>", bytes_(), SIZE, np.zeros(16, KINDS[_size]), 5))  # fmt: skip
    if _size > 1:
        for _kind in ("store", "read"):
            _out = () if _kind == "store" else (np.zeros(16, KINDS[_size]),)
            bad(f"{_kind}_{_type}_misaligned", wl.MemoryFault, "misaligned, thread",
                launch(f"{_kind}<{_type}>", bytes_(), 16 + _size // 2, *_out, 1))  # fmt: skip
bad("store_half_inside", wl.MemoryFault, "global",
    launch("store<uint4>", bytes_(248), 240, 0))  # fmt: skip
bad("load_null", wl.MemoryFault, "null, global",
    launch("read<unsigned>", None, 0, np.zeros(1, np.uint32), 0))  # fmt: skip
bad("store_null", wl.MemoryFault, "null", launch("store<unsigned>", None, 0, 0))
bad("store_near_null", wl.MemoryFault, "null", launch("store<unsigned>", None, 64, 0))
bad("store_empty_array", wl.MemoryFault, "", launch("store<unsigned>", bytes_(0), 0, 0))
for _kernel, _cell in (("add", np.int32), ("exchange", np.int32), ("compare", np.uint64)):
    for _offset in (8 * 64, -8, 2):
        _out = () if _kernel == "add" else (np.zeros(1, _cell),)
        bad(f"atomic_{_kernel}_{_offset}", wl.MemoryFault, "global",
            launch(_kernel, np.zeros(64, _cell), _offset, *_out))  # fmt: skip


def _freed_address() -> Any:
    array = module().device.to_device(bytes_())
    address = array.address
    array.free()
    return module()["store<unsigned>"][1, 32](address, 0, 0)


def _read_only() -> Any:
    array = bytes_()
    array.flags.writeable = False
    return module()["store<unsigned>"][1, 32](array, 0, 0)


def _between_arrays() -> Any:
    one, two = (module().device.to_device(bytes_()) for _ in range(2))
    try:
        gap = (one.address + SIZE + two.address) // 2
        return module()["store<unsigned char>"][1, 32](gap, 0, 0)
    finally:
        one.free()
        two.free()


bad("store_freed", wl.MemoryFault, "freed", _freed_address)
bad("store_read_only", wl.MemoryFault, "read-only", _read_only)
bad("store_between_arrays", wl.MemoryFault, "global", _between_arrays)
bad("fault_in_last_block", wl.MemoryFault, "block (9, thread",
    launch("good", ints(300), ints(310), 320, grid=10))  # fmt: skip

for _at in (64, -1, 100000, 25000):
    bad(f"shared_store_{_at}", wl.MemoryFault, "shared", launch("shared_store", _at))
    bad(f"shared_load_{_at}", wl.MemoryFault, "shared", launch("shared_load", _at, ints()))
for _at, _bytes in ((0, 0), (16, 64), (-1, 64), (2**20, 64)):
    bad(f"shared_dynamic_{_at}_of_{_bytes}", wl.MemoryFault, "shared",
        launch("shared_dynamic", _at, shared=_bytes))  # fmt: skip
bad("shared_atomic", wl.MemoryFault, "shared", launch("shared_atomic", 5000))
for _byte in (1, 2, 6):
    bad(f"shared_misaligned_{_byte}", wl.MemoryFault, "shared, misaligned",
        launch("shared_misaligned", _byte))  # fmt: skip
for _at in (100000, -100000):
    bad(f"local_store_{_at}", wl.MemoryFault, "local", launch("local_store", _at, ints()))
    bad(f"local_load_{_at}", wl.MemoryFault, "local", launch("local_load", _at, ints()))
for _at in (32, -1, 4000):
    bad(f"global_variable_{_at}", wl.MemoryFault, "global", launch("global_variable", _at))
for _choice, _space in enumerate(("global", "shared", "local")):
    bad(f"generic_store_{_space}", wl.MemoryFault, "",
        launch("generic_store", ints(), _choice, 1 << 22))  # fmt: skip

for _thread in (0, 31, 40):
    bad(f"trap_{_thread}", wl.KernelTrap, f"trap_at, trap, thread ({_thread % 32}",
        launch("trap_at", _thread, grid=2))  # fmt: skip
bad("assertion", wl.KernelTrap, "assert, limit, faults.cu",
    launch("assert_below", np.arange(64, dtype=np.int32), 20))  # fmt: skip

STEPS = {"max_steps": 200_000}
bad("endless_by_steps", wl.Deadlock, "endless, memory nobody writes",
    lambda: limited(**STEPS)["endless"][1, 32](ints()))  # fmt: skip
bad("endless_count", wl.LimitExceeded, "step",
    lambda: limited(**STEPS)["endless_count"][2, 64](np.zeros(1, np.uint32)))  # fmt: skip
bad("endless_barrier", wl.LimitExceeded, "step",
    lambda: limited(**STEPS)["endless_barrier"][1, 64](ints()))  # fmt: skip
bad("endless_by_seconds", wl.LimitExceeded, "second",
    lambda: limited(max_seconds=0.3)["endless_count"][1, 32](np.zeros(1, np.uint32)))  # fmt: skip
bad("barrier_never_left", wl.Deadlock, "barrier, memory nobody writes",
    lambda: limited(**STEPS)["barrier_never_left"][1, 64](ints()))  # fmt: skip
bad("barriers_apart", wl.Deadlock, "barrier, block", launch("barriers_apart", block=64))
bad("barrier_too_few", wl.Deadlock, "barrier", launch("barrier_too_few", block=64))
bad("stack_overflow", wl.ExecutionFault, "stack", launch("overflow_stack", ints()))
bad("stack_overflow_of_one", wl.ExecutionFault, "stack",
    launch("overflow_stack", ints(), block=1))  # fmt: skip
