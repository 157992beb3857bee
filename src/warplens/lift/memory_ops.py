"""Code for loads, stores, atomics and constant loads.

A full warp that reads or writes one aligned row of memory is served inline; everything else goes
through the helpers of access_ir.py. Counter slots of a site: 0 inline rows, then what the helper
counts (see runtime_ir.py).
"""

from __future__ import annotations

from functools import cache

from warplens.execute import layout as at
from warplens.lift import (
    access_ir,
    atomic_ir,
    cluster_ir,
    count_ir,
    quick_ir,
    runs_ir,
    runtime_ir,
)
from warplens.lift.access_ir import ADDRESSES, RESULTS, SWAP, VALUES
from warplens.lift.binding import (
    ATOMIC_VECTORS,
    KEY_UNIFORM,
    BindingError,
    Bound,
    access_bytes,
    is_wide_address,
)
from warplens.lift.host import HostFeatures
from warplens.lift.lane_rows import serve
from warplens.lift.lifter import RegionWriter, role
from warplens.lift.llvm_lanes import Value
from warplens.lift.shared_loads import inline_shared, load_row
from warplens.lift.watching import check_lanes
from warplens.sass.model import PT, RZ, Const, Imm, Mem, Operand, Pred, Reg, UPred, UReg

_SPACES = {"global": ("global",), "shared": ("shared",), "local": ("local",),
           "generic": ("global", "local", "shared"), "cluster": ("shared",)}  # fmt: skip


def _spaces(w: RegionWriter, space: str) -> tuple[str, ...]:
    """The spaces that an access may reach; in clusters also other blocks' shared memory."""
    far = ("dshared",) if space == "cluster" or (space == "generic" and w.clusters) else ()
    return _SPACES[space] + far


def own_shared(w: RegionWriter, low: Value) -> Value:
    """Addresses in the running block's shared memory as offsets: without the block's rank."""
    if not w.clusters:
        return low
    rank = w.emit(f"trunc i64 {w.env(at.ENV_CLUSTER_RANK)} to i32")
    return w.x.sub(low, w.x.broadcast("u32", rank))


def cluster_helper(w: RegionWriter, own: str, size: int, quiet: str) -> str:
    """Adds a helper that serves any block of the cluster through @OWN; returns its name.

    Accesses to other blocks' memory are not shown to observers: where the module observes they go
    through `quiet`, the text of @OWN without observation.
    """
    stem = own.removeprefix("wl.").removeprefix("shared.")
    name, far = f"wl.cluster.{stem}", own
    if w.observe:
        far = f"wl.remote.{stem}"
        w.module.helper(far, quiet.replace(f"@{own}(", f"@{far}("))
    w.module.helper("wl.cluster.base", cluster_ir.base())
    w.module.helper(name, cluster_ir.by_rank(name, own, far, size))
    return name


@cache
def _runtime(features: HostFeatures) -> tuple[tuple[str, str], ...]:
    """What all helpers call."""
    found: dict[str, str] = {}
    for group in (runtime_ir.DECLARATIONS, access_ir.GATHER, access_ir.MASKED):
        found.update(group)
    found["llvm.fabs.f64"] = "declare double @llvm.fabs.f64(double)"
    found["wl.fault"] = runtime_ir.fault()
    found["wl.find"] = runtime_ir.find()
    found.update(runtime_ir.distinct(features))
    found["wl.most"] = runtime_ir.most_per_bank()
    found.update(runtime_ir.remember())
    found.update(runs_ir.count_runs())
    found.update(count_ir.functions())
    return tuple(found.items())


def use_runtime(w: RegionWriter, *functions: tuple[str, str]) -> None:
    """Adds the helper functions and all that they call to the module."""
    for name, text in (*_runtime(w.features), *functions):
        w.module.helper(name, text)


