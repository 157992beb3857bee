"""Code for bulk copies, reductions and fills (UBLKCP, UBLKRED, UMEMSETS): done at once, by the
lowest lane."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import own_shared, put_scratch
from warplens.lift.memory.mbarrier_ops import report
from warplens.lift.memory.sites import call_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import cluster_ir
from warplens.lift.runtime.access_ir import ADDRESSES, VALUES, scratch
from warplens.lift.runtime.combine_ir import combine, vector_of
from warplens.lift.vector_ir import V
from warplens.sass.model import RZ, Mem, UReg

_FORMS = {("S", "G"): "load", ("G", "S"): "store", ("S", "S"): "shared"}
_MOST_BLOCKS = 16  # of a cluster


def _shared_end(stem: str, clusters: bool) -> str:
    """Lines that define %STEM.p, the host's place of the shared address %STEM, for %sz bytes."""
    if clusters:
        base = f"""  %{stem}.r64 = lshr i64 %{stem}, 24
  %{stem}.rank = trunc i64 %{stem}.r64 to i32
  %{stem}.off = and i64 %{stem}, {cluster_ir.LOW_BITS}
  %{stem}.base = call i64 @wl.cluster.base(ptr %env, i32 %{stem}.rank, i32 %inst, i32 %lane,
    i64 %{stem}, i64 %sz)
  %{stem}.lost = icmp eq i64 %{stem}.base, 0
  br i1 %{stem}.lost, label %bad, label %{stem}.have
{stem}.have:"""
    else:
        base = f"""  %{stem}.off = add i64 %{stem}, 0
  %{stem}.sp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED}
  %{stem}.base = load i64, ptr %{stem}.sp, align 8"""
    return f"""{base}
  %{stem}.lp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %{stem}.lim = load i64, ptr %{stem}.lp, align 8
  %{stem}.end = add i64 %{stem}.off, %sz
  %{stem}.over = icmp ugt i64 %{stem}.end, %{stem}.lim
  br i1 %{stem}.over, label %{stem}.outside, label %{stem}.inside
{stem}.outside:
  %{stem}.f = call i32 @wl.fault(ptr %env, i64 {at.FAULT_SHARED}, i32 %inst, i32 %lane,
    i64 %{stem}.off, i64 %sz)
  ret i32 1
{stem}.inside:
  %{stem}.a = add i64 %{stem}.base, %{stem}.off
  %{stem}.p = inttoptr i64 %{stem}.a to ptr"""


def _global_end(kind: int) -> str:
    """Lines that define %far.p, the host's place of the global address %far, for %sz bytes."""
    return f"""  %last0 = add i64 %far, %sz
  %last = sub i64 %last0, 1
  %segl = call ptr @wl.find(ptr %env, ptr %site, i64 %last, i32 {kind}, i32 1, i32 %inst, i32 %lane)
  %bad1 = icmp eq ptr %segl, null
  br i1 %bad1, label %bad, label %first
first:
  %seg = call ptr @wl.find(ptr %env, ptr %site, i64 %far, i32 {kind}, i32 16, i32 %inst, i32 %lane)
  %bad2 = icmp eq ptr %seg, null
  br i1 %bad2, label %bad, label %same
same:
  %issame = icmp eq ptr %seg, %segl
  br i1 %issame, label %copy, label %apart
apart:
  %fault3 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_GLOBAL}, i32 %inst, i32 %lane, i64 %last,
    i64 %sz)
  ret i32 1
copy:
  %segb = load i64, ptr %seg, align 8
  %seghp = getelementptr i64, ptr %seg, i64 2
  %segh = load i64, ptr %seghp, align 8
  %far.off = sub i64 %far, %segb
  %far.a = add i64 %segh, %far.off
  %far.p = inttoptr i64 %far.a to ptr"""


# The host's arrays need not lie at multiples of 16, as their device addresses do.
_PIECE = """  %bytes = load <16 x i8>, ptr %from, align 1
  store <16 x i8> %bytes, ptr %to, align 1
  br label %next
next:
  %i2 = add i64 %i, 16"""


