"""Counts what a GPU executes more than once: jumps to several places, lanes that met at WARPSYNC,
warps that ask for registers.

Recorded on an H200 (validation/README.md). Counts taken from patched code (`smsp__sass_*`) do not
have these executions, the counters of the chip do.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.control.participants import not_ended
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.generators import counted_with
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import Imm, Instruction

_ASKED_AGAIN = 4  # instructions of the loop that asks


def _flag(w: RegionWriter, condition: str) -> str:
    return w.emit(f"zext i1 {condition} to i64")


def count_meeting(w: RegionWriter, need: str) -> None:
    """Counts a WARPSYNC at which lanes have to wait: all of them execute it again together.

    Each group of lanes that arrives adds its lanes, the one with the lowest lane the execution.
    """
    alive = not_ended(w, need)
    lowest = w.emit(f"and i32 {alive}, {w.emit(f'sub i32 0, {alive}')}")
    own = w.emit(f"and i32 {lowest}, {w.mask}")
    one = w.counter("inst_repeated", w.index, w.index + 1)
    w.count(one, _flag(w, w.emit(f"icmp ne i32 {own}, 0")))
    w.count(w.counter("thread_inst_repeated", w.index, w.index + 1), w.popcount(w.mask))


@counted_with("USETMAXREG")
def count_asking(w: RegionWriter, inst: Instruction) -> None:
    """Counts what a warp executes again that asks for more registers than it was launched with
    (setmaxnreg.inc): WARPSYNC, the question, its answer and the jump back, once for each warp of
    all recorded kernels. Warps that have as many already ask once."""
    last = inst.operands[-1]
    if "TRY_ALLOC" not in inst.modifiers or not isinstance(last, Imm):
        return
    if last.bits <= w.kernel.registers:
        return
    w.count(w.counter("inst_repeated", w.index, w.index + 1), str(_ASKED_AGAIN))
    lanes = w.emit(f"mul i64 {w.popcount(w.mask)}, {_ASKED_AGAIN}")
    w.count(w.counter("thread_inst_repeated", w.index, w.index + 1), lanes)


def count_group(w: RegionWriter, group: str, left: str) -> None:
    """Counts one group of lanes that goes a way of its own while `left` lanes are still there."""
    first = w.popcount(group)
    rest = w.popcount(left)
    larger = w.emit(f"select i1 {w.emit(f'icmp ugt i64 {first}, {rest}')}, i64 {first}, i64 {rest}")
    w.count(w.counter("inst_repeated", w.index, w.index + 1), "1")
    w.count(w.counter("thread_inst_repeated", w.index, w.index + 1), larger)
    w.count(w.counter("branch_divergent", w.index, w.index + 1), "1")


def count_targets(w: RegionWriter, targets: Value, lanes: str) -> None:
    """Counts a jump whose lanes may have several targets: once for each of them."""
    w.module.helper("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    labels = ("targets", "target", "several", "counted")
    head, body, several, end = (w.module.label(name) for name in labels)
    remaining, place = at.WARP_ARGS + 8, w.field(at.WARP_TARGETS)
    w.store_u32(remaining, lanes)
    w.line(f"br label %{head}")
    w.module.start(head)
    rest = w.load_u32(remaining)
    w.line(f"br i1 {w.emit(f'icmp eq i32 {rest}, 0')}, label %{end}, label %{body}")
    w.module.start(body)
    lane = w.emit(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 true)")
    word = w.emit(f"load i32, ptr {w.emit(f'getelementptr i32, ptr {place}, i32 {lane}')}, align 4")
    same = w.x.ballot_scalar(w.x.icmp("eq", targets, w.x.broadcast("u32", word)))
    group = w.emit(f"and i32 {same}, {rest}")
    left = w.emit(f"xor i32 {rest}, {group}")
    w.store_u32(remaining, left)
    only = w.emit(f"icmp eq i32 {group}, {lanes}")
    w.count(w.counter("branch_uniform", w.index, w.index + 1), _flag(w, only))
    w.line(f"br i1 {w.emit(f'icmp eq i32 {left}, 0')}, label %{end}, label %{several}")
    w.module.start(several)
    count_group(w, group, left)
    w.line(f"br label %{head}")
    w.module.start(end)
