"""Helper functions in LLVM IR for loads, stores and atomics of every space and width.

Scratch slots of the warp record (128 bytes each): 0 address low words or offsets, 1 address high
words, 2-5 values to store, 6-9 loaded values, 10-13 second operand of CAS, 18-19 offsets of
atomics, 20-21 full addresses, 22-23 the return-address register (mbarrier_ops.py).
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting import runs_ir
from warplens.lift.counting.count_ir import LOAD, SLOTS, STORE
from warplens.lift.runtime.move_ir import reverse
from warplens.lift.runtime.runtime_ir import W64, P, V, scaled_lanes, splat

ADDRESSES, VALUES, RESULTS, SWAP, OFFSETS, FULL = 0, 2, 6, 10, 18, 20

# %host: where the running block's shared memory stands
SHARED_HOST = f"""  %hostp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED}
  %hosta = load i64, ptr %hostp, align 8
  %host = inttoptr i64 %hosta to ptr"""


def scratch(stem: str, slot: int) -> str:
    """A line that defines `%stem` as a pointer to a scratch slot of %w."""
    return f"  %{stem} = getelementptr i8, ptr %w, i64 {at.WARP_SCRATCH + 128 * slot}"


def _misaligned(size: int, address: str, kind: int) -> str:
    """Lines that leave for a fault when an active lane's address is not a multiple of the size."""
    if size == 1:
        return "  br label %aligned"
    return f"""  %am = and {V} {address}, splat (i32 {size - 1})
  %an = icmp ne {V} %am, zeroinitializer
  %ab = bitcast {P} %an to i32
  %aa = and i32 %ab, %mask
  %ax = icmp ne i32 %aa, 0
  br i1 %ax, label %misaligned, label %aligned
misaligned:
  %ml = call i32 @llvm.cttz.i32(i32 %aa, i1 true)
  %mbuf = alloca {V}, align 128
  store {V} {address}, ptr %mbuf, align 128
  %mp = getelementptr i32, ptr %mbuf, i32 %ml
  %mlow = load i32, ptr %mp, align 4
  %mz = zext i32 %mlow to i64
  %mhp = getelementptr i8, ptr %w, i64 {at.WARP_SCRATCH + 128 * (ADDRESSES + 1)}
  %mhq = getelementptr i32, ptr %mhp, i32 %ml
  %mh = load i32, ptr %mhq, align 4
  %mh64 = zext i32 %mh to i64
  %mhs = shl i64 %mh64, {32 if kind == at.FAULT_MISALIGNED else 63}
  %mh0 = select i1 {"true" if kind == at.FAULT_MISALIGNED else "false"}, i64 %mhs, i64 0
  %ma = or i64 %mz, %mh0
  %mr = call i32 @wl.fault(ptr %env, i64 {kind}, i32 %inst, i32 %ml, i64 %ma, i64 {size})
  ret i32 1"""


def prologue(name: str) -> str:
    return f"""define internal i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter) noinline {{
entry:
  %any = icmp ne i32 %mask, 0
  br i1 %any, label %go, label %nothing
nothing:
  ret i32 0
go:"""


_NEAR = (at.SITE_LOW, at.SITE_HIGH, at.SITE_LIMIT)


def window(size: str, place: tuple[int, int, int] = _NEAR) -> str:
    """Lines that define %all: every lane of %mask accesses %size bytes, aligned, in one allocation.

    The allocation stands in the site, at the places `place`: its address (128-byte aligned) in two
    words, how many of its offsets are good. %win are the offsets from there; scratch 0 and 1 and
    %imm give the addresses, %lop and %hip point to the scratch.
    """
    low, high, limit = place
    return f"""{scratch("lop", ADDRESSES)}
  %lo = load {V}, ptr %lop, align 64
{scratch("hip", ADDRESSES + 1)}
  %hi = load {V}, ptr %hip, align 64
  %win.lp = getelementptr i8, ptr %site, i64 {low}
  %win.low = load i32, ptr %win.lp, align 4
  %win.hp = getelementptr i8, ptr %site, i64 {high}
  %win.high = load i32, ptr %win.hp, align 4
  %win.np = getelementptr i8, ptr %site, i64 {limit}
  %win.limit = load i32, ptr %win.np, align 4
  %win.delta = sub i32 %imm, %win.low
{splat("%win.dv", "%win.delta")}
  %win = add {V} %lo, %win.dv
{splat("%win.hv", "%win.high")}
{splat("%win.nv", "%win.limit")}
  %win.size1 = sub i32 {size}, 1
{splat("%win.av", "%win.size1")}
  %win.same = icmp eq {V} %hi, %win.hv
  %win.inside = icmp ult {V} %win, %win.nv
  %win.rest = and {V} %win, %win.av
  %win.straight = icmp eq {V} %win.rest, zeroinitializer
  %win.ok1 = and {P} %win.same, %win.inside
  %win.ok = and {P} %win.ok1, %win.straight
  %win.bits = bitcast {P} %win.ok to i32
  %win.hit = and i32 %win.bits, %mask
  %all = icmp eq i32 %win.hit, %mask"""


