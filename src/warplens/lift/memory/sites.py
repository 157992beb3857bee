"""Access sites: their counter slots, and calls of the helper functions that serve them.

Counter slots of a site: 0 inline rows, then what the helper counts (counting/slots.py).
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting import slots
from warplens.lift.decode.binding import Bound
from warplens.lift.memory.addresses import put_scratch
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import cluster_ir, module_ir

SPACES = {"global": ("global",), "shared": ("shared",), "local": ("local",),
          "generic": ("global", "local", "shared"), "cluster": ("shared",)}  # fmt: skip


def spaces(w: RegionWriter, space: str) -> tuple[str, ...]:
    """The spaces that an access may reach; in clusters also other blocks' shared memory."""
    far = ("dshared",) if space == "cluster" or (space == "generic" and w.clusters) else ()
    return SPACES[space] + far


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


def use_runtime(w: RegionWriter, *functions: tuple[str, str]) -> None:
    """Adds the helper functions and all that they call to the module."""
    for name, text in (*module_ir.functions(w.features), *functions):
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
        w.n_counters += slots.SLOTS
        columns = slots.columns(s, size, op)
        if is_inline and space != "generic":
            asked = slots.ASKED if s == "shared" else slots.BYTES
            del columns["bytes"][asked]
            w.counter(f"{s}_bytes", i, i + 1, size, slot=w.true_slot)
        for column, parts in columns.items():
            for slot, weight in parts.items():
                w.counter(f"{s}_{column}", i, i + 1, weight, slot=base + slot)
    return first_site, first_slot


def site_pointer(w: RegionWriter, site: int) -> str:
    """Pointer to an access site's record."""
    return w.emit(f"getelementptr i8, ptr %sites, i64 {site * at.SITE_SIZE}")


def leave_if_failed(w: RegionWriter, failed: str) -> None:
    """A fault leaves the region: what a helper returned is not 0."""
    bad, good = w.module.label("bad"), w.module.label("good")
    is_bad = w.emit(f"icmp ne i32 {failed}, 0")
    w.line(f"br i1 {is_bad}, label %{bad}, label %{good}, !prof !2")
    w.module.start(bad)
    w.line(f"ret i32 {at.EVENT_FAULT}")
    w.module.start(good)


def call(w: RegionWriter, function: str, site: str, mask: str, imm: int, slot: int) -> None:
    """Calls a helper; a fault leaves the region."""
    failed = w.emit(
        f"call i32 @{function}(ptr %w, ptr %env, ptr {site}, i32 {mask}, i32 {imm}, "
        f"i32 {w.index}, i32 {slot})"
    )
    leave_if_failed(w, failed)


def call_helper(w: RegionWriter, function: str, site: int, mask: str, imm: int,
                slot: int) -> None:  # fmt: skip
    """Calls a helper for a reserved site; a fault leaves the region."""
    call(w, function, site_pointer(w, site), mask, imm, slot)


def slow_down(w: RegionWriter, item: Bound) -> None:
    """Strong accesses may belong to a spin loop: such a warp yields sooner."""
    if "STRONG" in item.inst.modifiers:
        w.spend_fuel(32)


def call_unit(w: RegionWriter, slot: int, form: int, lanes: str) -> None:
    """Calls the unit whose address the environment holds; a fault leaves the region."""
    unit = w.emit(f"inttoptr i64 {w.env(slot)} to ptr")
    warp = w.emit("ptrtoint ptr %w to i64")
    failed = w.emit(
        f"call i32 {unit}(ptr %env, i64 {warp}, i32 {lanes}, i64 {form}, i32 {w.index})"
    )
    leave_if_failed(w, failed)


def call_tensor_memory(w: RegionWriter, form: int, lanes: str) -> None:
    """Calls the unit of tensor memory; a fault leaves the region."""
    if w.tells("bulk") and form & 15 not in (at.TM_COMMIT, at.TM_LOOK):
        put_scratch(w, at.TM_FORM, w.x.u32(form & 0xFFFFFFFF))
        w.tell_sync(lanes)
    call_unit(w, at.ENV_TENSOR_UNIT, form, lanes)
