"""The sanitizers' checks: what each mistake is called, what it means, and what repairs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One kind of mistake.

    Attributes:
        name: after the mistake; tool: which sanitizer finds it.
        meaning: what has happened; repair: what to do about it.
        is_remark: harmless as far as was seen, so it does not make a run fail.
    """

    name: str
    tool: str
    meaning: str
    repair: str
    is_remark: bool = False


def _memory() -> Iterator[Check]:
    def check(name: str, meaning: str, repair: str) -> Check:
        return Check(name=name, tool="memcheck", meaning=meaning, repair=repair)

    yield check(
        "out-of-bounds",
        "An access outside every allocation, shared array or local frame. The finding names the "
        "nearest one and how far away it is.",
        "Compare the index with the array's length: often a guard such as `if (i < n)` is missing, "
        "or the launch passes a shorter array than the kernel was told of.",
    )
    yield check(
        "misaligned-access",
        "An address that is no multiple of the access's size, which the hardware refuses.",
        "Align what is cast to a wider type (`float4*`) to that type's size, offsets included.",
    )
    yield check(
        "write-to-read-only",
        "A store to memory that may only be read: a read-only NumPy array or constant memory.",
        "Pass a writable array, or declare the parameter const and write elsewhere.",
    )
    yield check(
        "wrong-space",
        "A pointer to one address space is used in another, such as a shared-memory address in a "
        "load from global memory.",
        "Keep pointers generic, or convert them with `__cvta_generic_to_shared` and its relatives.",
    )
    yield check(
        "use-after-free",
        "An access to an allocation of the device's heap that was freed before.",
        "Free it after its last use by any thread; a barrier may be needed in between.",
    )
    yield check(
        "double-free",
        "`free` of a heap allocation that was freed before.",
        "Let one thread free it, once.",
    )
    yield check(
        "invalid-free",
        "`free` of an address that device `malloc` did not return.",
        "Free the pointer that `malloc` gave, not one inside the allocation or of another space.",
    )
    yield check(
        "heap-leak",
        "Heap allocations of the kernel that nobody freed when the launch ended.",
        "Call `free` for every `malloc`, on every path out of the kernel.",
    )
    yield check(
        "stack-overflow",
        "Recursion needs more local memory than a thread's stack has. The pass ends there.",
        "Bound the depth, or turn the recursion into a loop.",
    )
    yield check(
        "kernel-trap",
        "The kernel stopped itself: a failed `assert`, or `__trap()`. The pass ends there.",
        "The finding names the source line; for an assert also its condition.",
    )
    yield check(
        "invalid-access",
        "The engine stopped the launch for another reason, which the finding tells.",
        "See the finding's text.",
    )


_SHARING = {
    "shared": "Put `__syncthreads()` between the two, or `__syncwarp()` if both lanes are of one "
    "warp.",
    "global": "Blocks are not ordered within a launch: use an atomic, publish with "
    "`__threadfence()` and a flag, or split the kernel in two.",
}


def _races() -> Iterator[Check]:
    def check(name: str, meaning: str, repair: str, *, is_remark: bool = False) -> Check:
        return Check(name=name, tool="racecheck", meaning=meaning, repair=repair,
                     is_remark=is_remark)  # fmt: skip

    for space, repair in _SHARING.items():
        yield check(
            f"{space}-write-race",
            f"Two threads write one word of {space} memory and nothing orders the writes: which "
            "value stays is open.",
            repair,
        )
        yield check(
            f"{space}-read-write-race",
            f"One thread reads a word of {space} memory that another writes, and nothing orders "
            "the two: the reader may get the old value or the new one.",
            repair,
        )
        yield check(
            f"{space}-same-value-write",
            f"Several threads write the same value to one word of {space} memory, unordered.",
            "Nothing, as long as the values stay equal. One writing thread makes it certain.",
            is_remark=True,
        )
        yield check(
            f"{space}-read-beside-compare-and-swap",
            f"A plain read of {space} memory beside a compare-and-swap, as at the start of its "
            "loop.",
            "Nothing, if the swap checks the value again. A volatile read says so.",
            is_remark=True,
        )
    yield check(
        "narrow-scope-atomic",
        "Both accesses are atomic, but one of them only within its block (`atomicAdd_block`), and "
        "the other block does not see it as one step.",
        "Use a scope that covers both: `atomicAdd`, or `cuda::thread_scope_device`.",
    )
    yield check(
        "schedule-dependent-result",
        "Under `--schedules N`, another order of warps and blocks ended with other bytes.",
        "If races are reported, repair them first. Sums of floats with atomics do this too: add in "
        "a fixed order where that matters.",
    )


def _unwritten() -> Iterator[Check]:
    for space, repair in (
        ("shared", "Write every word before the barrier behind which it is read; shared memory "
         "starts undefined."),
        ("local", "Initialise the array or variable on every path."),
        ("global", "Device `malloc` does not clear memory: write it first. Host arrays count as "
         "written."),
    ):  # fmt: skip
        yield Check(
            name=f"uninitialised-{space}-read",
            tool="initcheck",
            meaning=f"A read of {space} memory that no thread wrote before.",
            repair=repair,
        )


def _synchronisation() -> Iterator[Check]:
    def check(name: str, meaning: str, repair: str) -> Check:
        return Check(name=name, tool="synccheck", meaning=meaning, repair=repair)

    yield check(
        "divergent-barrier",
        "Threads of one block meet at a barrier from different statements, or only some lanes of a "
        "warp reach it.",
        "Move `__syncthreads()` out of the condition, so that every thread reaches the same one.",
    )
    yield check(
        "barrier-deadlock",
        "Threads wait at a barrier for others that ended or wait elsewhere: the launch cannot end.",
        "Every thread of the block that has not ended must reach the barrier.",
    )
    yield check(
        "barrier-count-mismatch",
        "A named barrier is given different numbers of threads, or one that is no whole number of "
        "warps.",
        "Pass the same multiple of 32 everywhere.",
    )
    yield check(
        "mask-names-absent-lane",
        "The mask of a warp intrinsic names lanes that never execute it.",
        "Compute the mask before the branch with `__ballot_sync`, or let those lanes take part.",
    )
    yield check(
        "mask-without-caller",
        "A lane executes a warp intrinsic whose mask leaves it out.",
        "Add the lane to the mask, or keep it out by a branch.",
    )
    yield check(
        "differing-masks",
        "Lanes that meet at one warp intrinsic give different masks.",
        "Give every lane that takes part the same mask.",
    )
    yield check(
        "shuffle-from-inactive-lane",
        "A shuffle reads from a lane that does not execute it: the value is undefined.",
        "Let the source lane take part, or do not use the value.",
    )
    yield check(
        "uninitialised-mbarrier",
        "An arrival at an mbarrier whose word is still zero.",
        "Initialise it in one thread (`mbarrier.init`, `init(&barrier, count)`), then "
        "`__syncthreads()`, before any thread arrives.",
    )


CHECKS: dict[str, Check] = {
    one.name: one for one in (*_memory(), *_races(), *_unwritten(), *_synchronisation())
}
