"""Code for the barriers of blocks and clusters, and for fences."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.control.participants import scalar_operand
from warplens.lift.decode.binding import Bound
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import PT, RZ, Imm, Pred, Reg, UPred, UReg


@role("nop", "fence")
def nop(w: RegionWriter, item: Bound) -> None:
    """Nothing to do: execution is sequentially consistent."""


@role("bar")
def bar(w: RegionWriter, item: Bound) -> None:
    """BAR: arrive at a named barrier of the block; the runner counts."""
    modifiers = item.inst.modifiers
    values = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm)]
    predicates = [o for o in item.inst.operands if isinstance(o, Pred | UPred)]
    number = w.emit(f"and i32 {scalar_operand(w, values[0])}, 15") if values else "0"
    threads = scalar_operand(w, values[1]) if len(values) > 1 else "0"
    kind = at.BARRIER_ARRIVE if "ARV" in modifiers else at.BARRIER_SYNC
    ballot = "0"
    if "RED" in modifiers:
        kind = {"POPC": at.BARRIER_POPC, "AND": at.BARRIER_AND, "OR": at.BARRIER_OR}[
            next(m for m in modifiers if m in ("POPC", "AND", "OR"))
        ]
        value = w.operands.predicate(predicates[-1], False) if predicates else w.x.true()
        ballot = w.x.ballot_scalar(value)
    if w.watch.accesses and any(isinstance(o, Reg | UReg) for o in values):
        _tell_name(w, number, threads)
    leave_guarded(w, at.EVENT_BARRIER, (number, threads, str(kind), ballot))


def _tell_name(w: RegionWriter, number: str, threads: str) -> None:
    """Shows an observer of accesses which barrier is meant, and for how many warps."""
    warps = w.emit(f"lshr i32 {w.emit(f'add i32 {threads}, 31')}, 5")
    name = w.emit(f"or i32 {w.emit(f'shl i32 {number}, 8')}, {w.emit(f'and i32 {warps}, 255')}")
    more = f"i32 {at.SPACE_NAMED}", "i32 1", f"i32 {name}", "i64 0", "ptr null"
    w.call_observer(at.ENV_OBSERVE_ACCESS, str(w.index), w.lanes_mask(), *more)


def leave_guarded(w: RegionWriter, event: int, arguments: tuple[str, ...] = (),
                  told: bool = True) -> None:  # fmt: skip
    """Ends the region with an event of the executing lanes; the others go on behind.

    Observers are told of barriers of the block (`told`).
    """
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    lanes = w.mask
    if told and w.tells("bar") and arguments:
        for i, value_ref in enumerate(arguments):
            w.store_u32(at.WARP_ARGS + 4 * i, value_ref)
        w.tell_sync(w.lanes_mask())
    if w.guard is not None:
        lanes = w.lanes_mask()
        arrive, skip = w.module.label("arrive"), w.module.label("skip")
        w.line(f"br i1 {w.emit(f'icmp ne i32 {lanes}, 0')}, label %{arrive}, label %{skip}")
        w.module.start(skip)
        w.goto(follow)
        w.module.start(arrive)
        rest = w.emit(f"xor i32 {lanes}, {w.mask}")
        some, go = w.module.label("others"), w.module.label("go")
        w.line(f"br i1 {w.emit(f'icmp ne i32 {rest}, 0')}, label %{some}, label %{go}")
        w.module.start(some)
        w.park(follow, rest)
        w.line(f"br label %{go}")
        w.module.start(go)
    for i, value_ref in enumerate(arguments):
        w.store_u32(at.WARP_ARGS + 4 * i, value_ref)
    w.leave(follow, lanes, event)


@role("cluster_arrive", "cluster_wait")
def cluster_barrier(w: RegionWriter, item: Bound) -> None:
    """UCGABAR_ARV and UCGABAR_WAIT: the runner counts the cluster's lanes."""
    if w.observe:
        w.tell_sync(w.lanes_mask())
    waits = item.op.role == "cluster_wait"
    leave_guarded(w, at.EVENT_CLUSTER_WAIT if waits else at.EVENT_CLUSTER_ARRIVE)


@role("b2r")
def b2r(w: RegionWriter, item: Bound) -> None:
    """B2R.RESULT: count of the last BAR.RED and its truth."""
    word = w.load_u32(at.WARP_BAR_RESULT)
    value = w.x.broadcast("u32", word)
    for operand in item.inst.operands:
        if isinstance(operand, Reg) and operand.index != RZ:
            w.operands.write_word(operand.index, value, w.guard)
        elif isinstance(operand, Pred) and operand.index != PT:
            truth = w.x.icmp("ne", value, w.x.u32(0))
            w.operands.write_word(256 + operand.index, truth, w.guard)


@role("warpgroup_wait")
def warpgroup_wait(w: RegionWriter, item: Bound) -> None:
    """WARPGROUP.DEPBAR: goes on when all four warps are here: all have read their operands."""
    warp = w.load_u32(at.WARP_INDEX)
    number = w.emit(f"add i32 {w.emit(f'lshr i32 {warp}, 2')}, {at.FIRST_WARPGROUP_BARRIER}")
    leave_guarded(w, at.EVENT_BARRIER, (number, "128", str(at.BARRIER_SYNC), "0"), told=False)
