"""What helper functions for memory accesses begin with, and their slots of the warp's scratch area.

Each helper gets the warp record, the environment, an access site and a lane mask; vectors travel
through the warp's scratch area. All return 0, or 1 after recording a fault in the environment.

Scratch slots of the warp record (128 bytes each): 0 address low words or offsets, 1 address high
words, 2-5 values to store, 6-9 loaded values, 10-13 second operand of CAS, 18-19 offsets of
atomics, 20-21 full addresses, 22-23 the return-address register (memory/mbarrier_ops.py).
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.vector_ir import P, V, splat, store_for_lanes

ADDRESSES, VALUES, RESULTS, SWAP, OFFSETS, FULL = 0, 2, 6, 10, 18, 20


def scratch(stem: str, slot: int) -> str:
    """A line that defines `%stem` as a pointer to a scratch slot of %w."""
    return f"  %{stem} = getelementptr i8, ptr %w, i64 {at.WARP_SCRATCH + 128 * slot}"


def by_lanes(stem: str, slot: int) -> str:
    """Lines that store a scratch slot of %w once more where its lanes are read one by one next."""
    return f"""{scratch(f"{stem}.at", slot)}
  %{stem}.all = load {V}, ptr %{stem}.at, align 64
{store_for_lanes(stem, f"%{stem}.all", f"%{stem}.at")}"""


def misaligned(size: int, address: str, kind: int) -> str:
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
    """The head of a helper; one called without lanes does nothing."""
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


def request(slot: int = 1) -> str:
    """Lines that count a request."""
    return f"""  %rqc = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}
  %rqa = load i64, ptr %rqc, align 8
  %rqb = inttoptr i64 %rqa to ptr
  %rqi = add nsw i32 %counter, {slot}
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


def bounds(size: int, limit_slot: int, kind: int) -> str:
    """Lines that leave for a fault when a lane's offset lies behind the end of a block's memory."""
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
