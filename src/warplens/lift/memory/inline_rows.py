"""Code that serves aligned rows of memory without helpers; for shared loads see shared_loads.py."""

from __future__ import annotations

import itertools

from warplens.lift import layout as at
from warplens.lift import vector_ir
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.index_rows import ROWS_AHEAD, ask_for_rest, next_row
from warplens.lift.memory.shared_loads import inline_shared, load_row
from warplens.lift.regions.address_patterns import IndexRow
from warplens.lift.regions.writer import RegionWriter

_PAGE = 4096
_FEW_WARPS = 4  # in blocks of fewer warps one step from block to block is too short to ask ahead


def _row_test(w: RegionWriter, offsets: str, limit: str, size: int, also: str | None,
              mask: str, is_shared: bool) -> tuple[str, str]:  # fmt: skip
    """i1: the lanes access one row inside the limit; and the row's first offset.

    Global rows are those of full warps at a line's start. A shared row of words takes one pass
    wherever it starts and whichever of its lanes take part.
    """
    first = w.emit(f"extractelement <32 x i32> {offsets}, i32 0")
    start = w.x.broadcast("u32", first)
    row = w.emit(f"add <32 x i32> {start.ref}, {vector_ir.scaled_lanes(size)}")
    same = w.emit(f"icmp eq <32 x i32> {offsets}, {row}")
    test = same if also is None else w.emit(f"and <32 x i1> {same}, {also}")
    bits = w.emit(f"bitcast <32 x i1> {test} to i32")
    both = w.emit(f"and i32 {bits}, {mask}")
    any_mask = is_shared and size == 4
    full = w.emit(f"icmp eq i32 {both}, {mask if any_mask else -1}")
    phase = w.emit(f"and i32 {first}, {3 if any_mask else min(128, 32 * size) - 1}")
    aligned = w.emit(f"icmp eq i32 {phase}, 0")
    last = 31 * size if not any_mask else w.emit(f"shl i32 {w.highest_lane(mask)}, 2")
    end = w.emit(f"add i32 {first}, {last}")
    inside = w.emit(f"icmp ult i32 {end}, {limit}")
    no_wrap = w.emit(f"icmp ult i32 {first}, {limit}")
    ok = w.emit(f"and i1 {w.emit(f'and i1 {full}, {aligned}')}, {inside}")
    ok = w.emit(f"and i1 {ok}, {no_wrap}")
    if any_mask:
        ok = w.emit(f"and i1 {ok}, {w.emit(f'icmp ne i32 {mask}, 0')}")
    return ok, first


def fast_place(w: RegionWriter, space: str, site: str, address: tuple[Value, Value | None, int],
               size: int, mask: str) -> tuple[str, str]:  # fmt: skip
    """i1 for the inline row, and the row's host pointer."""
    low, high, offset = address
    if space == "shared":
        offsets = low if not offset else w.x.add(low, w.x.u32(offset))
        limit64 = w.env(at.ENV_SHARED_LIMIT)
        limit = w.emit(f"trunc i64 {w.emit(f'sub i64 {limit64}, {size - 1}')} to i32")
        positive = w.emit(f"icmp sgt i64 {limit64}, {size - 1}")
        limit = w.emit(f"select i1 {positive}, i32 {limit}, i32 0")
        test, first = _row_test(w, offsets.ref, limit, size, None, mask, True)
        host = w.emit(f"inttoptr i64 {w.env(at.ENV_SHARED)} to ptr")
        return test, w.emit(f"getelementptr i8, ptr {host}, i32 {first}")
    assert high is not None

    def site_word(at_offset: int) -> str:
        place = w.emit(f"getelementptr i8, ptr {site}, i64 {at_offset}")
        return w.emit(f"load i32, ptr {place}, align 4")

    seg_low, seg_high = site_word(at.SITE_LOW), site_word(at.SITE_HIGH)
    limit = site_word(at.SITE_LIMIT)
    delta = w.emit(f"sub i32 {offset & 0xFFFFFFFF}, {seg_low}")
    offsets_ref = w.emit(f"add <32 x i32> {low.ref}, {w.x.broadcast('u32', delta).ref}")
    same_high = w.emit(f"icmp eq <32 x i32> {high.ref}, {w.x.broadcast('u32', seg_high).ref}")
    test, first = _row_test(w, offsets_ref, limit, size, same_high, mask, False)
    place = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_HOST}")
    host_address = w.emit(f"load i64, ptr {place}, align 8")
    host = w.emit(f"inttoptr i64 {host_address} to ptr")
    wide = w.emit(f"zext i32 {first} to i64")
    return test, w.emit(f"getelementptr i8, ptr {host}, i64 {wide}")


