"""What code for accesses to memory is made of: sites, addresses, calls of helpers.

Counter slots of a site: 0 inline rows, then what the helper counts (see count_ir.py).
"""

from __future__ import annotations

from functools import cache

from warplens.lift import layout as at
from warplens.lift.counting import count_ir, runs_ir
from warplens.lift.decode.binding import BindingError, Bound, is_wide_address
from warplens.lift.engines.host import HostFeatures
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import cluster_ir, move_ir, runtime_ir
from warplens.lift.runtime.access_ir import ADDRESSES
from warplens.sass.model import RZ, Mem, Operand, Reg

SPACES = {"global": ("global",), "shared": ("shared",), "local": ("local",),
          "generic": ("global", "local", "shared"), "cluster": ("shared",)}  # fmt: skip


def spaces(w: RegionWriter, space: str) -> tuple[str, ...]:
    """The spaces that an access may reach; in clusters also other blocks' shared memory."""
    far = ("dshared",) if space == "cluster" or (space == "generic" and w.clusters) else ()
    return SPACES[space] + far


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
    for group in (runtime_ir.DECLARATIONS, move_ir.GATHER, move_ir.MASKED):
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
    for s in spaces(w, space):
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


def placed(
    w: RegionWriter, space: str, address: tuple[Value, Value | None, int]
) -> tuple[Value, Value | None, int]:
    """An access's address; in shared memory the offset."""
    low, high, offset = address
    return (own_shared(w, low), high, offset) if space == "shared" else address


def scratch_place(w: RegionWriter, slot: int) -> str:
    """Pointer to a scratch slot of the warp record."""
    return w.field(at.WARP_SCRATCH + 128 * slot)


def put_scratch(w: RegionWriter, slot: int, value: Value) -> None:
    """Hands a vector to a helper."""
    w.line(f"store <32 x i32> {value.ref}, ptr {scratch_place(w, slot)}, align 64")


def get_scratch(w: RegionWriter, slot: int) -> str:
    """A vector that a helper handed back."""
    return w.emit(f"load <32 x i32>, ptr {scratch_place(w, slot)}, align 64")


def put_address(w: RegionWriter, space: str, address: tuple[Value, Value | None, int]) -> int:
    """Hands the address to a helper through scratch; returns the immediate to pass."""
    low, high, offset = address
    if space in ("shared", "local"):
        put_scratch(w, ADDRESSES, low if not offset else w.x.add(low, w.x.u32(offset)))
        return 0
    assert high is not None
    put_scratch(w, ADDRESSES, low)
    put_scratch(w, ADDRESSES + 1, high)
    return offset


def site_pointer(w: RegionWriter, site: int) -> str:
    """Pointer to an access site's record."""
    return w.emit(f"getelementptr i8, ptr %sites, i64 {site * at.SITE_SIZE}")


def call(w: RegionWriter, function: str, site: str, mask: str, imm: int, slot: int) -> None:
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


def call_helper(w: RegionWriter, function: str, site: int, mask: str, imm: int,
                slot: int) -> None:  # fmt: skip
    """Calls a helper for a reserved site; a fault leaves the region."""
    call(w, function, site_pointer(w, site), mask, imm, slot)


def memory_operand(item: Bound) -> Mem:
    """The instruction's memory operand."""
    for operand in item.inst.operands:
        if isinstance(operand, Mem):
            return operand
    raise BindingError("no memory operand")


def space_of(item: Bound) -> str:
    """The instruction's memory space."""
    return str(item.op.attributes["space"])


def is_wide(item: Bound, mem: Mem, space: str) -> bool:
    """Whether the address has 64 bits."""
    return space in ("global", "generic") and is_wide_address(item.inst, mem)


def slow_down(w: RegionWriter, item: Bound) -> None:
    """Strong accesses may belong to a spin loop: such a warp yields sooner."""
    if "STRONG" in item.inst.modifiers:
        w.spend_fuel(32)


def write_words(w: RegionWriter, destination: Operand, values: list[str]) -> None:
    """Writes words to consecutive registers."""
    if not isinstance(destination, Reg) or destination.index == RZ:
        return
    for k, ref in enumerate(values):
        w.operands.write_word(destination.index + k, Value("u32", ref), w.guard)
