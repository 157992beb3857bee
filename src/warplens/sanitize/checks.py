"""The sanitizers' checks: their names, what they mean, and how to fix the errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One kind of mistake.

    Attributes:
        name: after the mistake; tool: which sanitizer finds it.
        meaning: what has happened; repair: what to do about it.
        is_remark: harmless as far as observed, so it does not make a run fail.
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
        "nearest one and its distance.",
        "Compare the index with the array's length: often a bounds check such as `if (i < n)` is "
        "missing, or the launch passes an array shorter than the kernel expects.",
    )
    yield check(
        "misaligned-access",
        "The address is not a multiple of the access size, which the hardware does not allow.",
        "Align data that is accessed as a wider type (`float4*`), and offsets into it, to the size "
        "of that type.",
    )
    yield check(
        "write-to-read-only",
        "A store to read-only memory: a read-only NumPy array, or constant memory.",
        "Pass a writable array, or declare the parameter const and write elsewhere.",
    )
    yield check(
        "wrong-space",
        "A pointer to one address space is used in another, such as a shared memory address in a "
        "load from global memory.",
        "Keep pointers generic, or convert them with `__cvta_generic_to_shared` and the like.",
    )
    yield check(
        "use-after-free",
        "An access to a device heap allocation that was already freed.",
        "Free it after the last use by any thread; this may need a barrier in between.",
    )
    yield check(
        "double-free",
        "`free` of a heap allocation that was already freed.",
        "Let one thread free it, once.",
    )
    yield check(
        "invalid-free",
        "`free` of an address that device `malloc` did not return.",
        "Free the pointer that `malloc` returned, not one inside the allocation or to another "
        "space.",
    )
    yield check(
        "heap-leak",
        "Device heap allocations that were not freed when the launch ended.",
        "Call `free` for every `malloc`, on every path out of the kernel.",
    )
    yield check(
        "device-memory-leak",
        "With `--leak-check full`: memory that a script has allocated on the device and not freed "
        "when it ended.",
        "Free it, or let the package's objects that own it be deleted before the end.",
    )
    yield check(
        "stack-overflow",
        "Recursion needs more local memory than the thread's stack has. The check stops there.",
        "Limit the depth, or replace the recursion by a loop.",
    )
    yield check(
        "kernel-trap",
        "The kernel stopped itself: a failed `assert`, or `__trap()`. The check stops there.",
        "The finding names the source line and, for an assert, its condition.",
    )
    yield check(
        "invalid-access",
        "The launch was aborted for another reason, which the finding states.",
        "See the finding's text.",
    )


_SHARING = {
    "shared": "Put `__syncthreads()` between the two accesses, or `__syncwarp()` if both lanes are "
    "in the same warp.",
    "global": "Blocks are not ordered within a launch: use an atomic, `__threadfence()` with a "
    "flag, or separate kernels.",
    "tensor-memory": "Wait for what goes on beside the threads: products and copies by "
    "`tcgen05.commit` and its mbarrier, `tcgen05.st` by `tcgen05.wait::st`, `tcgen05.ld` by "
    "`tcgen05.wait::ld`. Between threads put a barrier behind that, `tcgen05.fence`s around it.",
}


def _races() -> Iterator[Check]:
    def check(name: str, meaning: str, repair: str, *, is_remark: bool = False) -> Check:
        return Check(name=name, tool="racecheck", meaning=meaning, repair=repair,
                     is_remark=is_remark)  # fmt: skip

    for space, repair in _SHARING.items():
        memory = space.removesuffix("-memory")
        yield check(
            f"{space}-write-race",
            f"Two threads write the same word of {memory} memory and the writes are not ordered: "
            "the result is undefined.",
            repair,
        )
        yield check(
            f"{space}-read-write-race",
            f"One thread reads a word of {memory} memory that another writes, and the accesses are "
            "not ordered: the reader may get the old or the new value.",
            repair,
        )
        if space == "tensor-memory":
            continue
        yield check(
            f"{space}-same-value-write",
            f"Several threads write the same value to one word of {space} memory, unordered.",
            "None needed while the values are equal; let a single thread write to be safe.",
            is_remark=True,
        )
        yield check(
            f"{space}-read-beside-compare-and-swap",
            f"A plain read of {space} memory beside a compare-and-swap, as at the start of its "
            "loop.",
            "None needed if the compare-and-swap checks the value again; a volatile read makes "
            "this explicit.",
            is_remark=True,
        )
    yield check(
        "narrow-scope-atomic",
        "Both accesses are atomic, but one has block scope (`atomicAdd_block`) and is not atomic "
        "for the other block.",
        "Use a scope that includes both: `atomicAdd`, or `cuda::thread_scope_device`.",
    )
    yield check(
        "ordered-by-lock-only",
        "A warning: two accesses to a word, at least one a write, are separated by nothing but the "
        "order in which their threads took a lock that they do not both hold at them. In another "
        "order they race. Data that is handed over under a lock, by a value that decides a branch "
        "or an address, is not reported.",
        "Hold the same lock at both accesses, or order them with a barrier, or with fences and a "
        "flag.",
    )
    yield check(
        "racy-volatile-access",
        "Two threads use a word that at least one of them writes, one access or both are volatile, "
        "and nothing orders them. An error where an update can be lost (`*p += 1`), otherwise a "
        "warning. A loop that looks at a flag until it is set is not reported.",
        "Use an atomic (`atomicAdd()`, `cuda::atomic_ref`), or order the accesses with a barrier, "
        "or with fences and a flag.",
    )
    yield check(
        "missing-proxy-fence",
        "A bulk copy, a tensor copy or a product (wgmma, tcgen05) reads shared memory that threads "
        "have written, with no `fence.proxy.async` in between: it may see what was there before.",
        "Execute `fence.proxy.async` behind the stores, in the threads that store, before the "
        "barrier that precedes the copy or the product.",
    )
    yield check(
        "schedule-dependent-result",
        "With `--schedules N`, another order of warps and blocks gave a different result.",
        "Fix reported races first. Floating-point sums with atomics also depend on the order: sum "
        "in a fixed order where that matters.",
    )


def _unwritten() -> Iterator[Check]:
    for space, repair in (
        ("shared", "Write every word before the barrier that precedes the read; shared memory is "
         "initially undefined."),
        ("tensor-memory", "Write it with `tcgen05.st` or `tcgen05.cp` after `tcgen05.alloc`, or "
         "let the first product take no old value of D."),
        ("local", "Initialise the array or variable on every path."),
        ("global", "Device `malloc` does not clear memory: write it first. Host arrays count as "
         "initialised."),
    ):  # fmt: skip
        yield Check(
            name=f"uninitialised-{space}-read",
            tool="initcheck",
            meaning=f"A read of {space.removesuffix('-memory')} memory that no thread has "
            "written.",
            repair=repair,
        )


def _synchronisation() -> Iterator[Check]:
    def check(name: str, meaning: str, repair: str) -> Check:
        return Check(name=name, tool="synccheck", meaning=meaning, repair=repair)

    yield check(
        "divergent-barrier",
        "Threads of a block reach different barriers, or only some lanes of a warp reach the "
        "barrier.",
        "Move `__syncthreads()` out of the condition, so that every thread reaches the same one.",
    )
    yield check(
        "barrier-deadlock",
        "Threads wait at a barrier for others that have exited or wait elsewhere: deadlock.",
        "All threads of the block that have not exited must reach the barrier.",
    )
    yield check(
        "endless-wait",
        "Threads look at memory again and again for what no thread will write, such as a grid "
        "barrier that only a part of the grid reaches, or a lock that nobody opens. The finding "
        "names every place where threads wait.",
        "Let every thread that is waited for arrive, write the flag or open the lock.",
    )
    yield check(
        "barrier-count-mismatch",
        "A named barrier gets different thread counts, or one that is not a multiple of 32.",
        "Pass the same multiple of 32 at every use.",
    )
    yield check(
        "mask-names-absent-lane",
        "The mask of a warp intrinsic names lanes that never execute it.",
        "Compute the mask before the branch with `__ballot_sync`, or let those lanes execute it.",
    )
    yield check(
        "mask-without-caller",
        "A lane executes a warp intrinsic whose mask does not name it.",
        "Add the lane to the mask, or exclude it with a branch.",
    )
    yield check(
        "differing-masks",
        "Lanes that converge at a warp intrinsic pass different masks.",
        "Pass the same mask in all participating lanes.",
    )
    yield check(
        "shuffle-from-inactive-lane",
        "A shuffle reads from an inactive lane: the value is undefined.",
        "Let the source lane execute the shuffle, or do not use the value.",
    )
    yield check(
        "uninitialised-mbarrier",
        "An arrival at an mbarrier that is still zero.",
        "Initialise it in one thread (`mbarrier.init`, `init(&barrier, count)`), then "
        "`__syncthreads()`, before any thread arrives.",
    )
    yield check(
        "missing-wgmma-fence",
        "A product of a warpgroup (wgmma) with no `wgmma.fence` before it, or with registers that "
        "other instructions have written since. PTX leaves undefined what it then reads; the "
        "assembler of CUDA 13 repairs it, at the price of products that wait for each other.",
        "Execute `wgmma.fence` (`warpgroup_arrive()`) before the first product of each group and "
        "after writing registers of D or A.",
    )
    yield check(
        "missing-wgmma-wait",
        "Registers of a product of a warpgroup (wgmma) are read before it has been waited for. "
        "PTX leaves undefined what is there; the assembler of CUDA 13 repairs it, at the price of "
        "products that wait for each other.",
        "Close the group (`wgmma.commit_group`) and wait (`wgmma.wait_group`) before D is read, or "
        "A's registers are written.",
    )


CHECKS: dict[str, Check] = {
    one.name: one for one in (*_memory(), *_races(), *_unwritten(), *_synchronisation())
}
