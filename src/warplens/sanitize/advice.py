"""What repairs a race: the advice of a finding, by what the two accesses are."""

from __future__ import annotations

from warplens.sanitize.updates import lost_update
from warplens.sass.model import Instruction, SassKernel

COPIES = {"LDGSTS": "asynchronous copy", "UBLKCP": "bulk copy", "UTMALDG": "tensor copy",
          "UTMASTG": "tensor copy", "UTMAREDG": "tensor copy", "HGMMA": "product",
          "QGMMA": "product", "IGMMA": "product", "BGMMA": "product",
          "UTCHMMA": "product", "UTCQMMA": "product", "UTCIMMA": "product",
          "UTCOMMA": "product", "UTCCP": "copy", "UTCSHIFT": "shift"}  # fmt: skip
_CORES = frozenset(opcode for opcode in COPIES if opcode.startswith("UTC"))
_APART = frozenset(COPIES) - {"LDGSTS"} - _CORES
BLOCKS, WARPS, LANES = range(3)  # how far apart two threads are
_REACH = {
    BLOCKS: "Blocks are not ordered: use an atomic, __threadfence() with a flag, or separate "
    "kernels.",
    WARPS: "The accesses are not ordered: a __syncthreads() between them is missing",
    LANES: "The accesses are not ordered: a __syncwarp() between them is missing",
}
_CLUSTER = "Blocks of a cluster are ordered by the cluster's barrier: cluster.sync()."
_CELLS = (
    "The accesses are not ordered: wait for the first (tcgen05.wait::st, tcgen05.wait::ld), then "
    "let the threads meet between tcgen05.fence::before_thread_sync and ::after_thread_sync."
)
_CORE = (
    "A product or copy goes on beside the threads. It is over for who has waited for the mbarrier "
    "of its tcgen05.commit; before it begins, other accesses to its cells must be over "
    "(tcgen05.wait::st, tcgen05.wait::ld), with a barrier behind them."
)
_OPERAND = (
    "The product or copy goes on beside the threads: tcgen05.commit it to an mbarrier and wait for "
    "that, here or in a thread that this one waits for."
)
_BESIDE = (
    "It goes on beside the threads: wait for its mbarrier, or for its group "
    "(cp.async.bulk.wait_group, wgmma.wait_group), then for the other threads."
)
_BESIDE_LATER = (
    "It goes on beside the threads: who uses what it writes waits for its mbarrier first, in the "
    "right phase; it may begin only behind a barrier that ends the accesses before it."
)
_IN_FLIGHT = (
    "The asynchronous copy may still be in flight: wait for its group (__pipeline_wait_prior), "
    "then for the other threads (__syncthreads())."
)
_IN_FLIGHT_LATER = (
    "Who reads what the asynchronous copy writes waits for it first (__pipeline_wait_prior and "
    "__syncthreads(), or the pipeline's consumer_wait()); it may begin only behind a barrier that "
    "ends the reads before it."
)
_WIDTHS = (
    "Atomics of different widths on one place are not atomic to each other: use the same width."
)
_LOCK = (
    " If a lock is to protect it: __threadfence() is missing behind taking the lock or before "
    "leaving it."
)


def _update_advice(missing: str, *, polls: bool) -> str:
    """Of an update that is lost; `missing`: the atomic that does it at once."""
    advice = (
        "Both threads read the word, change it and write it back: one update is lost, and a "
        f"barrier does not help. Use {missing}."
    )
    return advice + _LOCK if polls else advice


def race_advice(kernel: SassKernel, first: int, second: int, reach: int, space: str, *,
                one_step: bool, polls: bool) -> tuple[str, str]:  # fmt: skip
    """What to do about a race between two instructions, and the atomic that is missing, if any.

    Args:
        one_step: two lanes of one execution of an instruction.
        polls: the kernel has loops that wait for a flag or lock.
    """
    before, later = kernel.instructions[first], kernel.instructions[second]
    missing = lost_update(kernel, first, second)
    opcodes = before.opcode, later.opcode
    if space == "tensor-memory":
        return (_CORE if _CORES.intersection(opcodes) else _CELLS), ""
    if before.opcode in _CORES:
        return _OPERAND, ""
    if missing:
        return _update_advice(missing, polls=polls), missing
    if one_step:
        return "Lanes of a warp store different values to one word; the result is undefined.", ""
    if reach == BLOCKS:
        return (_CLUSTER if space == "shared" else _between_blocks(before, later)), ""
    if before.opcode in _APART:
        return _BESIDE, ""
    if "LDGSTS" in opcodes:
        return (_IN_FLIGHT if before.opcode == "LDGSTS" else _IN_FLIGHT_LATER), ""
    if later.opcode in _APART:
        return _BESIDE_LATER, ""
    if _are_atomic(before, later):
        return _WIDTHS, ""
    return _REACH[reach] + _or_waits(kernel, polls=polls), ""


def _between_blocks(first: Instruction, second: Instruction) -> str:
    return _WIDTHS if _are_atomic(first, second) else _REACH[BLOCKS]


def _are_atomic(first: Instruction, second: Instruction) -> bool:
    return all(inst.opcode.startswith(("ATOM", "RED")) for inst in (first, second))


def _or_waits(kernel: SassKernel, *, polls: bool) -> str:
    """What beside a barrier may be meant to order two warps or lanes."""
    if any(inst.opcode == "SYNCS" and "PHASECHK" in inst.modifiers for inst in kernel.instructions):
        return ", or the wait for an mbarrier at which the other thread has arrived."
    if polls:
        return (". If a flag or lock is to order them: a __threadfence() is missing before it is "
                "set or left, or behind the look at it.")  # fmt: skip
    return "."