def way_on(w: RegionWriter, site: str, place: str, n_rows: int = 0) -> tuple[str, str]:
    """Way over `n_rows` rows if rows go on as in the last two executions (i64, 0 if not), and how
    far ahead it is worth asking for one.

    Without `n_rows` a warp's own rows count: in a loop those of its rounds, elsewhere those of the
    warp with its number in one block after the other. With `n_rows` those of one warp after the
    other count, outside of loops.
    """
    slot = "0"
    if w.block.in_loop or not n_rows:
        slot = w.emit(f"and i32 {w.load_u32(at.WARP_INDEX)}, {at.N_WALKS - 1}")
    walks = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_WALKS}")
    walk = w.emit(f"getelementptr [2 x i32], ptr {walks}, i32 {slot}")
    first = w.emit(f"trunc i64 {w.emit(f'ptrtoint ptr {place} to i64')} to i32")
    step = w.emit(f"sub i32 {first}, {w.emit(f'load i32, ptr {walk}, align 4')}")
    step_place = w.emit(f"getelementptr i8, ptr {walk}, i64 4")
    old_step = w.emit(f"load i32, ptr {step_place}, align 4")
    w.line(f"store i32 {first}, ptr {walk}, align 4")
    w.line(f"store i32 {step}, ptr {step_place}, align 4")
    steady = w.emit(f"icmp eq i32 {step}, {old_step}")
    ahead = w.emit(f"select i1 {steady}, i32 {step}, i32 0")
    wide = w.emit(f"sext i32 {ahead} to i64")
    on = wide if n_rows <= 1 else w.emit(f"mul i64 {wide}, {n_rows}")
    return on, w.emit(f"mul i64 {wide}, {_steps_ahead(w, n_rows)}")


def _steps_ahead(w: RegionWriter, n_rows: int) -> str:
    """How many steps ahead memory is asked: a round of a loop or a block of few warps is short."""
    if w.block.in_loop or n_rows:
        return str(max(2 * n_rows, 4 if w.block.in_loop else 2))
    few = w.emit(f"icmp ult i64 {w.env(at.ENV_WARPS_PER_BLOCK)}, {_FEW_WARPS}")
    return w.emit(f"select i1 {few}, i64 {_FEW_WARPS}, i64 1")


def fetch_ahead(w: RegionWriter, site: str, place: str, size: int, n_rows: int = 0) -> str:
    """Asks for a row that comes soon if rows go on as in the last two executions.

    Processors follow small steps by themselves, but not across pages or among many other accesses.
    Gives the way over `n_rows` rows (i64), 0 if rows do not go on.
    """
    on, distance = way_on(w, site, place, n_rows)
    ask_for_row(w, place, distance, size, writes=False)
    return on


