"""Code for loads and stores.

A full warp that reads or writes one aligned row of memory is served inline; everything else goes
through the helpers of runtime/.
"""

from __future__ import annotations

from functools import cache

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound, access_bytes, wide_parts
from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory import index_rows
from warplens.lift.memory.addresses import (
    address_of,
    get_scratch,
    is_wide,
    memory_operand,
    own_shared,
    placed,
    put_address,
    put_scratch,
    space_of,
    write_words,
)
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.index_rows import ask_ahead
from warplens.lift.memory.inline_rows import (
    ask_for_row,
    ask_to_store,
    count_row,
    fast_place,
    inline_loads,
    store_behind,
    store_row,
    way_on,
)
from warplens.lift.memory.lane_rows import serve
from warplens.lift.memory.sites import (
    SPACES,
    call,
    cluster_helper,
    new_site,
    site_pointer,
    slow_down,
    use_runtime,
)
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import (
    generic_ir,
    global_ir,
    local_ir,
    move_ir,
    quick_ir,
    shared_ir,
    window_store_ir,
)
from warplens.lift.runtime.access_ir import RESULTS, VALUES
from warplens.sass.model import PT, RZ, Const, Imm, Pred, Reg, UReg

_LARGE_BYTES = 32 << 20  # arrays of this size and more are not kept in caches
_BEHIND = 16  # bytes from a line to where NumPy's large arrays begin


@cache
def _moves(features: HostFeatures, space: str, op: str, size: int, observe: bool,
           clusters: bool) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """The helpers of loads or stores of a size."""
    mover = move_ir.move_load if op == "load" else move_ir.move_store
    sizes = {size, min(size, 4)}
    functions = [(f"wl.mv.{op}.{s}", mover(s)) for s in sorted(sizes)]
    spaces = SPACES[space]
    make = {"global": global_ir.global_move, "shared": shared_ir.shared_move,
            "local": local_ir.local_move}  # fmt: skip
    functions += [(f"wl.{s}.{op}.{size}", make[s](op, size, observe)) for s in spaces]
    if size == 4 and "global" in spaces and not observe:
        slow, name = f"wl.global.{op}.4.walk", f"wl.global.{op}.4"
        walk = dict(functions)[name].replace(f"@{name}(", f"@{slow}(")
        functions = [f for f in functions if f[0] != name]
        functions.append((slow, walk))
        if op == "load":
            functions += [(f"{name}.any", global_ir.global_words(op)),
                          (name, global_ir.gathered_words())]
        else:
            functions.append((name, global_ir.global_words(op)))
    if op == "load" and "shared" in spaces and not observe and (
        quick_ir.has_window(features, size)
    ):
        name = f"wl.shared.load.{size}"
        walk = dict(functions)[name].replace(f"@{name}(", f"@{name}.walk(")
        functions = [f for f in functions if f[0] != name]
        functions += [*quick_ir.WINDOW_DECLARATIONS.items(), (f"{name}.walk", walk),
                      (name, quick_ir.shared_window(size))]
    if op == "store" and size == 4 and "shared" in spaces and not observe:
        name = "wl.shared.store.4"
        walk = dict(functions)[name].replace(f"@{name}(", f"@{name}.walk(")
        functions = [f for f in functions if f[0] != name]
        functions += [*window_store_ir.DECLARATIONS.items(), (f"{name}.walk", walk),
                      (name, quick_ir.shared_words(features))]
    if space == "generic":
        functions.append((f"wl.generic.{op}.{size}", generic_ir.generic_move(op, size, clusters)))
    return tuple(functions)


def _use_move(w: RegionWriter, space: str, op: str, size: int) -> None:
    use_runtime(w, *_moves(w.features, space, op, size, w.observe, w.clusters))
    if space == "generic" and w.clusters:
        cluster_helper(w, f"wl.shared.{op}.{size}", size, shared_ir.shared_move(op, size))


@role("load")
def load(w: RegionWriter, item: Bound) -> None:
    """LDG, LDS, LDL, LD."""
    space, size = space_of(item), access_bytes(item.inst)
    mem = memory_operand(item)
    signed = "S8" in item.inst.modifiers or "S16" in item.inst.modifiers
    if space in ("global", "generic") and not is_wide(item, mem, space):
        raise BindingError("32-bit global address")
    address = placed(w, space, address_of(w, mem, is_wide(item, mem, space)))
    values = _load_words(w, item, space, size, address, signed)
    destination = next(o for o in item.inst.operands if isinstance(o, Reg))
    write_words(w, destination, values)


