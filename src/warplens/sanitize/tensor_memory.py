"""Tensor memory under initcheck and racecheck: which cells an instruction of tcgen05 reads, writes.

initcheck has a byte for each of a block's 128 x 512 cells, cleared when columns are given back;
racecheck a shadow cell for 16 lanes of a column, four lanes to each of the four bits that stand for
a word's bytes elsewhere. Uses that the engine refuses are left to it.
"""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import fill_zero
from warplens.execute.tensor_memory.cells import columns_mask
from warplens.execute.tensor_memory.moves import destination, width_of
from warplens.execute.tensor_memory.products import fold_of, kind_of, wrong_form
from warplens.execute.tensor_memory.sparse import is_interleaved, is_sparse
from warplens.lift import layout as at
from warplens.sanitize import clusters, shadow
from warplens.sanitize import state as st
from warplens.sanitize.apart import tick
from warplens.sanitize.matrices import read_copied, read_factors
from warplens.sanitize.native import lowest_bit, peek8, peek32, peek64, poke8
from warplens.sanitize.records import claim, fill


@native
def word_of(w: int, slot: int) -> int:
    """An operand, which is the same for all lanes."""
    return peek32(w + at.WARP_SCRATCH + 128 * slot) & 0xFFFFFFFF


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
def use(head: int, record: int, slot: int, w: int, now: int, block: int, lane: int, column: int,
        count: int, reads: bool, writes: bool) -> None:  # fmt: skip
    """Cells of one lane, in the tensor memory of a block's record: read, written or both."""
    if lane >= at.TM_LANES_OF_BLOCK:
        return
    tools = peek64(head + 8 * st.TOOLS)
    if tools & st.TOOL_INITCHECK:
        note_written(head, record, now, block, lane, column, count, reads, writes)
    if tools & st.TOOL_RACECHECK:
        check_cells(head, record, slot, w, now, block, lane, column, count, writes)


@native
def note_written(head: int, record: int, now: int, block: int, lane: int, column: int, count: int,
                 reads: bool, writes: bool) -> None:  # fmt: skip
    """initcheck: cells that are read must be written, those written are."""
    place = record + peek64(head + 8 * st.AT_CELLS_INIT) + at.TM_COLUMNS * lane + column
    inst = now & st.INSTRUCTION_MASK
    for k in range(count):
        if reads and peek8(place + k) == 0:
            found = claim(head, st.C_UNINITIALISED, inst, inst, st.SPACE_CELLS, 1)
            if found != 0:
                fill(found, st.R_SPACE, st.SPACE_CELLS)
                fill(found, st.R_SECOND_THREAD, (now >> st.STAMP_LANE) & 1023)
                fill(found, st.R_SECOND_BLOCK, block)
                fill(found, st.R_OFFSET, lane << 16 | column + k)
                fill(found, st.R_SIZE, 4)
        if writes:
            poke8(place + k, 1)


@native
def check_cells(head: int, record: int, slot: int, w: int, now: int, block: int, lane: int,
                column: int, count: int, writes: bool) -> None:  # fmt: skip
    """racecheck: a lane's cells against their shadows, unless neighbours' lanes just were."""
    part = 1 << st.STAMP_BYTES + ((lane & 15) >> 2)
    now |= part
    cell = record + peek64(head + 8 * st.AT_CELLS)
    cell += st.CELL_BYTES * (at.TM_COLUMNS * (lane >> 4) + column)
    for k in range(count):
        seen = peek64(cell if writes else cell + 8)
        is_same = (seen ^ now) >> st.STAMP_WARP == 0 and seen & part != 0
        if not is_same or (seen ^ now) & st.INSTRUCTION_MASK != 0:
            shadow.check_word(
                head, slot, w, cell, 0, now, block, st.SPACE_CELLS, 0, lane << 16 | column + k, 4,
                writes, 0, 0,
            )  # fmt: skip
        cell += st.CELL_BYTES