def ask_for_row(w: RegionWriter, place: str, distance: str, size: int, *,
                writes: bool) -> None:  # fmt: skip
    """Asks for the lines of the row `distance` (i64) bytes on.

    Rows that will be written are asked for as such: a store waits for its line too, and one that
    begins within a line for two at once, which holds up all stores behind it.
    """
    lines = [64 * line for line in range(max(1, size // 2))]
    if size == 16 or (writes and size > 1):  # rows may begin within a line
        lines.append(32 * size - 1)
    for line in lines:
        there = w.emit(f"add i64 {distance}, {line}")
        there = w.emit(f"getelementptr i8, ptr {place}, i64 {there}")
        w.line(f"call void @llvm.prefetch.p0(ptr {there}, i32 {int(writes)}, i32 3, i32 1)")


def ask_to_store(w: RegionWriter, site: str, place: str, size: int) -> None:
    """Asks for a row that will be written soon, where it is so far on that no processor follows."""
    _, distance = way_on(w, site, place)
    back = w.emit(f"add i64 {distance}, {_PAGE}")
    far, near = w.module.label("far"), w.module.label("near")
    w.line(f"br i1 {w.emit(f'icmp ugt i64 {back}, {2 * _PAGE}')}, label %{far}, label %{near}")
    w.module.start(far)
    ask_for_row(w, place, distance, size, writes=True)
    w.line(f"br label %{near}")
    w.module.start(near)


def store_row(w: RegionWriter, place: str, values: list[Value], size: int,
              mask: str | None, how: str = "align 4") -> None:  # fmt: skip
    """Stores a row; `mask` names the lanes that take part if they may be fewer than all."""
    v = "<32 x i32>"
    if mask is not None:
        lanes = w.vector_mask(mask)
        w.line(
            f"call void @llvm.masked.store.v32i32.p0({v} {values[0].ref}, ptr {place}, i32 4, "
            f"<32 x i1> {lanes})"
        )
        return
    if size <= 2:
        n = 8 * size
        narrow = w.emit(f"trunc {v} {values[0].ref} to <32 x i{n}>")
        w.line(f"store <32 x i{n}> {narrow}, ptr {place}, align 1")
        return
    if size == 4:
        w.line(f"store {v} {values[0].ref}, ptr {place}, align 4")
        return
    mixed = _in_order(w, values)
    w.line(f"store {mixed}, ptr {place}, {how}")


def _in_order(w: RegionWriter, values: list[Value]) -> str:
    """The words of each lane one lane after the other, as one typed vector."""
    refs, n_lanes = [x.ref for x in values], 32
    while len(refs) > 1:  # concatenate, then interleave
        kind = f"<{n_lanes} x i32>"
        every = ", ".join(f"i32 {i}" for i in range(2 * n_lanes))
        refs = [
            w.emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * n_lanes} x i32> <{every}>")
            for a, b in zip(refs[::2], refs[1::2], strict=True)
        ]
        n_lanes *= 2
    kind = f"<{n_lanes} x i32>"
    words = len(values)
    order = ", ".join(f"i32 {(i % words) * 32 + i // words}" for i in range(n_lanes))
    mixed = w.emit(f"shufflevector {kind} {refs[0]}, {kind} poison, <{n_lanes} x i32> <{order}>")
    return f"{kind} {mixed}"


def store_behind(w: RegionWriter, place: str, values: list[Value], behind: int) -> None:
    """Stores a row of 512 bytes that begins some bytes behind a line: whole lines go past the
    caches, the ends through them, where the rows beside it complete their lines."""
    mixed, head = _in_order(w, values), (64 - behind) // 4
    ends = [0, *range(head, 128, 16), 128]
    for first, last in itertools.pairwise(ends):
        n = last - first
        order = ", ".join(f"i32 {i}" for i in range(first, last))
        part = w.emit(f"shufflevector {mixed}, <128 x i32> poison, <{n} x i32> <{order}>")
        there = w.emit(f"getelementptr i8, ptr {place}, i64 {4 * first}")
        how = "align 64, !nontemporal !3" if n == 16 else "align 4"
        w.line(f"store <{n} x i32> {part}, ptr {there}, {how}")


def count_row(w: RegionWriter, slot: int) -> None:
    """Counts a row."""
    w.count(slot, "1")


def _skip_scattered(w: RegionWriter, site: str, slow: str) -> None:
    """Goes the general way at once where the last access was none to a row."""
    place = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_SCATTERED}")
    word = w.emit(f"load i32, ptr {place}, align 4")
    maybe = w.module.label("maybe")
    w.line(f"br i1 {w.emit(f'icmp eq i32 {word}, 0')}, label %{maybe}, label %{slow}, !prof !1")
    w.module.start(maybe)


def inline_loads(w: RegionWriter, space: str, site: str, address: tuple[Value, Value | None, int],
                 size: int, mask: str, signed: bool, slot: int,
                 indices: IndexRow | None = None) -> list[tuple[str, str, list[str]]]:  # fmt: skip
    """The patterns served inline: (label behind the load, last label, words) of each.

    The code goes on where the general path is to be written. Of a row of indices a later one is
    noted.
    """
    if space not in ("global", "shared") or not w.inline_rows:
        return []
    if space == "shared":
        low, _, offset = address
        return inline_shared(w, site, low, offset, size, mask, signed, slot)
    fast, slow, done = (w.module.label(s) for s in ("row", "walk", "loaded"))
    if size == 4:
        _skip_scattered(w, site, slow)
    test, place = fast_place(w, space, site, address, size, mask)
    w.line(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    w.module.start(fast)
    step = fetch_ahead(w, site, place, size, 0 if indices is None else ROWS_AHEAD)
    if indices is not None:
        ask_for_rest(w, site, indices)
        indices.ahead, indices.site = next_row(w, site, place, step), site
    words = load_row(w, place, size, signed)
    count_row(w, slot)
    w.line(f"br label %{done}")
    w.module.start(slow)
    return [(done, fast, words)]
