"""Code that asks the check function of an observer (execute/observe.py) about an access."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime.access_ir import window
from warplens.lift.vector_ir import V

_SPACES = {"global": at.SPACE_GLOBAL, "shared": at.SPACE_SHARED, "local": at.SPACE_LOCAL,
           "generic": at.SPACE_GENERIC}  # fmt: skip


def _call_check(space: str) -> str:
    return f"""  %cfp = getelementptr i64, ptr %env, i64 {at.ENV_CHECK}
  %cfa = load i64, ptr %cfp, align 8
  %cf = inttoptr i64 %cfa to ptr
  %good = call i32 %cf(ptr %env, ptr %w, ptr %site, i32 %inst, i32 %mask, i32 {space}, i32 %kind,
    i32 %size, i32 %imm)
  ret i32 %good"""


def check_far() -> str:
    """@wl.check.far: asks about global or generic addresses (scratch slots 0 and 1).

    Where the check function has left an allocation in the site, accesses to it are not asked about.
    """
    return f"""define internal i32 @wl.check.far(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %space, i32 %kind, i32 %size) noinline {{
entry:
{window("%size", (at.SITE_QUIET_LOW, at.SITE_QUIET_HIGH, at.SITE_QUIET_LIMIT))}
  br i1 %all, label %quiet, label %ask
quiet:
  ret i32 %mask
ask:
{_call_check("%space")}
}}"""


def check_near() -> str:
    """@wl.check.near: asks about offsets (scratch slot 0) in shared or local memory."""
    return f"""define internal i32 @wl.check.near(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %space, i32 %kind, i32 %size) noinline {{
entry:
  %any = icmp ne i32 %mask, 0
  br i1 %any, label %ask, label %nothing
nothing:
  ret i32 0
ask:
{_call_check("%space")}
}}"""


def _put(w: RegionWriter, slot: int, value: Value) -> None:
    place = w.field(at.WARP_SCRATCH + 128 * slot)
    w.line(f"store {V} {value.ref}, ptr {place}, align 64")


def check_lanes(w: RegionWriter, space: str, kind: int, size: int,
                address: tuple[Value, Value | None, int], site: int, mask: str) -> str:  # fmt: skip
    """The lanes of `mask` that may do an access; values to be stored stand in scratch already."""
    low, high, offset = address
    if not w.watch.checks:
        if space == "shared" and w.watch.first_shared:
            _guard_shared(w, low if not offset else w.x.add(low, w.x.u32(offset)), size, mask)
        return mask
    if space not in _SPACES:
        return mask
    far = high is not None
    name = "wl.check.far" if far else "wl.check.near"
    w.module.helper(name, check_far() if far else check_near())
    if high is not None:
        _put(w, 0, low)
        _put(w, 1, high)
    else:
        _put(w, 0, low if not offset else w.x.add(low, w.x.u32(offset)))
        offset = 0
    place = w.emit(f"getelementptr i8, ptr %sites, i64 {site * at.SITE_SIZE}")
    return w.emit(
        f"call i32 @{name}(ptr %w, ptr %env, ptr {place}, i32 {mask}, i32 {offset}, "
        f"i32 {w.index}, i32 {_SPACES[space]}, i32 {kind}, i32 {size})"
    )


def _guard_shared(w: RegionWriter, offsets: Value, size: int, mask: str) -> None:
    """A fault where a lane accesses the system's part of shared memory."""
    first = w.x.u32(w.watch.first_shared)
    below = w.x.ballot_scalar(w.x.icmp("ult", offsets, first))
    bad = w.emit(f"and i32 {below}, {mask}")
    is_bad = w.emit(f"icmp ne i32 {bad}, 0")
    wrong, good = w.module.label("reserved"), w.module.label("owned")
    w.line(f"br i1 {is_bad}, label %{wrong}, label %{good}, !prof !2")
    w.module.start(wrong)
    w.module.helper("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    lane = w.emit(f"call i32 @llvm.cttz.i32(i32 {bad}, i1 true)")
    address = w.emit(f"zext i32 {w.emit(f'extractelement {V} {offsets.ref}, i32 {lane}')} to i64")
    w.emit(
        f"call i32 @wl.fault(ptr %env, i64 {at.FAULT_SHARED}, i32 {w.index}, i32 {lane}, "
        f"i64 {address}, i64 {size})"
    )
    w.line(f"ret i32 {at.EVENT_FAULT}")
    w.module.start(good)