def _combined(operation: str, kind: str, bits: int) -> str:
    """Lines that combine the number at %from with that at %to; other blocks may do so too."""
    word, t, size = vector_of(kind)[0], f"i{bits}", bits // 8
    return f"""  %b = load {t}, ptr %from, align {size}
  %old0 = load {t}, ptr %to, align {size}
  br label %again
again:
  %old = phi {t} [ %old0, %piece ], [ %seen, %again ]
{combine(operation, word, bits)}
  %pair = cmpxchg ptr %to, {t} %old, {t} %new monotonic monotonic
  %seen = extractvalue {{ {t}, i1 }} %pair, 0
  %done1 = extractvalue {{ {t}, i1 }} %pair, 1
  br i1 %done1, label %next, label %again
next:
  %i2 = add i64 %i, {size}"""


Reduction = tuple[str, str, int]  # operation, kind and bits as of an atomic


def bulk_copy(form: str, clusters: bool, reduction: Reduction | None = None) -> tuple[str, str]:
    """Name and text of @wl.bulk.FORM: one copy to or from shared memory, or reduction.

    The first lane's words in scratch: the far address (slots 0, 1: of global memory, or an offset
    in the block's shared memory), shared address and bytes (first two value slots).
    """
    name = f"wl.bulk.{form}"
    kind = at.ACCESS_WRITE if form == "store" else at.ACCESS_READ
    piece = _PIECE
    if reduction is not None:
        name += f".{reduction[0]}.{reduction[1]}".lower()
        kind = at.ACCESS_ATOMIC if form == "store" else kind
        piece = _combined(*reduction)
    far_end = _shared_end("far", False) if form == "shared" else _global_end(kind)
    ends = ("%far.p", "%near.p") if form == "store" else ("%near.p", "%far.p")
    last = "far.inside" if form == "shared" else "copy"
    return name, f"""define internal i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter) noinline {{
entry:
  %any = icmp ne i32 %mask, 0
  br i1 %any, label %go, label %nothing
nothing:
  ret i32 0
bad:
  ret i32 1
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{scratch("lop", ADDRESSES)}
  %lo32 = load i32, ptr %lop, align 4
{scratch("hip", ADDRESSES + 1)}
  %hi32 = load i32, ptr %hip, align 4
{scratch("shp", VALUES)}
  %sh32 = load i32, ptr %shp, align 4
{scratch("szp", VALUES + 1)}
  %sz32 = load i32, ptr %szp, align 4
  %lo = zext i32 %lo32 to i64
  %hi = zext i32 %hi32 to i64
  %his = shl i64 %hi, 32
  %far = or i64 %lo, %his
  %near = zext i32 %sh32 to i64
  %sz = zext i32 %sz32 to i64
  %both = or i64 %far, %near
  %low4 = and i64 %both, 15
  %skew = icmp ne i64 %low4, 0
  br i1 %skew, label %misaligned, label %aligned
misaligned:
  %fault1 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_MISALIGNED}, i32 %inst, i32 %lane, i64 %far,
    i64 16)
  ret i32 1
aligned:
{_shared_end("near", clusters)}
{far_end}
  br label %move
move:
  %i = phi i64 [ 0, %{last} ], [ %i2, %next ]
  %more = icmp ult i64 %i, %sz
  br i1 %more, label %piece, label %done
piece:
  %from = getelementptr i8, ptr {ends[1]}, i64 %i
  %to = getelementptr i8, ptr {ends[0]}, i64 %i
{piece}
  br label %move
done:
  ret i32 0
}}"""


def _registers(item: Bound) -> tuple[str, list[int], UReg]:
    """The form of a copy, the uniform registers of its two places and of its size."""
    places = [o for o in item.inst.operands if isinstance(o, Mem)]
    sizes = [o for o in item.inst.operands if isinstance(o, UReg)]
    kinds = tuple(m for m in item.inst.modifiers if m in ("S", "G"))
    if len(places) != 2 or len(sizes) != 1 or kinds not in _FORMS:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    if any(p.uniform is None or p.base is not None for p in places):
        raise BindingError(f"{item.inst.opcode} with a vector address")
    return _FORMS[kinds], [p.uniform.index for p in places if p.uniform is not None], sizes[0]