@cache
def _moves(features: HostFeatures, space: str, op: str, size: int, observe: bool,
           clusters: bool) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """The helpers of loads or stores of a size."""
    mover = access_ir.move_load if op == "load" else access_ir.move_store
    sizes = {size, min(size, 4)}
    functions = [(f"wl.mv.{op}.{s}", mover(s)) for s in sorted(sizes)]
    spaces = _SPACES[space]
    make = {"global": access_ir.global_move, "shared": access_ir.shared_move,
            "local": access_ir.local_move}  # fmt: skip
    functions += [(f"wl.{s}.{op}.{size}", make[s](op, size, observe)) for s in spaces]
    if size == 4 and "global" in spaces and not observe:
        slow, name = f"wl.global.{op}.4.walk", f"wl.global.{op}.4"
        walk = dict(functions)[name].replace(f"@{name}(", f"@{slow}(")
        functions = [f for f in functions if f[0] != name]
        functions += [(slow, walk), (name, access_ir.global_words(op))]
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
        functions += [(f"{name}.walk", walk), (name, quick_ir.shared_words())]
    if space == "generic":
        functions.append((f"wl.generic.{op}.{size}", access_ir.generic_move(op, size, clusters)))
    return tuple(functions)


def _use_move(w: RegionWriter, space: str, op: str, size: int) -> None:
    use_runtime(w, *_moves(w.features, space, op, size, w.observe, w.clusters))
    if space == "generic" and w.clusters:
        cluster_helper(w, f"wl.shared.{op}.{size}", size, access_ir.shared_move(op, size))


def new_site(w: RegionWriter, space: str, size: int, op: str = "",
             is_inline: bool = False) -> tuple[int, int]:  # fmt: skip
    """Reserves access sites and counter slots for an instruction; (site, first slot).

    Args:
        space, size: where it goes and the bytes of a lane.
        op: load, store or atomic.
        is_inline: rows may be served inline, uncounted but for their number; then every executing
            lane asks for `size` bytes.
    """
    first_site, first_slot = len(w.sites), w.n_counters
    i = w.index
    for s in _spaces(w, space):
        w.sites.append(i)
        w.site_widths.append(size)
        base = w.n_counters
        w.n_counters += count_ir.SLOTS
        columns = _shared_columns(size) if s == "shared" else _sector_columns(s, size, op)
        columns = _REMOTE_COLUMNS if s == "dshared" else columns
        if is_inline and space != "generic":
            asked = count_ir.ASKED if s == "shared" else count_ir.BYTES
            del columns["bytes"][asked]
            w.counter(f"{s}_bytes", i, i + 1, size, slot=w.true_slot)
        for column, parts in columns.items():
            for slot, weight in parts.items():
                w.counter(f"{s}_{column}", i, i + 1, weight, slot=base + slot)
    return first_site, first_slot


_REMOTE_COLUMNS = {
    "executed": {cluster_ir.EXECUTED: 1},
    "requests": {count_ir.REQUESTS: 1},
    "bytes": {count_ir.ASKED: 1, count_ir.REPEATED_BYTES: -1},
}


