"""initcheck of tensor memory: cells that are read, not written since they were allocated.

A block has a byte for each of its 128 x 512 cells, cleared when columns are given back. Uses that
the engine refuses are left to it.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero
from warplens.execute.tensor_memory.cells import columns_mask
from warplens.execute.tensor_memory.moves import destination, width_of
from warplens.execute.tensor_memory.products import fold_of, wrong_form
from warplens.lift import layout as at
from warplens.sanitize import clusters
from warplens.sanitize import state as st
from warplens.sanitize.native import lowest_bit, peek8, peek32, peek64, poke8
from warplens.sanitize.records import claim, fill


@native
def word_of(w: int, slot: int) -> int:
    """An operand, which is the same for all lanes."""
    return peek32(w + at.WARP_SCRATCH + 128 * slot) & 0xFFFFFFFF


@native
def cells_of(head: int, record: int) -> int:
    """Where the bytes of a block's cells are."""
    return record + peek64(head + 8 * st.AT_CELLS_INIT)


@native
def is_taken(env: int, address: int, count: int) -> bool:
    """Whether the engine will find these columns allocated, in the running block."""
    first = address & 0xFFFF
    if first + count > at.TM_COLUMNS or address >> 16 >= at.TM_LANES_OF_BLOCK:
        return False
    memory = peek64(env + 8 * at.ENV_SHARED) + peek64(env + 8 * at.ENV_TENSOR_MEMORY)
    wanted = columns_mask(first, count)
    return bool(peek32(memory + at.TM_TAKEN) & wanted == wanted)


@native
def use(head: int, record: int, inst: int, thread: int, block: int, lane: int, column: int,
        count: int, reads: bool, writes: bool) -> None:  # fmt: skip
    """Cells of one lane: read, written or both."""
    place = cells_of(head, record) + at.TM_COLUMNS * lane + column
    for k in range(count if lane < at.TM_LANES_OF_BLOCK else 0):
        if reads and peek8(place + k) == 0:
            found = claim(head, st.C_UNINITIALISED, inst, inst, st.SPACE_CELLS, 1)
            if found != 0:
                fill(found, st.R_SPACE, st.SPACE_CELLS)
                fill(found, st.R_SECOND_THREAD, thread)
                fill(found, st.R_SECOND_BLOCK, block)
                fill(found, st.R_OFFSET, lane << 16 | column + k)
                fill(found, st.R_SIZE, 4)
        if writes:
            poke8(place + k, 1)


@native
def at_move(head: int, env: int, slot: int, w: int, inst: int, form: int, thread: int,
            block: int) -> None:  # fmt: skip
    """tcgen05.ld and tcgen05.st."""
    address, shape = word_of(w, at.TM_A), form >> at.TM_SHAPE & 15
    count = width_of(shape) * (form >> at.TM_WORDS & 255) << (form >> at.TM_PACKED & 1)
    if not is_taken(env, address, count):
        return
    is_load = form & 15 == at.TM_LOAD
    for row in range(32 if shape == 0 else 16):
        use(head, slot, inst, thread, block, (address >> 16) + row, address & 0xFFFF, count,
            is_load, not is_load)  # fmt: skip


@native
def at_copy(head: int, env: int, record: int, w: int, inst: int, form: int, thread: int,
            block: int) -> None:  # fmt: skip
    """tcgen05.cp in one block."""
    address, shape = word_of(w, at.TM_D), form >> at.TM_SHAPE & 15
    rows = 4 if shape == 1 else 32 if shape == 5 else 64 if shape in (3, 4) else 128
    count = 8 if shape < 2 else 4
    if not is_taken(env, address, count):
        return
    for row in range(rows):
        turn = 0
        while destination(shape, row, turn) >= 0:
            lane = (address >> 16) + destination(shape, row, turn)
            use(head, record, inst, thread, block, lane, address & 0xFFFF, count, False, True)
            turn += 1