@role("bulk_copy")
def bulk_copy_(w: RegionWriter, item: Bound) -> None:
    """UBLKCP.S.G [shared, barrier], [global], size; .S.S from the block's own shared memory;
    UBLKCP.G.S [global], [shared], size.

    Sizes are in units of 16 bytes, with `.MULTICAST` under a mask of ranks. Done at once; the
    barrier has then received the bytes.
    """
    x = w.x
    form, places, units = _registers(item)
    near, far = (places[1], places[0]) if form == "store" else places

    def word(index: int) -> Value:
        return w.operands.bits_word(UReg(index), 0, False)

    length = word(units.index)
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")
    if "MULTICAST" not in item.inst.modifiers:
        _copy(w, form, far, x.shl(length, x.u32(4)), word(near), word(near + 1), lowest)
        return
    size = x.shl(x.and_(length, x.u32(0xFFFF)), x.u32(4))
    data, barrier = (x.and_(word(k), x.u32(cluster_ir.LOW_BITS)) for k in (near, near + 1))
    for rank in range(_MOST_BLOCKS if w.clusters else 1):
        named = x.icmp("ne", x.and_(length, x.u32(1 << 16 + rank)), x.u32(0))
        lanes = w.emit(f"and i32 {lowest}, {x.ballot_scalar(named)}")
        top = x.u32(rank << 24)
        _copy(w, form, far, size, x.or_(data, top), x.or_(barrier, top), lanes)


_KINDS = {"S32": ("S32", 32), "U64": ("U64", 64), "S64": ("S64", 64), "F32": ("F32", 32),
          "F64": ("F64", 64), "F16": ("F16x2", 32), "BF16": ("BF16x2", 32)}  # fmt: skip
_OPERATIONS = frozenset({"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"})


def _reduction(item: Bound) -> Reduction:
    operation = next((m for m in item.inst.modifiers if m in _OPERATIONS), "")
    if not operation:
        raise BindingError(f"reduction of {item.inst.mnemonic}")
    named = next((m for m in item.inst.modifiers if m in _KINDS), None)
    return (operation, *(_KINDS[named] if named else ("U32", 32)))


@role("bulk_reduce")
def bulk_reduce(w: RegionWriter, item: Bound) -> None:
    """UBLKRED.G.S [global], [shared], size; .S.S [shared, barrier], [own shared], size."""
    form, places, units = _registers(item)
    if form == "load":
        raise BindingError(f"direction of {item.inst.mnemonic}")
    near, far = (places[1], places[0]) if form == "store" else places
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")

    def word(index: int) -> Value:
        return w.operands.bits_word(UReg(index), 0, False)

    size = w.x.shl(word(units.index), w.x.u32(4))
    _copy(w, form, far, size, word(near), word(near + 1), lowest, _reduction(item))


def _copy(w: RegionWriter, form: str, far: int, size: Value, near: Value, barrier: Value,
          lanes: str, reduction: Reduction | None = None) -> None:  # fmt: skip
    """One copy or reduction and, unless to global memory, the report of its bytes."""
    x = w.x
    low, high = (w.operands.bits_word(UReg(far + k), 0, False) for k in range(2))
    if form == "shared":
        low, high = own_shared(w, low), x.u32(0)
    for slot, value in ((ADDRESSES, low), (ADDRESSES + 1, high), (VALUES, near),
                        (VALUES + 1, size)):  # fmt: skip
        put_scratch(w, slot, value)
    if w.tells("bulk"):
        put_scratch(w, VALUES + 2, barrier)
        w.tell_sync(lanes)
    name, text = bulk_copy(form, w.clusters, reduction)
    w.module.helper("wl.cluster.base", cluster_ir.base())
    use_runtime(w, (name, text))
    site, slot = new_site(w, "global", 16, "store" if form == "store" else "load")
    if w.watch.accesses:
        kind = at.ACCESS_WRITE if reduction is None else at.ACCESS_ATOMIC
        _show(w, form, low, high, size, lanes, kind if form == "store" else at.ACCESS_READ)
    call_helper(w, name, site, lanes, 0, slot)
    if form != "store":
        put_scratch(w, ADDRESSES, barrier)
        put_scratch(w, VALUES, x.u32(0))
        put_scratch(w, VALUES + 1, x.sub(x.u32(0), size))
        report(w, "words", lanes, w.clusters)