_Address = tuple[Value, Value | None, int]


def _load_words(w: RegionWriter, item: Bound, space: str, size: int, address: _Address,
                signed: bool) -> list[str]:  # fmt: skip
    """The words of each lane."""
    _use_move(w, space, "load", size)
    slow_down(w, item)
    site_index, slot = new_site(w, space, size, "load", True)
    site, mask = site_pointer(w, site_index), w.lanes_mask()
    mask = check_lanes(w, space, at.ACCESS_READ, size, address, site_index, mask)
    ask_for_others = ask_ahead(w, site, address, writes=False)
    indices = index_rows.find(w, item)
    found = serve(w, item, site, address, slot) or inline_loads(
        w, space, site, address, size, mask, signed, slot, indices
    )
    imm = put_address(w, space, address)
    call(w, f"wl.{space}.load.{size}", site, mask, imm, slot)
    values = [get_scratch(w, RESULTS + k) for k in range(max(1, size // 4))]
    if signed:
        shift = 32 - 8 * size
        up = w.emit(f"shl <32 x i32> {values[0]}, splat (i32 {shift})")
        values = [w.emit(f"ashr <32 x i32> {up}, splat (i32 {shift})")]
    if found:
        slow_end, done = w.module.label("walked"), found[0][0]
        w.line(f"br label %{slow_end}")
        w.module.start(slow_end)
        w.line(f"br label %{done}")
        w.module.start(done)
        values = [
            w.emit("phi <32 x i32> " + ", ".join(
                f"[ {words[k]}, %{end} ]" for end, words in
                (*((end, words) for _, end, words in found), (slow_end, values))
            ))
            for k in range(len(values))
        ]  # fmt: skip
    if indices is not None and indices.ahead:
        (_, end, _), = found
        pairs = f"[ {indices.ahead}, %{end} ], [ null, %{slow_end} ]"
        indices.row, indices.ahead = values[0], w.emit(f"phi ptr {pairs}")
        w.index_rows[indices.user] = indices
    ask_for_others()
    return values


@role("wide_load")
def wide_load(w: RegionWriter, item: Bound) -> None:
    """LDG.256 high, low, [address], mask: two loads of four words; a mask names words."""
    for destination, offset, count in wide_parts(item.inst):
        mem = memory_operand(item)
        low, high, first = address_of(w, mem, True)
        values = _load_words(w, item, space_of(item), 16, (low, high, first + offset), False)
        write_words(w, destination, values[:count])


@role("wide_store")
def wide_store(w: RegionWriter, item: Bound) -> None:
    """STG.256 [address], low, high: two stores of four words."""
    for source, offset, _ in wide_parts(item.inst):
        mem = memory_operand(item)
        low, high, first = address_of(w, mem, True)
        values = [w.operands.bits_word(source, k, False) for k in range(4)]
        _store_words(w, item, space_of(item), 16, (low, high, first + offset), values)


@role("store")
def store(w: RegionWriter, item: Bound) -> None:
    """STG, STS, STL, ST."""
    space, size = space_of(item), access_bytes(item.inst)
    mem = memory_operand(item)
    if space in ("global", "generic") and not is_wide(item, mem, space):
        raise BindingError("32-bit global address")
    sources = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm | Const)]
    words = max(1, size // 4)
    values = [w.operands.bits_word(sources[0], k, False) for k in range(words)]
    address = placed(w, space, address_of(w, mem, is_wide(item, mem, space)))
    _store_words(w, item, space, size, address, values)


def _store_words(w: RegionWriter, item: Bound, space: str, size: int, address: _Address,
                 values: list[Value]) -> None:  # fmt: skip
    """Stores words of each lane."""
    _use_move(w, space, "store", size)
    slow_down(w, item)
    site_index, slot = new_site(w, space, size, "store", True)
    site, mask = site_pointer(w, site_index), w.lanes_mask()
    if w.watch.checks:
        for k, value in enumerate(values):
            put_scratch(w, VALUES + k, value)
    mask = check_lanes(w, space, at.ACCESS_WRITE, size, address, site_index, mask)
    ask_for_others = ask_ahead(w, site, address, writes=True)
    done = w.module.label("stored")
    if space in ("global", "shared") and w.inline_rows:
        test, place = fast_place(w, space, site, address, size, mask)
        fast, slow = w.module.label("row"), w.module.label("walk")
        w.line(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
        w.module.start(fast)
        if space == "global" and size == 16:
            _store_wide_row(w, site, place, values)
        elif space == "global":
            ask_to_store(w, site, place, size)
            store_row(w, place, values, size, None)
        else:
            store_row(w, place, values, size, mask if size == 4 else None)
        count_row(w, slot)
        w.line(f"br label %{done}")
        w.module.start(slow)
    imm = put_address(w, space, address)
    for k, value in enumerate(values):
        put_scratch(w, VALUES + k, value)
    call(w, f"wl.{space}.store.{size}", site, mask, imm, slot)
    w.line(f"br label %{done}")
    w.module.start(done)
    ask_for_others()


def _store_wide_row(w: RegionWriter, site: str, place: str, values: list[Value]) -> None:
    """A row of 512 bytes; past the caches where an array is so large that no cache holds it.

    A store through the caches reads its line first. What goes past them is seen late by other
    threads: not in kernels with fences.
    """
    stored, near = w.module.label("wide"), w.module.label("near")
    _, distance = way_on(w, site, place)
    if w.features.has_avx512 and not w.has_fences:
        limit = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_LIMIT}")
        limit = w.emit(f"load i32, ptr {limit}, align 4")
        large = w.emit(f"icmp uge i32 {limit}, {_LARGE_BYTES}")
        within = w.emit(f"and i64 {w.emit(f'ptrtoint ptr {place} to i64')}, 63")
        place_of = w.emit(f"select i1 {large}, i64 {within}, i64 1")
        lines, behind = w.module.label("past"), w.module.label("behind")
        w.line(f"switch i64 {place_of}, label %{near} [ i64 0, label %{lines} "
               f"i64 {_BEHIND}, label %{behind} ]")  # fmt: skip
        w.module.start(lines)
        store_row(w, place, values, 16, None, how="align 64, !nontemporal !3")
        w.line(f"br label %{stored}")
        w.module.start(behind)
        end = w.emit(f"getelementptr i8, ptr {place}, i64 {w.emit(f'add i64 {distance}, 511')}")
        w.line(f"call void @llvm.prefetch.p0(ptr {end}, i32 1, i32 3, i32 1)")
        store_behind(w, place, values, _BEHIND)
        w.line(f"br label %{stored}")
    else:
        w.line(f"br label %{near}")
    w.module.start(near)
    ask_for_row(w, place, distance, 16, writes=True)
    store_row(w, place, values, 16, None)
    w.line(f"br label %{stored}")
    w.module.start(stored)


@role("query_space")
def query_space(w: RegionWriter, item: Bound) -> None:
    """QSPC: is a generic address in the shared (.S) or local (.L) window, or global (.G)?"""
    mem = memory_operand(item)
    low, high, _ = address_of(w, mem, True)
    assert high is not None
    x = w.x
    shared = x.icmp("eq", high, x.u32(at.SHARED_WINDOW_HIGH))
    local = x.icmp("eq", high, x.u32(at.LOCAL_WINDOW_HIGH))
    modifiers = item.inst.modifiers
    if "S" in modifiers:
        offset = own_shared(w, low)
        own = x.icmp("ult", offset, x.u32(1 << 24)) if w.clusters else x.true()
        truth = x.pand(shared, own)
    elif "D" in modifiers:  # shared memory of any block of the cluster
        truth = shared
    elif "L" in modifiers:
        truth = local
    else:
        truth = x.pnot(x.por(shared, local))
    for operand in item.inst.operands:
        if isinstance(operand, Pred) and operand.index != PT:
            w.operands.write_word(256 + operand.index, truth, w.guard)
        elif isinstance(operand, Reg) and operand.index != RZ:
            word = x.select(truth, x.u32(1), x.u32(0))
            w.operands.write_word(operand.index, word, w.guard)