@native
def read_operands(head: int, env: int, record: int, w: int, inst: int, form: int, thread: int,
                  block: int, rows: int, columns: int) -> None:  # fmt: skip
    """A in tensor memory, and the factors of both operands."""
    a = word_of(w, at.TM_A)
    if form >> at.TM_FROM_MEMORY & 1 and is_taken(env, a, 8):
        scattered = rows == 64 and form & (1 << at.TM_PAIR | 1 << at.TM_STATIONARY) == 0
        for row in range(rows):
            lane = row // 16 * 32 + row % 16 if scattered else row
            use(head, record, inst, thread, block, (a >> 16) + lane, a & 0xFFFF, 8, True, False)
    if form >> at.TM_SCALED & 1 == 0:
        return
    for k in range(2):
        place, count = word_of(w, at.TM_SCALES + k) & 0x3FFFFFFF, rows if k == 0 else columns
        if is_taken(env, place, (count + 31) // 32):
            for n in range(count):
                use(head, record, inst, thread, block, n & 31, (place & 0xFFFF) + (n >> 5), 1,
                    True, False)  # fmt: skip


@native
def at_product(head: int, env: int, record: int, w: int, inst: int, form: int, thread: int,
               block: int, part: int) -> None:  # fmt: skip
    """tcgen05.mma in one block: what it reads, then D."""
    descriptor, core = word_of(w, at.TM_DESCRIPTOR), form >> at.TM_SHAPE & 15
    if wrong_form(descriptor, form, core) >= 0:
        return
    rows = ((descriptor >> 24 & 31) << 4) // (2 if form >> at.TM_PAIR & 1 else 1)
    n, d = (descriptor >> 17 & 63) << 3, word_of(w, at.TM_D)
    fold = fold_of(form, rows)
    width, scattered = n // fold, rows == 64 and fold == 1
    if not is_taken(env, d, width):
        return
    read_operands(head, env, record, w, inst, form, thread, block, rows, n)
    adds = word_of(w, at.TM_ADDS) != 0
    for row in range(rows * fold):
        lane = row // 16 * 32 + row % 16 if scattered else row
        if form >> at.TM_LANES & 1:
            mask = word_of(w, at.TM_MASKS + 4 * part + lane // 32)
            if mask >> (lane & 31) & 1:
                continue
        use(head, record, inst, thread, block, (d >> 16) + lane, d & 0xFFFF, width, adds, True)


@native
def give_back(head: int, slot: int, w: int) -> None:
    """Columns that are freed hold nothing any more."""
    kept = word_of(w, at.TM_A)
    for unit in range(16):
        if kept >> unit & 1 == 0:
            for lane in range(at.TM_LANES_OF_BLOCK):
                fill_zero(cells_of(head, slot) + at.TM_COLUMNS * lane + 32 * unit, 32)


@native
def at_cells(head: int, env: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """An instruction of tensor memory, before its unit executes it."""
    if peek64(head + 8 * st.TOOLS) & st.TOOL_INITCHECK == 0:
        return
    if peek64(head + 8 * st.HAS_CELLS) == 0:
        return
    form = word_of(w, at.TM_FORM)
    action, thread = form & 15, peek32(w + at.WARP_INDEX) << 5 | lowest_bit(lanes)
    if action == at.TM_LOAD or action == at.TM_STORE:
        if lanes == 0xFFFFFFFF:
            at_move(head, env, slot, w, inst, form, thread, block)
        return
    if action == at.TM_GIVE:
        give_back(head, slot, w)
        return
    if action != at.TM_PRODUCT and action != at.TM_COPY:
        return
    own = peek64(env + 8 * at.ENV_CLUSTER_RANK) >> 24
    is_pair = form >> at.TM_PAIR & 1 != 0
    if is_pair and own ^ 1 >= peek64(head + 8 * st.CLUSTER):
        return  # the engine reports it
    for part in range(2 if is_pair else 1):
        record = slot
        if is_pair and part != own & 1:
            record = clusters.record_of(head, env, own ^ 1)
        if action == at.TM_COPY:
            at_copy(head, env, record, w, inst, form, thread, block)
        else:
            at_product(head, env, record, w, inst, form, thread, block, part)