def _show(w: RegionWriter, form: str, low: Value, high: Value, size: Value, lanes: str,
          kind: int) -> None:  # fmt: skip
    """Shows an observer of accesses that a copy begins, and the global memory that it moves."""
    w.tell_access(lanes, at.SPACE_COPY, kind, 16)
    if form == "shared":
        return
    lane = w.emit(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")
    first = w.emit(f"select i1 {w.emit(f'icmp eq i32 {lanes}, 0')}, i32 0, i32 {lane}")
    words = [w.emit(f"extractelement {V} {word.ref}, i32 {first}") for word in (low, high, size)]
    wide = [w.emit(f"zext i32 {word} to i64") for word in words[:2]]
    address = w.emit(f"or i64 {wide[0]}, {w.emit(f'shl i64 {wide[1]}, 32')}")
    more = f"i32 {at.SPACE_RUN}", f"i32 {kind}", f"i32 {words[2]}", f"i64 {address}", "ptr null"
    w.call_observer(at.ENV_OBSERVE_ACCESS, str(w.index), lanes, *more)


# Each eight bytes are asked about, as a store of the lane; where one is refused nothing is filled.
_ASKED = f"""  %cfp = getelementptr i64, ptr %env, i64 {at.ENV_CHECK}
  %cfa = load i64, ptr %cfp, align 8
  %cf = inttoptr i64 %cfa to ptr
  %one = shl i32 1, %lane
  br label %asking
asking:
  %i = phi i64 [ 0, %go ], [ %i2, %good ]
  %more = icmp ult i64 %i, %sz
  br i1 %more, label %ask, label %may
ask:
  %place = add i64 %near, %i
  %place32 = trunc i64 %place to i32
  store i32 %place32, ptr %shp, align 4
  %lanes = call i32 %cf(ptr %env, ptr %w, ptr %site, i32 %inst, i32 %one, i32 {at.SPACE_SHARED},
    i32 {at.ACCESS_WRITE}, i32 8, i32 0)
  %refused = icmp eq i32 %lanes, 0
  br i1 %refused, label %nothing, label %good
good:
  %i2 = add i64 %i, 8
  br label %asking
may:"""


def bulk_fill(asks: bool) -> tuple[str, str]:
    """Name and text of @wl.bulk.fill: zeros in the block's own shared memory.

    The first lane's words in scratch: the offset and how many times eight bytes (slots 0 and 1).
    """
    name = "wl.bulk.fill" + (".asked" if asks else "")
    return name, f"""define internal i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter) noinline {{
entry:
  %any = icmp ne i32 %mask, 0
  br i1 %any, label %go, label %nothing
nothing:
  ret i32 0
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{scratch("shp", ADDRESSES)}
  %sh32 = load i32, ptr %shp, align 4
{scratch("szp", ADDRESSES + 1)}
  %sz32 = load i32, ptr %szp, align 4
  %near = zext i32 %sh32 to i64
  %units = zext i32 %sz32 to i64
  %sz = shl i64 %units, 3
{_ASKED if asks else ""}
  %low3 = and i64 %near, 7
  %skew = icmp ne i64 %low3, 0
  br i1 %skew, label %misaligned, label %aligned
misaligned:
  %fault1 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_MISALIGNED_SHARED}, i32 %inst, i32 %lane,
    i64 %near, i64 8)
  ret i32 1
aligned:
{_shared_end("near", False)}
  call void @llvm.memset.p0.i64(ptr align 8 %near.p, i8 0, i64 %sz, i1 false)
  ret i32 0
}}"""


@role("bulk_fill")
def bulk_fill_(w: RegionWriter, item: Bound) -> None:
    """UMEMSETS.64 URZ, [shared], size: zeros, so many times eight bytes."""
    places = [o for o in item.inst.operands if isinstance(o, Mem)]
    words = [o for o in item.inst.operands if isinstance(o, UReg)]
    if len(places) != 1 or len(words) != 2 or places[0].base is not None or places[0].offset:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    if words[0].index != RZ or places[0].uniform is None:
        raise BindingError(f"{item.inst.opcode} with a value other than zero")
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")
    near = own_shared(w, w.operands.bits_word(places[0].uniform, 0, False))
    put_scratch(w, ADDRESSES, near)
    put_scratch(w, ADDRESSES + 1, w.operands.bits_word(words[1], 0, False))
    for slot in (VALUES, VALUES + 1):
        put_scratch(w, slot, w.x.u32(0))
    name, text = bulk_fill(w.watch.checks)
    use_runtime(w, (name, text))
    site, slot = new_site(w, "shared", 8, "store")
    call_helper(w, name, site, lowest, 0, slot)
