"""What products and copies of tensor memory (tcgen05) read of shared memory."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.tensor_memory.matrices import piece, problem
from warplens.execute.tensor_memory.operands import spacing
from warplens.execute.tensor_memory.products import depth_of, kind_of
from warplens.execute.tensor_memory.sparse import is_sparse
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.accesses import beside_shared
from warplens.sanitize.apart import reads_apart
from warplens.sanitize.native import peek32, peek64

_OF_BYTES, _OF_FOURS = 1, 3  # PRODUCTS of isa/tensor_memory.py


@native
def wide_of(w: int, slot: int) -> int:
    """An operand of 64 bits, the same for all lanes."""
    place = w + at.WARP_SCRATCH + 128 * slot
    return (peek32(place) & 0xFFFFFFFF) | (peek32(place + 128) & 0xFFFFFFFF) << 32


@native
def read_piece(head: int, record: int, slot: int, w: int, now: int, block: int, host: int,
               place: int) -> None:  # fmt: skip
    """16 bytes of a block's shared memory; the engine reports those beyond it."""
    if place + 16 > peek64(head + 8 * st.SHARED_LIMIT):
        return
    cells = record + peek64(head + 8 * st.AT_SHARED_CELLS)
    initial = record + peek64(head + 8 * st.AT_SHARED_INIT)
    reads_apart(head, slot, w, now | 15 << st.STAMP_BYTES, place, 16, cells, beside_shared(head),
                host, initial, block)  # fmt: skip


@native
def read_matrix(head: int, record: int, slot: int, w: int, now: int, block: int, host: int,
                matrix: int, along: int, outer: int, inner: int) -> None:  # fmt: skip
    """All of a matrix, in pieces of 16 bytes."""
    if problem(matrix, along):
        return
    for i in range(outer):
        for k in range(inner):
            place = piece(matrix, i, k, along)
            read_piece(head, record, slot, w, now, block, host, place)


@native
def read_factors(head: int, record: int, slot: int, w: int, now: int, form: int,
                           block: int, host: int, rows: int, columns: int) -> None:  # fmt: skip
    """A product's B and, unless it is in tensor memory, A: rows and columns of one block."""
    descriptor = peek32(w + at.WARP_SCRATCH + 128 * at.TM_DESCRIPTOR) & 0xFFFFFFFF
    core = form >> at.TM_SHAPE & 15
    for which in range(form >> at.TM_FROM_MEMORY & 1, 2):
        code = descriptor >> (7 + 3 * which) & (3 if which == 1 and core == _OF_FOURS else 7)
        kind = kind_of(core, code)
        along = descriptor >> (15 + which) & 1
        twice = is_sparse(descriptor) if which == 1 else 0
        outer, inner = (rows if which == 0 else columns), 2 << twice
        if along:
            each = spacing(kind, int(core == _OF_BYTES))
            outer, inner = (outer + each - 1) // each, depth_of(core, kind) << twice
        matrix = wide_of(w, at.TM_A if which == 0 else at.TM_B)
        read_matrix(head, record, slot, w, now, block, host, matrix, along, outer, inner)


@native
def read_copied(head: int, record: int, slot: int, w: int, now: int, block: int, host: int,
                rows: int, halves: int) -> None:  # fmt: skip
    """The rows that tcgen05.cp copies."""
    matrix = wide_of(w, at.TM_A)
    read_matrix(head, record, slot, w, now, block, host, matrix, 0, rows, halves)