def _shared_columns(size: int) -> dict[str, dict[int, int]]:
    """What a shared access counts: column -> slot -> weight."""
    at_row, at_same = max(1, size // 4), max(1, size // 8)
    return {
        "requests": {count_ir.ROWS: 1, count_ir.SAME: 1, count_ir.REQUESTS: 1},
        "passes": {count_ir.ROWS: at_row, count_ir.SAME: at_same, count_ir.PASSES: 1},
        "wavefronts": {count_ir.ROWS: at_row, count_ir.SAME: at_same, count_ir.WAVEFRONTS: 1},
        "wavefronts_ideal": {count_ir.ROWS: at_row, count_ir.SAME: at_same, count_ir.IDEAL: 1},
        "conflicts": {count_ir.CONFLICTS: 1},
        "bytes": {count_ir.ASKED: 1, count_ir.REPEATED_BYTES: -1},
    }


def _sector_columns(space: str, size: int, op: str) -> dict[str, dict[int, int]]:
    """What a global or local access counts: column -> slot -> weight."""
    rows = count_ir.ROWS
    columns = {
        "requests": {rows: 1, count_ir.REQUESTS: 1},
        "sectors": {rows: size, count_ir.SECTORS: 1},
        "lines": {rows: max(1, size // 4), count_ir.LINES: 1},
    }
    if space == "local":
        # A wide store asks for its words one after the other.
        columns["executed"] = {count_ir.REQUESTS: 1}
        columns["requests"][count_ir.REQUESTS] = max(1, size // 4) if op == "store" else 1
        columns["bytes"] = {count_ir.BYTES: 1, count_ir.LOCAL_SHARED_BYTES: -1}
        return columns
    columns["sectors_ideal"] = {rows: size, count_ir.IDEAL_SECTORS: 1}
    columns["bytes"] = {count_ir.BYTES: 1, count_ir.SHARED_BYTES: -1}
    if op == "atomic":
        columns["sectors_repeated"] = {count_ir.REPEATED: 1}
    return columns


def address_of(w: RegionWriter, mem: Mem, wide: bool) -> tuple[Value, Value | None, int]:
    """Low and high words of an address and its immediate offset."""
    x, o = w.x, w.operands
    base = mem.base if mem.base is not None and mem.base.index != RZ else None
    if not wide:
        low = x.u32(0) if base is None else o.bits_word(base, 0, False)
        if mem.scale != 1:
            low = x.mul(low, x.u32(mem.scale))
        if mem.uniform is not None:
            low = x.add(low, o.word(mem.uniform, 0, False))
        return low, None, mem.offset
    if mem.scale != 1:
        raise BindingError("scaled 64-bit address")
    if base is None:
        pair = x.u64(0)
    elif mem.base_u32:
        pair = x.zext64(o.bits_word(base, 0, False))
    elif mem.uniform is None:
        return o.bits_word(base, 0, False), o.bits_word(base, 1, False), mem.offset
    else:
        pair = o.wide(base, False, False)
        pair = x.bits(pair) if pair.type == "f64" else pair
    if mem.uniform is not None:
        if mem.base_u32 or base is None or mem.uniform_wide:
            pair = x.add(pair, o.wide(mem.uniform, False, False))
        else:
            pair = x.add(pair, x.zext64(o.word(mem.uniform, 0, False)))
    return x.low32(pair), x.high32(pair), mem.offset


def _scratch(w: RegionWriter, slot: int) -> str:
    return w.field(at.WARP_SCRATCH + 128 * slot)


def _put(w: RegionWriter, slot: int, value: Value) -> None:
    w.line(f"store <32 x i32> {value.ref}, ptr {_scratch(w, slot)}, align 64")


def _get(w: RegionWriter, slot: int) -> str:
    return w.emit(f"load <32 x i32>, ptr {_scratch(w, slot)}, align 64")


def _site_pointer(w: RegionWriter, site: int) -> str:
    return w.emit(f"getelementptr i8, ptr %sites, i64 {site * at.SITE_SIZE}")


def _call(w: RegionWriter, function: str, site: str, mask: str, imm: int, slot: int) -> None:
    """Calls a helper; a fault leaves the region."""
    failed = w.emit(
        f"call i32 @{function}(ptr %w, ptr %env, ptr {site}, i32 {mask}, i32 {imm}, "
        f"i32 {w.index}, i32 {slot})"
    )
    bad, good = w.module.label("bad"), w.module.label("good")
    is_bad = w.emit(f"icmp ne i32 {failed}, 0")
    w.line(f"br i1 {is_bad}, label %{bad}, label %{good}, !prof !2")
    w.module.start(bad)
    w.line(f"ret i32 {at.EVENT_FAULT}")
    w.module.start(good)


def _row_test(w: RegionWriter, offsets: str, limit: str, size: int, also: str | None,
              mask: str, is_shared: bool) -> tuple[str, str]:  # fmt: skip
    """i1: the lanes access one row inside the limit; and the row's first offset.

    Global rows are those of full warps at a line's start. A shared row of words takes one pass
    wherever it starts and whichever of its lanes take part.
    """
    first = w.emit(f"extractelement <32 x i32> {offsets}, i32 0")
    start = w.x.broadcast("u32", first)
    row = w.emit(f"add <32 x i32> {start.ref}, {runtime_ir.scaled_lanes(size)}")
    same = w.emit(f"icmp eq <32 x i32> {offsets}, {row}")
    test = same if also is None else w.emit(f"and <32 x i1> {same}, {also}")
    bits = w.emit(f"bitcast <32 x i1> {test} to i32")
    both = w.emit(f"and i32 {bits}, {mask}")
    any_mask = is_shared and size == 4
    full = w.emit(f"icmp eq i32 {both}, {mask if any_mask else -1}")
    phase = w.emit(f"and i32 {first}, {3 if any_mask else min(128, 32 * size) - 1}")
    aligned = w.emit(f"icmp eq i32 {phase}, 0")
    end = w.emit(f"add i32 {first}, {31 * size}")
    inside = w.emit(f"icmp ult i32 {end}, {limit}")
    no_wrap = w.emit(f"icmp ult i32 {first}, {limit}")
    ok = w.emit(f"and i1 {w.emit(f'and i1 {full}, {aligned}')}, {inside}")
    ok = w.emit(f"and i1 {ok}, {no_wrap}")
    if any_mask:
        ok = w.emit(f"and i1 {ok}, {w.emit(f'icmp ne i32 {mask}, 0')}")
    return ok, first


def _fast_place(w: RegionWriter, space: str, site: str, address: tuple[Value, Value | None, int],
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


def _fetch_ahead(w: RegionWriter, site: str, place: str, size: int) -> None:
    """Asks for a row that comes soon if rows go on as in the last two executions.

    In a loop the warp's own rows count, elsewhere those of one warp after the other. Processors
    follow small steps by themselves, but not across pages or among many other accesses.
    """
    slot = "0"
    if w.block.in_loop:
        slot = w.emit(f"and i32 {w.load_u32(at.WARP_INDEX)}, 15")
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
    distance = w.emit(f"sext i32 {ahead} to i64")
    if not w.block.in_loop:
        distance = w.emit(f"shl i64 {distance}, 1")
    for line in range(size // 2):
        there = w.emit(f"add i64 {distance}, {64 * line}")
        there = w.emit(f"getelementptr i8, ptr {place}, i64 {there}")
        w.line(f"call void @llvm.prefetch.p0(ptr {there}, i32 0, i32 3, i32 1)")


def _store_row(w: RegionWriter, place: str, values: list[Value], size: int,
               mask: str | None) -> None:  # fmt: skip
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
    words = size // 4
    order = ", ".join(f"i32 {(i % words) * 32 + i // words}" for i in range(n_lanes))
    mixed = w.emit(f"shufflevector {kind} {refs[0]}, {kind} poison, <{n_lanes} x i32> <{order}>")
    w.line(f"store {kind} {mixed}, ptr {place}, align 4")


def _put_address(w: RegionWriter, space: str, address: tuple[Value, Value | None, int]) -> int:
    """Hands the address to a helper through scratch; returns the immediate to pass."""
    low, high, offset = address
    if space in ("shared", "local"):
        _put(w, ADDRESSES, low if not offset else w.x.add(low, w.x.u32(offset)))
        return 0
    assert high is not None
    _put(w, ADDRESSES, low)
    _put(w, ADDRESSES + 1, high)
    return offset


def call_helper(w: RegionWriter, function: str, site: int, mask: str, imm: int,
                slot: int) -> None:  # fmt: skip
    """Calls a helper for a reserved site; a fault leaves the region."""
    _call(w, function, _site_pointer(w, site), mask, imm, slot)


def _fast_count(w: RegionWriter, slot: int) -> None:
    w.count(slot, "1")


def memory_operand(item: Bound) -> Mem:
    """The instruction's memory operand."""
    for operand in item.inst.operands:
        if isinstance(operand, Mem):
            return operand
    raise BindingError("no memory operand")


def _space(item: Bound) -> str:
    return str(item.op.attributes["space"])


def _slow_down(w: RegionWriter, item: Bound) -> None:
    """Strong accesses may belong to a spin loop: such a warp yields sooner."""
    if "STRONG" in item.inst.modifiers:
        w.spend_fuel(32)


def _is_wide(item: Bound, mem: Mem, space: str) -> bool:
    return space in ("global", "generic") and is_wide_address(item.inst, mem)


def _placed(
    w: RegionWriter, space: str, address: tuple[Value, Value | None, int]
) -> tuple[Value, Value | None, int]:
    """An access's address; in shared memory the offset."""
    low, high, offset = address
    return (own_shared(w, low), high, offset) if space == "shared" else address


@role("load")
def load(w: RegionWriter, item: Bound) -> None:
    """LDG, LDS, LDL, LD."""
    space, size = _space(item), access_bytes(item.inst)
    mem = memory_operand(item)
    signed = "S8" in item.inst.modifiers or "S16" in item.inst.modifiers
    if space in ("global", "generic") and not _is_wide(item, mem, space):
        raise BindingError("32-bit global address")
    address = _placed(w, space, address_of(w, mem, _is_wide(item, mem, space)))
    _use_move(w, space, "load", size)
    _slow_down(w, item)
    site_index, slot = new_site(w, space, size, "load", True)
    site, mask = _site_pointer(w, site_index), w.lanes_mask()
    mask = check_lanes(w, space, at.ACCESS_READ, size, address, site_index, mask)
    found = serve(w, item, site, address, slot) or _inline_loads(
        w, space, site, address, size, mask, signed, slot
    )
    imm = _put_address(w, space, address)
    _call(w, f"wl.{space}.load.{size}", site, mask, imm, slot)
    values = [_get(w, RESULTS + k) for k in range(max(1, size // 4))]
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
    destination = next(o for o in item.inst.operands if isinstance(o, Reg))
    _write_words(w, destination, values)


def _inline_loads(w: RegionWriter, space: str, site: str, address: tuple[Value, Value | None, int],
                  size: int, mask: str, signed: bool,
                  slot: int) -> list[tuple[str, str, list[str]]]:  # fmt: skip
    """The patterns served inline: (label behind the load, last label, words) of each.

    The code goes on where the general path is to be written.
    """
    if space not in ("global", "shared") or not w.inline_rows:
        return []
    if space == "shared":
        low, _, offset = address
        return inline_shared(w, site, low, offset, size, mask, signed, slot)
    fast, slow, done = (w.module.label(s) for s in ("row", "walk", "loaded"))
    if size == 4:
        _skip_scattered(w, site, slow)
    test, place = _fast_place(w, space, site, address, size, mask)
    w.line(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    w.module.start(fast)
    if size >= 4:
        _fetch_ahead(w, site, place, size)
    words = load_row(w, place, size, signed)
    _fast_count(w, slot)
    w.line(f"br label %{done}")
    w.module.start(slow)
    return [(done, fast, words)]


def _skip_scattered(w: RegionWriter, site: str, slow: str) -> None:
    """Goes the general way at once where the last access was none to a row."""
    place = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_SCATTERED}")
    word = w.emit(f"load i32, ptr {place}, align 4")
    maybe = w.module.label("maybe")
    w.line(f"br i1 {w.emit(f'icmp eq i32 {word}, 0')}, label %{maybe}, label %{slow}, !prof !1")
    w.module.start(maybe)


def _write_words(w: RegionWriter, destination: Operand, values: list[str]) -> None:
    if not isinstance(destination, Reg) or destination.index == RZ:
        return
    for k, ref in enumerate(values):
        w.operands.write_word(destination.index + k, Value("u32", ref), w.guard)


@role("store")
def store(w: RegionWriter, item: Bound) -> None:
    """STG, STS, STL, ST."""
    space, size = _space(item), access_bytes(item.inst)
    mem = memory_operand(item)
    if space in ("global", "generic") and not _is_wide(item, mem, space):
        raise BindingError("32-bit global address")
    sources = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm | Const)]
    words = max(1, size // 4)
    values = [w.operands.bits_word(sources[0], k, False) for k in range(words)]
    address = _placed(w, space, address_of(w, mem, _is_wide(item, mem, space)))
    _use_move(w, space, "store", size)
    _slow_down(w, item)
    site_index, slot = new_site(w, space, size, "store", True)
    site, mask = _site_pointer(w, site_index), w.lanes_mask()
    if w.watch.checks:
        for k, value in enumerate(values):
            _put(w, VALUES + k, value)
    mask = check_lanes(w, space, at.ACCESS_WRITE, size, address, site_index, mask)
    done = w.module.label("stored")
    if space in ("global", "shared") and w.inline_rows:
        test, place = _fast_place(w, space, site, address, size, mask)
        fast, slow = w.module.label("row"), w.module.label("walk")
        w.line(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
        w.module.start(fast)
        _store_row(w, place, values, size, mask if space == "shared" and size == 4 else None)
        _fast_count(w, slot)
        w.line(f"br label %{done}")
        w.module.start(slow)
    imm = _put_address(w, space, address)
    for k, value in enumerate(values):
        _put(w, VALUES + k, value)
    _call(w, f"wl.{space}.store.{size}", site, mask, imm, slot)
    w.line(f"br label %{done}")
    w.module.start(done)


_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAST", "CAS",
               "SAFEADD")  # fmt: skip


def atomic_operation(item: Bound) -> tuple[str, str, int]:
    """(operation, operand type, bits) of an atomic."""
    modifiers = item.inst.modifiers
    if "POPC" in modifiers:  # ATOMS.POPC.INC: adds 1 for every lane
        return "POPC", "U32", 32
    operation = next((o for o in _OPERATIONS if o in modifiers), "")
    if operation == "SAFEADD" or not operation or "ARRIVE" in modifiers:
        raise BindingError(f"atomic operation of {item.inst.mnemonic}")
    if "128" in modifiers:
        return operation, "U128", 128
    for name, bits in ATOMIC_VECTORS.items():
        if name in modifiers:
            if operation != "ADD":
                raise BindingError(f"atomic {operation} on {name}: how it treats NaN is not known")
            return operation, name, bits
    for name in ("F16x2", "BF16x2", "F32", "F64", "U64", "S64", "S32"):
        if name in modifiers:
            if name[0] in "FB" and operation not in ("ADD", "EXCH", "CAS"):
                raise BindingError(f"atomic {operation} on {name}: how it treats NaN is not known")
            return operation, name, 64 if name.endswith("64") else 32
    if "BF16_V2" in modifiers:
        return operation, "BF16x2", 32
    for name in ("F16", "BF16", "FMIN", "FMAX"):
        if name in modifiers:
            raise BindingError(f"atomic on {name}")
    return (operation, "U64", 64) if "64" in modifiers else (operation, "U32", 32)


@role("atomic", "reduction")
def atomic(w: RegionWriter, item: Bound) -> None:
    """ATOMG, ATOM, ATOMS, RED."""
    space = _space(item)
    operation, kind, bits = atomic_operation(item)
    mem = memory_operand(item)
    address = _placed(w, space, address_of(w, mem, _is_wide(item, mem, space)))
    operands = list(item.inst.operands)
    position = operands.index(mem)
    outputs, inputs = operands[:position], [
        o for o in operands[position + 1 :] if not isinstance(o, Pred | UPred)
    ]
    words = bits // 32
    result = any(
        o.index != (RZ if isinstance(o, Reg) else PT) for o in outputs if isinstance(o, Reg | Pred)
    )
    _use_atomic(w, space, operation, kind, bits, result)
    if inputs:
        for k in range(words):
            _put(w, VALUES + k, w.operands.bits_word(inputs[0], k, False))
    if operation in ("CAS", "CAST"):
        swap = inputs[1] if len(inputs) > 1 else None
        for k in range(words):
            if swap is not None:
                value = w.operands.bits_word(swap, k, False)
            else:  # compare and swap sit in consecutive registers
                value = w.operands.bits_word(inputs[0], words + k, False)
            _put(w, SWAP + k, value)
    _slow_down(w, item)
    site_index, slot = new_site(w, space, bits // 8, "atomic")
    site, mask = _site_pointer(w, site_index), w.lanes_mask()
    mask = check_lanes(w, space, at.ACCESS_ATOMIC, bits // 8, address, site_index, mask)
    flags = [o for o in outputs if isinstance(o, Pred) and o.index != PT and operation != "CAST"]
    if flags:
        served = _served(w, space, address, operation, kind)
        mask = w.emit(f"and i32 {mask}, {w.x.ballot_scalar(served)}")
        for flag in flags:
            w.operands.write_word(256 + flag.index, served, w.guard)
    imm = _put_address(w, space, address)
    stem = atomic_ir.atomic_stem(operation, kind, bits, result)
    _call(w, f"wl.{space}.{stem}", site, mask, imm, slot)
    registers = [o for o in outputs if isinstance(o, Reg)]
    if operation == "CAST":
        _cast_result(w, outputs, words)
    elif registers and result:
        _write_words(w, registers[0], [_get(w, RESULTS + k) for k in range(words)])


def _served(w: RegionWriter, space: str, address: tuple[Value, Value | None, int], operation: str,
            kind: str) -> Value:  # fmt: skip
    """Where an atomic with a predicate is done; the predicate sends other lanes to a loop.

    Taken from what compiled code does next: ATOM never reaches local memory; exchanges reach all
    shared memory, other integer operations that of other blocks, sums of floats none.
    """
    low, high, offset = address
    if space != "generic" or high is None:
        return w.x.true()
    x = w.x
    served = x.icmp("ne", high, x.u32(at.LOCAL_WINDOW_HIGH))
    if operation in ("EXCH", "CAS"):
        return served
    shared = x.icmp("eq", high, x.u32(at.SHARED_WINDOW_HIGH))
    if kind[0] in "US" and w.clusters:
        own = own_shared(w, low if not offset else x.add(low, x.u32(offset)))
        shared = x.pand(shared, x.icmp("ult", own, x.u32(1 << 24)))
    return x.pand(served, x.pnot(shared))


def _cast_result(w: RegionWriter, outputs: list[Operand], words: int) -> None:
    """ATOMS.CAST.SPIN: whether the exchange happened, as 0/1 (of its width) or as a predicate."""
    won = Value("u32", _get(w, RESULTS))
    for operand in outputs:
        if isinstance(operand, Reg) and operand.index != RZ:
            _write_words(w, operand, [_get(w, RESULTS + k) for k in range(words)])
        elif isinstance(operand, Pred) and operand.index != PT:
            truth = w.x.icmp("ne", won, w.x.u32(0))
            w.operands.write_word(256 + operand.index, truth, w.guard)


def _use_atomic(w: RegionWriter, space: str, operation: str, kind: str, bits: int,
                result: bool) -> None:  # fmt: skip
    stem = atomic_ir.atomic_stem(operation, kind, bits, result)
    spaces = ("global", "shared") if space == "generic" else (space,)
    functions = [
        (f"wl.{s}.{stem}", atomic_ir.atomic(s, operation, kind, bits, w.observe, result))
        for s in spaces
    ]
    if space == "generic":
        text = atomic_ir.generic_atomic(operation, kind, bits, result, w.clusters)
        functions.append((f"wl.generic.{stem}", text))
    use_runtime(w, *functions)
    if space == "generic" and w.clusters:
        text = atomic_ir.atomic("shared", operation, kind, bits, result=result)
        cluster_helper(w, f"wl.shared.{stem}", bits // 8, text)


@role("load_constant_uniform")
def load_constant_uniform(w: RegionWriter, item: Bound) -> None:
    """ULDC, LDCU: constant words into uniform registers."""
    destination = item.inst.operands[0]
    source = next(o for o in item.inst.operands if isinstance(o, Const))
    size = access_bytes(item.inst)
    if not isinstance(destination, UReg):
        raise BindingError("ULDC destination")
    guard = None if w.guard is None else w.operands._any(w.guard)
    for k in range(max(1, size // 4)):
        value = w.constant_word(source, k)
        if size < 4:
            value = _narrow(w, value, source.offset & 3, size, item.inst.modifiers)
        if destination.index != RZ:
            w.operands.write_word(KEY_UNIFORM + destination.index + k, value, guard)


def _narrow(w: RegionWriter, value: Value, byte: int, size: int,
            modifiers: tuple[str, ...]) -> Value:  # fmt: skip
    """A sub-word constant: constant_word loads unaligned, so only the width matters."""
    up = w.u.shl(value, w.u.u32(32 - 8 * size))
    if "S8" in modifiers or "S16" in modifiers:
        return w.u.ashr(up, w.u.u32(32 - 8 * size))
    return w.u.lshr(up, w.u.u32(32 - 8 * size))


@role("load_constant")
def load_constant(w: RegionWriter, item: Bound) -> None:
    """LDC: constant words, the index may differ between lanes (out of the bank reads zero)."""
    destination = item.inst.operands[0]
    source = next(o for o in item.inst.operands if isinstance(o, Const))
    size = access_bytes(item.inst)
    words = max(1, size // 4)
    if source.base is None or isinstance(source.base, UReg):
        values = [w.constant_word(source, k) for k in range(words)]
        if size < 4:
            values = [_narrow(w, values[0], 0, size, item.inst.modifiers)]
        spread = [w.x.broadcast("u32", v.ref) for v in values]
    else:
        spread = _gather_constant(w, source, size, words, item.inst.modifiers)
    if isinstance(destination, UReg):
        raise BindingError("LDC into a uniform register")
    if isinstance(destination, Reg) and destination.index != RZ:
        for k, value in enumerate(spread):
            w.operands.write_word(destination.index + k, value, w.guard)


def _gather_constant(w: RegionWriter, source: Const, size: int, words: int,
                     modifiers: tuple[str, ...]) -> list[Value]:  # fmt: skip
    use_runtime(w)
    x = w.x
    assert source.base is not None
    index = x.add(w.operands.bits_word(source.base, 0, False), x.u32(source.offset))
    if {"IL", "IS", "ISL"} & set(modifiers):
        raise BindingError("indexed constant bank")
    lanes = w.executing()
    bank = w.bank(source.bank)
    values = []
    for k in range(words):
        where = x.and_(x.add(index, x.u32(4 * k)), x.u32(0xFFFF))
        wide = x.zext64(where)
        ptrs = w.emit(f"getelementptr i8, ptr {bank}, <32 x i64> {wide.ref}")
        word = w.emit(
            f"call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> {ptrs}, i32 1, "
            f"<32 x i1> {lanes}, <32 x i32> zeroinitializer)"
        )
        value = Value("u32", word)
        if size < 4:
            shift = x.u32(32 - 8 * size)
            value = x.shl(value, shift)
            signed = "S8" in modifiers or "S16" in modifiers
            value = x.ashr(value, shift) if signed else x.lshr(value, shift)
        values.append(value)
    return values


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