def _request(slot: int = 1) -> str:
    return f"""  %rqc = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}
  %rqa = load i64, ptr %rqc, align 8
  %rqb = inttoptr i64 %rqa to ptr
  %rqi = add i32 %counter, {slot}
  %rqp = getelementptr i64, ptr %rqb, i32 %rqi
  %rqo = load i64, ptr %rqp, align 8
  %rqn = add i64 %rqo, 1
  store i64 %rqn, ptr %rqp, align 8"""


def observe_access(space: int, kind: int, size: int, mask: str, base: str, host: str) -> str:
    """Lines that show an access to the observer, before memory changes."""
    return f"""  %obp = getelementptr i64, ptr %env, i64 {at.ENV_OBSERVE_ACCESS}
  %oba = load i64, ptr %obp, align 8
  %obf = inttoptr i64 %oba to ptr
  call void %obf(ptr %env, ptr %w, i32 %inst, i32 {mask}, i32 {space}, i32 {kind}, i32 {size},
    i64 {base}, ptr {host})"""


def global_access(name: str, size: int, kind: int, action: str, observe: bool = False) -> str:
    """A walk over the segments that the lanes' 64-bit addresses touch; `action` serves a group.

    In `action`: %host (ptr), %off (<32 x i64>), %off32, %in (i32 lanes), %lane (one of them). Lanes
    that stay in the segment that the site remembers are one group, found without a walk.
    """
    observed, quick = "", "%all"
    if observe:
        observed = observe_access(
            at.SPACE_GLOBAL, kind, size, "%far.in", "%segb", "%far.host"
        )
        quick = "false"
    return f"""{prologue(name)}
{_request()}
{window(str(size))}
{scratch("fullp", FULL)}
  br i1 {quick}, label %near, label %far
near:
  %near.p = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %near.a = load i64, ptr %near.p, align 8
  %near.host = inttoptr i64 %near.a to ptr
  %near.off = zext {V} %win to {W64}
  %near.lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  br label %group
far:
  %lo64 = zext {V} %lo to {W64}
  %hi64 = zext {V} %hi to {W64}
  %his = shl {W64} %hi64, splat (i64 32)
  %raw = or {W64} %lo64, %his
  %imm64 = sext i32 %imm to i64
{splat("%immv", "%imm64", "i64")}
  %full = add {W64} %raw, %immv
  store {W64} %full, ptr %fullp, align 64
  %low = trunc {W64} %full to {V}
{_misaligned(size, "%low", at.FAULT_MISALIGNED)}
aligned:
  br label %loop
loop:
  %rem = phi i32 [ %mask, %aligned ], [ %rem2, %served ]
  %far.lane = call i32 @llvm.cttz.i32(i32 %rem, i1 true)
  %addr = load {W64}, ptr %fullp, align 64
  %ap = getelementptr i64, ptr %fullp, i32 %far.lane
  %a = load i64, ptr %ap, align 8
  %seg = call ptr @wl.find(ptr %env, ptr %site, i64 %a, i32 {kind}, i32 {size}, i32 %inst,
    i32 %far.lane)
  %isbad = icmp eq ptr %seg, null
  br i1 %isbad, label %bad, label %good
bad:
  ret i32 1
good:
  %segb = load i64, ptr %seg, align 8
  %seglp = getelementptr i64, ptr %seg, i64 1
  %segl = load i64, ptr %seglp, align 8
  %seghp = getelementptr i64, ptr %seg, i64 2
  %segh = load i64, ptr %seghp, align 8
  %far.host = inttoptr i64 %segh to ptr
  %limit = sub i64 %segl, {size - 1}
{splat("%sb", "%segb", "i64")}
  %far.off = sub {W64} %addr, %sb
{splat("%sl", "%limit", "i64")}
  %inv = icmp ult {W64} %far.off, %sl
  %inb = bitcast {P} %inv to i32
  %far.in = and i32 %inb, %rem
  %far.off32 = trunc {W64} %far.off to {V}
  %small = icmp ult i64 %segl, 2147483648
  %seglow = and i64 %segb, 4294967295
  %after = icmp ugt i64 %seglow, 16777215
  %segend = add i64 %seglow, %segl
  %before = icmp ult i64 %segend, 4278190080
  %ok1 = and i1 %small, %after
  %ok = and i1 %ok1, %before
  %fastl = select i1 %ok, i64 %limit, i64 0
  %f32l = trunc i64 %fastl to i32
  %f32b = trunc i64 %segb to i32
  store i32 %f32b, ptr %site, align 4
  %sh = lshr i64 %segb, 32
  %sh32 = trunc i64 %sh to i32
  %shp = getelementptr i8, ptr %site, i64 {at.SITE_HIGH}
  store i32 %sh32, ptr %shp, align 4
  %slp = getelementptr i8, ptr %site, i64 {at.SITE_LIMIT}
  store i32 %f32l, ptr %slp, align 4
  %shop = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  store i64 %segh, ptr %shop, align 8
{observed}
  br label %group
group:
  %host = phi ptr [ %near.host, %near ], [ %far.host, %good ]
  %off = phi {W64} [ %near.off, %near ], [ %far.off, %good ]
  %off32 = phi {V} [ %win, %near ], [ %far.off32, %good ]
  %in = phi i32 [ %mask, %near ], [ %far.in, %good ]
  %lane = phi i32 [ %near.lane, %near ], [ %far.lane, %good ]
  %left = phi i32 [ %mask, %near ], [ %rem, %good ]
{action}
  br label %served
served:
  %gone = xor i32 %in, -1
  %rem2 = and i32 %left, %gone
  %more = icmp ne i32 %rem2, 0
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}"""