@native
def at_move(head: int, env: int, slot: int, w: int, now: int, form: int, block: int) -> None:
    """tcgen05.ld and tcgen05.st."""
    address, shape = word_of(w, at.TM_A), form >> at.TM_SHAPE & 15
    count = width_of(shape) * (form >> at.TM_WORDS & 255) << (form >> at.TM_PACKED & 1)
    if not is_taken(env, address, count):
        return
    is_load = form & 15 == at.TM_LOAD
    for row in range(32 if shape == 0 else 16):
        use(head, slot, slot, w, now, block, (address >> 16) + row, address & 0xFFFF, count,
            is_load, not is_load)  # fmt: skip


@native
def at_copy(head: int, env: int, record: int, slot: int, w: int, now: int, form: int, block: int,
            host: int) -> None:  # fmt: skip
    """tcgen05.cp in one block."""
    address, shape = word_of(w, at.TM_D), form >> at.TM_SHAPE & 15
    rows = 4 if shape == 1 else 32 if shape == 5 else 64 if shape in (3, 4) else 128
    count = 8 if shape < 2 else 4
    if not is_taken(env, address, count):
        return
    read_copied(head, record, slot, w, now, block, host, rows, count // 4)
    for row in range(rows):
        turn = 0
        while destination(shape, row, turn) >= 0:
            lane = (address >> 16) + destination(shape, row, turn)
            use(head, record, slot, w, now, block, lane, address & 0xFFFF, count, False, True)
            turn += 1


@native
def at_shift(head: int, env: int, record: int, slot: int, w: int, now: int, block: int) -> None:
    """tcgen05.shift in one block."""
    address = word_of(w, at.TM_D)
    if not is_taken(env, address, 8):
        return
    for lane in range(at.TM_LANES_OF_BLOCK):
        use(head, record, slot, w, now, block, lane, address & 0xFFFF, 8, lane & 31 != 0,
            lane & 31 != 31)  # fmt: skip


@native
def read_operands(head: int, env: int, record: int, slot: int, w: int, now: int, form: int,
                  block: int, rows: int, columns: int) -> None:  # fmt: skip
    """A in tensor memory, and the factors of both operands."""
    a = word_of(w, at.TM_A)
    if form >> at.TM_FROM_MEMORY & 1 and is_taken(env, a, 8):
        scattered = rows == 64 and form & (1 << at.TM_PAIR | 1 << at.TM_STATIONARY) == 0
        for row in range(rows):
            lane = row // 16 * 32 + row % 16 if scattered else row
            use(head, record, slot, w, now, block, (a >> 16) + lane, a & 0xFFFF, 8, True, False)
    read_metadata(head, env, record, slot, w, now, form, block)
    if form >> at.TM_SCALED & 1 == 0:
        return
    for k in range(2):
        place, count = word_of(w, at.TM_SCALES + k) & 0x3FFFFFFF, rows if k == 0 else columns
        if is_taken(env, place, (count + 31) // 32):
            for n in range(count):
                use(head, record, slot, w, now, block, n & 31, (place & 0xFFFF) + (n >> 5), 1,
                    True, False)  # fmt: skip


@native
def read_metadata(head: int, env: int, record: int, slot: int, w: int, now: int, form: int,
                  block: int) -> None:  # fmt: skip
    """A sparse product's metadata: a column of all lanes, two of narrow numbers."""
    descriptor, core = word_of(w, at.TM_DESCRIPTOR), form >> at.TM_SHAPE & 15
    if not is_sparse(descriptor):
        return
    count = 1 if is_interleaved(kind_of(core, descriptor >> 7 & 7)) else 2
    place = word_of(w, at.TM_METADATA) + (descriptor & 3)
    if is_taken(env, place, count):
        for lane in range(at.TM_LANES_OF_BLOCK):
            use(head, record, slot, w, now, block, lane, place & 0xFFFF, count, True, False)


@native
def at_product(head: int, env: int, record: int, slot: int, w: int, now: int, form: int,
               block: int, host: int, part: int) -> None:  # fmt: skip
    """tcgen05.mma in one block: what it reads, then D."""
    descriptor, core = word_of(w, at.TM_DESCRIPTOR), form >> at.TM_SHAPE & 15
    if wrong_form(descriptor, form, core) >= 0:
        return
    parts = 2 if form >> at.TM_PAIR & 1 else 1
    rows = ((descriptor >> 24 & 31) << 4) // parts
    n, d = (descriptor >> 17 & 63) << 3, word_of(w, at.TM_D)
    fold = fold_of(form, rows)
    width, scattered = n // fold, rows == 64 and fold == 1
    if not is_taken(env, d, width):
        return
    read_factors(head, record, slot, w, now, form, block, host, rows, n // parts)
    read_operands(head, env, record, slot, w, now, form, block, rows, n)
    adds = word_of(w, at.TM_ADDS) != 0
    for row in range(rows * fold):
        lane = row // 16 * 32 + row % 16 if scattered else row
        if form >> at.TM_LANES & 1:
            mask = word_of(w, at.TM_MASKS + 4 * part + lane // 32)
            if mask >> (lane & 31) & 1:
                continue
        use(head, record, slot, w, now, block, (d >> 16) + lane, d & 0xFFFF, width, adds, True)


@native
def give_back(head: int, slot: int, w: int, now: int, block: int) -> None:
    """Columns that are freed hold nothing any more, and nobody may be using them."""
    kept, tools = word_of(w, at.TM_A), peek64(head + 8 * st.TOOLS)
    for unit in range(16):
        if kept >> unit & 1 != 0:
            continue
        for lane in range(at.TM_LANES_OF_BLOCK):
            if tools & st.TOOL_INITCHECK:
                initial = slot + peek64(head + 8 * st.AT_CELLS_INIT)
                fill_zero(initial + at.TM_COLUMNS * lane + 32 * unit, 32)
            if tools & st.TOOL_RACECHECK:
                check_cells(head, slot, slot, w, now, block, lane, 32 * unit, 32, True)
        if tools & st.TOOL_RACECHECK:
            for group in range(at.TM_LANES_OF_BLOCK // 16):
                cell = at.TM_COLUMNS * group + 32 * unit
                place = slot + peek64(head + 8 * st.AT_CELLS) + st.CELL_BYTES * cell
                fill_zero(place, 32 * st.CELL_BYTES)


@native
def begin(head: int, slot: int, w: int, inst: int, lanes: int, action: int) -> int:
    """The stamp of an instruction; what goes on beside its thread has a clock of its own."""
    warp = peek32(w + at.WARP_INDEX)
    clock = peek64(slot + peek64(head + 8 * st.AT_CLOCKS) + 8 * warp)
    if action in (at.TM_STORE, at.TM_PRODUCT, at.TM_COPY, at.TM_MOVE):
        clock = tick(head, slot, warp)
    thread = warp << st.STAMP_WARP | lowest_bit(lanes) << st.STAMP_LANE
    return clock << st.STAMP_CLOCK | thread | inst


@native
def at_cells(head: int, env: int, slot: int, w: int, inst: int, lanes: int, block: int) -> None:
    """An instruction of tensor memory, before its unit executes it."""
    if peek64(head + 8 * st.TOOLS) & (st.TOOL_INITCHECK | st.TOOL_RACECHECK) == 0:
        return
    if peek64(head + 8 * st.HAS_CELLS) == 0:
        return
    form = word_of(w, at.TM_FORM)
    action = form & 15
    now = begin(head, slot, w, inst, lanes, action)
    if action == at.TM_LOAD or action == at.TM_STORE:
        if lanes == 0xFFFFFFFF:
            at_move(head, env, slot, w, now, form, block)
        return
    if action == at.TM_GIVE:
        give_back(head, slot, w, now, block)
        return
    if action not in (at.TM_PRODUCT, at.TM_COPY, at.TM_MOVE):
        return
    own = peek64(env + 8 * at.ENV_CLUSTER_RANK) >> 24
    is_pair = form >> at.TM_PAIR & 1 != 0
    if is_pair and own ^ 1 >= peek64(head + 8 * st.CLUSTER):
        return  # the engine reports it
    for part in range(2 if is_pair else 1):
        record, host = slot, peek64(env + 8 * at.ENV_SHARED)
        if is_pair and part != own & 1:
            record = clusters.record_of(head, env, own ^ 1)
            host = peek64(peek64(env + 8 * at.ENV_CLUSTER_SHARED) + 8 * (own ^ 1))
        if action == at.TM_MOVE:
            at_shift(head, env, record, slot, w, now, block)
        elif action == at.TM_COPY:
            at_copy(head, env, record, slot, w, now, form, block, host)
        else:
            at_product(head, env, record, slot, w, now, form, block, host, part)
