"""What a launch says of tensor memory that is used wrongly."""

from __future__ import annotations

from warplens.errors import ExecutionFault, MemoryFault

(NOT_TAKEN, OTHER_LANES, PART, NO_ROOM, NOT_COMMITTED, BAD_DESCRIPTOR, BAD_SHARED, BAD_SHAPE,
 NO_FELLOW, SPARSE, NOT_FREED, MISPLACED, NOT_AWAITED) = range(13)  # fmt: skip
_REASONS = {
    NOT_TAKEN: ("tensor memory at {0} is not allocated",
                "Allocate columns with tcgen05.alloc, and free them last."),
    OTHER_LANES: ("tensor memory at {0} belongs to other warps",
                  "Warp w of a warpgroup reaches lanes 32 (w % 4) to 32 (w % 4) + 31."),
    PART: ("an access of tensor memory at {0} by a part of the warp's lanes",
           "All 32 threads of the warp must execute it."),
    NO_ROOM: ("{1} columns of tensor memory asked for: a block has 512, in powers of two "
              "from 32 on", ""),
    NOT_COMMITTED: ("tensor memory at {0} is read while a product or copy that writes it has not "
                    "been committed", "tcgen05.commit to an mbarrier, and wait for it."),
    BAD_DESCRIPTOR: ("instruction descriptor {1:#010x} names a type or form that this product does "
                     "not have", ""),
    BAD_SHARED: ("matrix descriptor {1:#018x} is not one that is understood: its version is not 1, "
                 "or its layout or leading dimension is reserved", ""),
    BAD_SHAPE: ("instruction descriptor {1:#010x} names a shape that this product does not have",
                "The PTX manual lists M, N and K of each kind."),
    NO_FELLOW: ("a product, copy or allocation of two blocks in a block without a fellow",
                "Launch in clusters of an even number of blocks."),
    SPARSE: ("instruction descriptor {1:#010x} asks for a sparse product (tcgen05.mma.sp) that is "
             "not supported: where its metadata lie is not known",
             "128 rows a block or weight-stationary ones, selector 0 or 1 (halves, TF32), are."),
    NOT_FREED: ("the block ended with tensor memory allocated (columns {2})",
                "tcgen05.dealloc frees it."),
    MISPLACED: ("tensor memory at {0} is not where this product may keep its operand",
                "Matrices begin in lane 0, those of 64 rows in lane 0 or 16."),
    NOT_AWAITED: ("tensor memory at {0} is read, and no thread has waited for the products and "
                  "copies that write it", "Wait for the mbarrier that tcgen05.commit names."),
}  # fmt: skip


def stretches(taken: int) -> str:
    """Columns of a mask of 32 columns each, in words."""
    found, start = [], -1
    for n in range(17):
        if taken >> n & 1 and start < 0:
            start = n
        elif not taken >> n & 1 and start >= 0:
            found.append(f"{32 * start} to {32 * n - 1}")
            start = -1
    return ", ".join(found)


def tensor_memory_fault(value: int, reason: int, where: str) -> ExecutionFault:
    """The error for a fault of the unit."""
    text, hint = _REASONS[reason]
    place = f"lane {value >> 16 & 0xFFFF}, column {value & 0xFFFF}"
    message = text.format(place, value, stretches(value) if reason == NOT_FREED else "")
    kind = ExecutionFault if reason in (PART, SPARSE, BAD_DESCRIPTOR, BAD_SHAPE) else MemoryFault
    return kind(f"{message}\n  at {where}", hint=hint or None)