def _sectors_call(size: int) -> str:
    return (
        f"  call void @wl.sectors(ptr %env, ptr %site, {V} %off32, i32 %in, i32 {size}, "
        "i32 %counter)"
    )


def global_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.global.load.N / @wl.global.store.N."""
    io = scratch("io", RESULTS if op == "load" else VALUES)
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    action = f"""{io}
  call void @wl.mv.{op}.{size}(ptr %io, ptr %host, {W64} %off, i32 %in, i32 %lane)
{_sectors_call(size)}"""
    return global_access(f"wl.global.{op}.{size}", size, kind, action, observe)


def _next_lines() -> str:
    """Lanes that walk along rows of their own: whoever enters half a line asks for the next one.

    Processors follow a few such streams by themselves, not one per lane. Goes on at label count.
    """
    return f"""  %np = and {V} %win, splat (i32 28)
  %ne = icmp eq {V} %np, zeroinitializer
  %nb = bitcast {P} %ne to i32
  %nm = and i32 %nb, %mask
  %nany = icmp ne i32 %nm, 0
  store {V} %win, ptr %lop, align 64
  br i1 %nany, label %ahead, label %count
ahead:
  %nr = phi i32 [ %nm, %fetched ], [ %nr2, %ahead ]
  %nl = call i32 @llvm.cttz.i32(i32 %nr, i1 true)
  %nop = getelementptr i32, ptr %lop, i32 %nl
  %no = load i32, ptr %nop, align 4
  %nz = zext i32 %no to i64
  %nh = getelementptr i8, ptr %host, i64 %nz
  %nn = getelementptr i8, ptr %nh, i64 64
  call void @llvm.prefetch.p0(ptr %nn, i32 0, i32 3, i32 1)
  %nlow = sub i32 %nr, 1
  %nr2 = and i32 %nr, %nlow
  %nmore = icmp ne i32 %nr2, 0
  br i1 %nmore, label %ahead, label %count"""


def global_words(op: str) -> str:
    """@wl.global.load.4 / store.4: words inside the segment that the site remembers, by 32-bit
    offsets; everything else walks over segments."""
    load = op == "load"
    scattered = (
        f"""{runs_ir.load_eights()}
gather:
  %ptrs = getelementptr i8, ptr %host, {V} %win
  %g = call {V} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %ptrs, i32 4, {P} %lanes,
    {V} zeroinitializer)
  store {V} %g, ptr %io, align 64
  br label %fetched
fetched:
{_next_lines()}"""
        if load
        else f"""  %ptrs = getelementptr i8, ptr %host, {V} %win
  %v2 = load {V}, ptr %io, align 64
{reverse("v2", V)}
  call void @llvm.masked.scatter.v32i32.v32p0({V} %v2.r, <32 x ptr> %ptrs.r, i32 4, {P} %lanes.r)"""
    )
    contiguous = (
        f"""  %c = call {V} @llvm.masked.load.v32i32.p0(ptr %row, i32 4, {P} %lanes,
    {V} zeroinitializer)
  store {V} %c, ptr %io, align 64"""
        if load
        else f"""  %v1 = load {V}, ptr %io, align 64
  call void @llvm.masked.store.v32i32.p0({V} %v1, ptr %row, i32 4, {P} %lanes)"""
    )
    return f"""{prologue(f"wl.global.{op}.4")}
{window("4")}
  br i1 %all, label %quick, label %walk
walk:
  %r = call i32 @wl.global.{op}.4.walk(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter)
  ret i32 %r
quick:
{_request()}
  %lanes = bitcast i32 %mask to {P}
  %shop = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %sha = load i64, ptr %shop, align 8
  %host = inttoptr i64 %sha to ptr
{scratch("io", RESULTS if load else VALUES)}
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %first = extractelement {V} %win, i32 %lane
  %back = shl i32 %lane, 2
  %t0 = sub i32 %first, %back
{splat("%tv", "%t0")}
  %rowv = add {V} %tv, {scaled_lanes(4)}
  %eq = icmp eq {V} %win, %rowv
  %eqb = bitcast {P} %eq to i32
  %eqh = and i32 %eqb, %mask
  %isrow = icmp eq i32 %eqh, %mask
  %t64 = sext i32 %t0 to i64
  %row = getelementptr i8, ptr %host, i64 %t64
  %isnone = xor i1 %isrow, true
  %flag = zext i1 %isnone to i32
  %flag.p = getelementptr i8, ptr %site, i64 {at.SITE_SCATTERED}
  store i32 %flag, ptr %flag.p, align 4
  br i1 %isrow, label %contiguous, label %scattered
contiguous:
{contiguous}
  br label %count
scattered:
{scattered}
{"" if load else "  br label %count"}
count:
  call void @wl.sectors(ptr %env, ptr %site, {V} %win, i32 %mask, i32 4, i32 %counter)
  ret i32 0
}}"""


def _bounds(size: int, limit_slot: int, kind: int) -> str:
    return f"""  %limp = getelementptr i64, ptr %env, i64 {limit_slot}
  %lim64 = load i64, ptr %limp, align 8
  %lim = sub i64 %lim64, {size - 1}
  %limneg = icmp slt i64 %lim, 0
  %limpos = select i1 %limneg, i64 0, i64 %lim
  %lim32 = trunc i64 %limpos to i32
{splat("%limv", "%lim32")}
  %bo = icmp uge {V} %off32, %limv
  %bob = bitcast {P} %bo to i32
  %out = and i32 %bob, %mask
  %isout = icmp ne i32 %out, 0
  br i1 %isout, label %outside, label %inside
outside:
  %ol = call i32 @llvm.cttz.i32(i32 %out, i1 true)
  %olp = getelementptr i32, ptr %offp, i32 %ol
  %olv = load i32, ptr %olp, align 4
  %ola = zext i32 %olv to i64
  %or = call i32 @wl.fault(ptr %env, i64 {kind}, i32 %inst, i32 %ol, i64 %ola, i64 {size})
  ret i32 1
inside:"""


def shared_access(
    name: str, size: int, kind: int, action: str, observe: bool = False, counted: int | None = None
) -> str:
    """A shared access: offsets in scratch 0 are final. In `action`: %host, %off, %mask, %lane.

    `counted` is the kind that count_ir.py asks for, if it does not follow from `kind`.
    """
    if counted is None:
        counted = LOAD if kind == at.ACCESS_READ else STORE
    observed = (
        observe_access(at.SPACE_SHARED, kind, size, "%mask", "0", "%host") if observe else ""
    )
    return f"""{prologue(name)}
{scratch("offp", ADDRESSES)}
  %off32 = load {V}, ptr %offp, align 64
{_misaligned(size, "%off32", at.FAULT_MISALIGNED_SHARED)}
aligned:
{_bounds(size, at.ENV_SHARED_LIMIT, at.FAULT_SHARED)}
  %off = zext {V} %off32 to {W64}
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{SHARED_HOST}
{observed}
{action}
  call void @wl.wavefronts(ptr %env, ptr %site, {V} %off32, i32 %mask, i32 {size}, i32 %counter,
    i32 {counted})
  ret i32 0
}}"""


def shared_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.shared.load.N / @wl.shared.store.N."""
    io = scratch("io", RESULTS if op == "load" else VALUES)
    action = f"""{io}
  call void @wl.mv.{op}.{size}(ptr %io, ptr %host, {W64} %off, i32 %mask, i32 %lane)"""
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    return shared_access(f"wl.shared.{op}.{size}", size, kind, action, observe)


def local_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.local.load.N / @wl.local.store.N: words of one offset lie side by side over the lanes."""
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    observed = (
        observe_access(at.SPACE_LOCAL, kind, size, "%mask", "0", "%host") if observe else ""
    )
    words = max(1, size // 4)
    narrow = min(size, 4)
    steps = []
    for k in range(words):
        slot = (RESULTS if op == "load" else VALUES) + k
        steps.append(f"""  %wi{k} = add {V} %word, splat (i32 {k})
  %wb{k} = shl {V} %wi{k}, splat (i32 7)
  %wl{k} = add {V} %wb{k}, {scaled_lanes(4)}
  %wa{k} = or {V} %wl{k}, %sub
  %wo{k} = zext {V} %wa{k} to {W64}
{scratch(f"io{k}", slot)}
  call void @wl.mv.{op}.{narrow}(ptr %io{k}, ptr %host, {W64} %wo{k}, i32 %mask, i32 %lane)
  call void @wl.sectors(ptr %env, ptr %site, {V} %wa{k}, i32 %mask, i32 {narrow}, i32 %counter)""")
    body = "\n".join(steps)
    return f"""{prologue(f"wl.local.{op}.{size}")}
{scratch("offp", ADDRESSES)}
  %off32 = load {V}, ptr %offp, align 64
{_misaligned(size, "%off32", at.FAULT_MISALIGNED_LOCAL)}
aligned:
{_bounds(size, at.ENV_LOCAL_LIMIT, at.FAULT_LOCAL)}
{_request()}
  %word = lshr {V} %off32, splat (i32 2)
  %sub = and {V} %off32, splat (i32 3)
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %hostp = getelementptr i8, ptr %w, i64 {at.WARP_LOCAL}
  %hosta = load i64, ptr %hostp, align 8
  %host = inttoptr i64 %hosta to ptr
{observed}
  call void @wl.local.bytes(ptr %env, {V} %off32, i32 %mask, i32 %lane, i32 {size}, i32 %counter)
{body}
  ret i32 0
}}"""


def generic_move(op: str, size: int, clusters: bool = False) -> str:
    """@wl.generic.load.N / store: by window of the high word."""
    functions = {"shared": "cluster" if clusters else "shared"}
    calls = []
    for i, space in enumerate(("shared", "local", "global")):
        calls.append(f"""  %c{space} = add i32 %counter, {SLOTS * (2 - i)}
  %s{space} = getelementptr i8, ptr %site, i64 {at.SITE_SIZE * (2 - i)}
  %f{space} = call i32 @wl.{functions.get(space, space)}.{op}.{size}(ptr %w, ptr %env, ptr %s{space}, i32 %m{space},
    i32 %imm, i32 %inst, i32 %c{space})
  %b{space} = icmp ne i32 %f{space}, 0
  br i1 %b{space}, label %bad, label %n{space}
n{space}:""")
    return f"""{prologue(f"wl.generic.{op}.{size}")}
{scratch("lop", ADDRESSES)}
  %lo = load {V}, ptr %lop, align 64
{scratch("hip", ADDRESSES + 1)}
  %hi = load {V}, ptr %hip, align 64
{splat("%immv", "%imm")}
  %sv = icmp eq {V} %hi, splat (i32 {at.SHARED_WINDOW_HIGH})
  %sb = bitcast {P} %sv to i32
  %mshared = and i32 %sb, %mask
  %lv = icmp eq {V} %hi, splat (i32 {at.LOCAL_WINDOW_HIGH})
  %lb = bitcast {P} %lv to i32
  %mlocal = and i32 %lb, %mask
  %ms = or i32 %mshared, %mlocal
  %mglobal = xor i32 %ms, %mask
  %moved = add {V} %lo, %immv
  store {V} %moved, ptr %lop, align 64
{calls[0]}
{calls[1]}
  store {V} %lo, ptr %lop, align 64
{calls[2]}
  ret i32 0
bad:
  ret i32 1
}}"""
