"""Explains native records: each becomes a finding with its title, details and advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.execute.launch import LaunchConfig
from warplens.execute.memory import DeviceMemory
from warplens.isa.tensor_memory import has_tensor_memory
from warplens.lift import layout as at
from warplens.sanitize import state as st
from warplens.sanitize.advice import COPIES, race_advice
from warplens.sanitize.finding import Access, Finding
from warplens.sanitize.polling import polling_loads
from warplens.sanitize.ptx import SharedArray, Sites, callers_of
from warplens.sanitize.tables import lent_shared, reserved_shared
from warplens.sass.model import Instruction, SassKernel
from warplens.wording import count

Record = npt.NDArray[np.int64]
_SPACES = {at.SPACE_GLOBAL: "global", at.SPACE_SHARED: "shared", at.SPACE_LOCAL: "local",
           st.SPACE_CELLS: "tensor-memory"}  # fmt: skip
_WINDOWS = {
    at.SHARED_WINDOW_HIGH: "shared", at.LOCAL_WINDOW_HIGH: "local", at.CODE_WINDOW_HIGH: "code",
}  # fmt: skip


def kind_of(inst: Instruction) -> str:
    """What an instruction does to memory."""
    if inst.opcode in COPIES:
        return COPIES[inst.opcode]
    if inst.opcode == "UTCATOMSWS":
        return "deallocation"
    is_mbarrier = inst.opcode in ("SYNCS", "ARRIVES", "UTCBAR") and "EXCH" not in inst.modifiers
    if is_mbarrier or inst.opcode.startswith(("ATOM", "RED", "SURED")):
        return "atomic"
    return "write" if inst.opcode.startswith(("ST", "SYNCS", "SUST")) else "read"


@dataclass(slots=True)
class Explainer:
    """Knows the kernel and the launch that records are about."""

    kernel: SassKernel
    config: LaunchConfig
    memory: DeviceMemory
    arrays: Sequence[SharedArray]
    mode: int
    sites: Sites
    _polls: bool | None = None

    @property
    def polls(self) -> bool:
        """Whether the kernel has loops that wait for a flag or lock."""
        if self._polls is None:
            self._polls = bool(polling_loads(self.kernel))
        return self._polls

    def finding(self, record: Record) -> Finding | None:
        """The finding of a record."""
        return _EXPLAINED[int(record[st.R_CHECK])](self, record)

    # --- parts -----------------------------------------------------------------------------------

    def thread(self, number: int) -> tuple[int, int, int]:
        """x, y, z of a thread of a block."""
        bx, by, _ = self.config.block
        return number % bx, number // bx % by, number // (bx * by)

    def block(self, number: int) -> tuple[int, int, int]:
        """x, y, z of a block of the grid."""
        gx, gy, _ = self.config.grid
        return number % gx, number // gx % gy, number // (gx * gy)

    def access(self, inst: int, what: str, thread: int | None, block: int) -> Access:
        """One access, for messages."""
        found = self.kernel.instructions[inst]
        return Access(
            what=what,
            kernel=self.kernel.demangled or self.kernel.name,
            offset=found.address,
            sass=found.text.strip(),
            file=found.file,
            line=found.line,
            callers=callers_of(found, self.sites),
            thread=None if thread is None else self.thread(thread),
            block=self.block(block),
        )

    def shared_name(self, offset: int) -> tuple[str, str]:
        """The shared array at an address and the place in it, as far as known."""
        for array in self.arrays:
            size = array.size or self.config.dynamic_shared
            if array.offset <= offset < array.offset + size:
                return array.name, (
                    f"byte {offset - array.offset:,} of {array.name}[] ({count(size, 'byte')})"
                )
        return "", ""

    def near_shared(self, offset: int) -> str:
        """The shared array nearest to an invalid address."""
        best: tuple[int, str] | None = None
        for array in self.arrays:
            size = array.size or self.config.dynamic_shared
            end = array.offset + size
            if offset >= end:
                distance, words = offset - end, "after the end of"
            else:
                distance, words = array.offset - offset, "before"
            text = (
                f"{count(distance, 'byte')} {words} {array.name}[] ({count(size, 'byte')})"
            )
            if best is None or distance < best[0]:
                best = (distance, text)
        if best is not None:
            return best[1]
        return "outside the block's shared memory"

    def target(self, space: str, base: int, offset: int) -> tuple[str, str]:
        """Name of the array, and a line that says where in it the address lies."""
        if space == "shared":
            name, text = self.shared_name(offset)
            return name, text or f"offset {offset:#x} of shared memory"
        if space == "tensor-memory":
            return "", f"lane {offset >> 16}, column {offset & 0xFFFF} of tensor memory"
        if space == "local":
            return "", f"offset {offset:#x} of local memory"
        segment = self.memory.find(base)
        if segment is None:
            return "", ""
        return segment.name, f"byte {offset:,} of {segment.name} ({count(segment.size, 'byte')})"


# --- memcheck -------------------------------------------------------------------------------------


def _bad_access(e: Explainer, record: Record) -> Finding | None:
    space = _SPACES[int(record[st.R_SPACE])]
    inst = int(record[st.R_FIRST])
    what = kind_of(e.kernel.instructions[inst])
    address, size = int(record[st.R_BASE]) & (1 << 64) - 1, int(record[st.R_SIZE])
    check, reason = _reason(e, record, space, address)
    access = e.access(inst, what, int(record[st.R_SECOND_THREAD]), int(record[st.R_SECOND_BLOCK]))
    return Finding(
        tool="memcheck",
        check=check,
        severity="error",
        title=f"Invalid __{space}__ {what} of size {count(size, 'byte')}",
        details=(
            f"at {access.where}", f"by {access.by}", f"Access to {address:#x}: {reason}",
            *_times(record, "access"), f"SASS: {access.sass}",
        ),
        accesses=(access,),
        space=space,
        address=address,
        size=size,
        count=int(record[st.R_COUNT]),
    )  # fmt: skip


def _reason(e: Explainer, record: Record, space: str, address: int) -> tuple[str, str]:
    code, size = int(record[st.R_CHECK]), int(record[st.R_SIZE])
    if code == st.C_MISALIGNED:
        return "misaligned-access", f"not a multiple of {size}"
    if code == st.C_READ_ONLY:
        return "write-to-read-only", f"{e.memory.describe(address)}; it is read-only"
    if space == "shared":
        return "out-of-bounds", e.near_shared(address)
    if space == "local":
        signed = address - (1 << 32) if address >= 1 << 31 else address
        return "stack-overflow" if e.kernel.uses_recursion else "out-of-bounds", (
            f"offset {signed:,}; the thread has "
            f"{count(e.kernel.local_bytes or e.kernel.frame_bytes, 'byte')} of local memory"
        )
    window = _WINDOWS.get(address >> 32)
    if window is not None:
        return "wrong-space", f"in the {window} window, not in global memory"
    first = reserved_shared(e.kernel)
    if first and first <= address < first + e.kernel.static_shared + e.config.dynamic_shared:
        return "wrong-space", "a 32-bit address of shared memory, used as a pointer"
    near = e.memory.describe(address)
    return "use-after-free" if near.endswith("was already freed") else "out-of-bounds", near


# --- racecheck ------------------------------------------------------------------------------------

_REACH = {0: "different blocks", 1: "different warps of the block", 2: "the same warp"}


def _race(e: Explainer, record: Record) -> Finding | None:
    space = _SPACES[int(record[st.R_SPACE])]
    if space == "shared" and has_tensor_memory(e.kernel) and (
        int(record[st.R_OFFSET]) & 0xFFFFFF < lent_shared(e.kernel)
    ):
        return None  # the books of tensor memory are the compiler's
    reach = int(record[st.R_EXTRA]) >> 2
    first, second = int(record[st.R_FIRST]), int(record[st.R_SECOND])
    writes = bool(record[st.R_FIRST_KIND]) and bool(record[st.R_SECOND_KIND])
    same = int(record[st.R_CHECK]) == st.C_SAME_VALUE
    check = f"{space}-{'write' if writes else 'read-write'}-race"
    accesses = (
        e.access(second, kind_of(e.kernel.instructions[second]), int(record[st.R_SECOND_THREAD]),
                 int(record[st.R_SECOND_BLOCK])),
        e.access(first, kind_of(e.kernel.instructions[first]), int(record[st.R_FIRST_THREAD]),
                 int(record[st.R_FIRST_BLOCK])),
    )  # fmt: skip
    severity = "error"
    advice, missing = race_advice(
        e.kernel, first, second, reach, space, one_step=bool(record[st.R_EXTRA2]), polls=e.polls
    )
    if int(record[st.R_CHECK]) == st.C_SCOPE:
        check, advice = "narrow-scope-atomic", (
            "One of the atomics has block scope: use a scope that includes both threads."
        )
    elif int(record[st.R_CHECK]) == st.C_PROXY:
        check, advice = "missing-proxy-fence", (
            "Bulk copies and products may not see the store: fence.proxy.async "
            "(cde::fence_proxy_async_shared_cta) is missing between it and the barrier."
        )
    elif int(record[st.R_CHECK]) == st.C_VOLATILE:
        check, severity = "racy-volatile-access", "error" if missing else "warning"
        if not missing:
            advice = ("volatile makes an access neither atomic nor ordered: use cuda::atomic_ref "
                      f"or an atomic function. {advice}")
    elif _is_retried(e.kernel.instructions[first], e.kernel.instructions[second]):
        check, severity = f"{space}-read-beside-compare-and-swap", "info"
        advice = "A plain read beside a compare-and-swap loop, which checks the value again."
    elif same:
        check, severity = f"{space}-same-value-write", "info"
        advice = "All threads store the same value: harmless as far as observed."
    base, offset = int(record[st.R_BASE]), int(record[st.R_OFFSET])
    target, place = e.target(space, base, offset)
    return Finding(
        tool="racecheck",
        check=check,
        severity=severity,
        title=f"Race reported between {accesses[1].what.capitalize()} access at "
              f"{accesses[1].where}",
        details=(
            f"and {accesses[0].what.capitalize()} access at {accesses[0].where} "
            f"[{count(int(record[st.R_COUNT]), 'hazard')}]",
            f"{accesses[1].what} by {accesses[1].by}: {accesses[1].sass}",
            f"{accesses[0].what} by {accesses[0].by}: {accesses[0].sass}",
            f"between {_REACH[reach]}, __{space}__ {base + offset:#x}: {place}",
        ),
        accesses=accesses,
        space=space,
        address=base + offset,
        size=int(record[st.R_SIZE]),
        target=target,
        count=int(record[st.R_COUNT]),
        advice=advice,
        reach=2 - reach,
    )  # fmt: skip


def _is_retried(first: Instruction, second: Instruction) -> bool:
    """A plain read races with a compare-and-swap only: the common way to start its loop."""
    kinds = {kind_of(first), kind_of(second)}
    swap = next((i for i in (first, second) if kind_of(i) == "atomic"), None)
    return kinds == {"read", "atomic"} and swap is not None and "CAS" in swap.modifiers


# --- initcheck ------------------------------------------------------------------------------------


def _uninitialised(e: Explainer, record: Record) -> Finding | None:
    space = _SPACES[int(record[st.R_SPACE])]
    inst = int(record[st.R_FIRST])
    access = e.access(inst, kind_of(e.kernel.instructions[inst]),
                      int(record[st.R_SECOND_THREAD]), int(record[st.R_SECOND_BLOCK]))  # fmt: skip
    base, offset = int(record[st.R_BASE]), int(record[st.R_OFFSET])
    target, place = e.target(space, base, offset)
    return Finding(
        tool="initcheck",
        check=f"uninitialised-{space}-read",
        severity="error",
        title=f"Uninitialized __{space}__ memory read of size "
              f"{count(int(record[st.R_SIZE]), 'byte')}",
        details=(
            f"at {access.where}", f"by {access.by}", f"Address {base + offset:#x}: {place}",
            *_times(record, "read"), f"SASS: {access.sass}",
        ),
        accesses=(access,),
        space=space,
        address=base + offset,
        size=int(record[st.R_SIZE]),
        target=target,
        count=int(record[st.R_COUNT]),
        advice="No thread writes it before this read.",
    )  # fmt: skip


def _times(record: Record, what: str) -> tuple[str, ...]:
    times = int(record[st.R_COUNT])
    plural = f"such {what}es" if what == "access" else ""
    return (f"first of {count(times, f'such {what}', plural)}",) if times > 1 else ()


# --- synccheck ------------------------------------------------------------------------------------


def _sync(check: str, title: str, say: Callable[[Record], str]) -> Callable[
    [Explainer, Record], Finding | None
]:  # fmt: skip
    """An explanation of a synchronisation record."""

    def explain(e: Explainer, record: Record) -> Finding | None:
        first, second = int(record[st.R_FIRST]), int(record[st.R_SECOND])
        caller = int(record[st.R_EXTRA2])
        if check in _MASK_CHECKS and caller and _is_internal(e.kernel, second):
            first = second = caller - 1
        warp, lanes = int(record[st.R_SECOND_THREAD]) >> 5, int(record[st.R_MASK])
        block = int(record[st.R_SECOND_BLOCK])
        access = e.access(second, "synchronisation", int(record[st.R_SECOND_THREAD]), block)
        accesses = [access]
        details = [f"at {access.where}", f"by {access.by}", f"warp {warp}, lanes {lanes:#010x}"]
        if first != second:
            other = e.access(first, "synchronisation", None, block)
            accesses.append(other)
            details.append(f"other threads are at {other.where}")
        return Finding(
            tool="synccheck",
            check=check,
            severity="error",
            title=title,
            details=(*details, f"SASS: {access.sass}"),
            accesses=tuple(accesses),
            count=int(record[st.R_COUNT]),
            advice=say(record),
        )

    return explain


def _ended(e: Explainer, record: Record) -> Finding | None:
    """Threads ended without having reached a barrier at which others were."""
    first, second = int(record[st.R_FIRST]), int(record[st.R_SECOND])
    block, warp = int(record[st.R_SECOND_BLOCK]), int(record[st.R_SECOND_THREAD]) >> 5
    there = e.access(second, "synchronisation", int(record[st.R_SECOND_THREAD]), block)
    ended = e.access(first, "end", None, block)
    lanes = int(record[st.R_EXTRA2])
    return Finding(
        tool="synccheck",
        check="divergent-barrier",
        severity="error",
        title="Barrier error detected. Divergent thread(s) in block.",
        details=(
            f"at {there.where}", f"by warp {warp} in block {there.block}",
            f"warp {int(record[st.R_OFFSET])}, lanes {lanes:#010x} ended at {ended.where}",
            f"SASS: {there.sass}",
        ),
        accesses=(there, ended),
        count=int(record[st.R_COUNT]),
        advice="Threads exited without reaching this barrier: move it out of the condition or "
               "the loop.",
    )  # fmt: skip


_MASK_CHECKS = frozenset({
    "mask-without-caller", "differing-masks", "mask-names-absent-lane",
    "shuffle-from-inactive-lane",
})  # fmt: skip


def _is_internal(kernel: SassKernel, inst: int) -> bool:
    """Whether an instruction belongs to a function that the compiler placed after the kernel."""
    address = kernel.instructions[inst].address
    starts = [start for start in kernel.functions if start]
    return any(start <= address for start in starts)


_EXPLAINED: dict[int, Callable[[Explainer, Record], Finding | None]] = {
    st.C_RACE: _race,
    st.C_SAME_VALUE: _race,
    st.C_SCOPE: _race,
    st.C_VOLATILE: _race,
    st.C_PROXY: _race,
    st.C_UNINITIALISED: _uninitialised,
    st.C_OUT_OF_BOUNDS: _bad_access,
    st.C_MISALIGNED: _bad_access,
    st.C_READ_ONLY: _bad_access,
    st.C_DIVERGENT_BARRIER: _sync(
        "divergent-barrier", "Barrier error detected. Divergent thread(s) in warp.",
        lambda r: "Lanes of a warp reach different barriers: move the barrier out of the "
                  "condition.",
    ),
    st.C_BARRIER_LINES: _sync(
        "divergent-barrier", "Barrier error detected. Divergent thread(s) in block.",
        lambda r: "Warps of the block reach different barriers: all threads must reach the same "
                  "__syncthreads().",
    ),
    st.C_BARRIER_ENDED: _ended,
    st.C_BARRIER_COUNT: _sync(
        "barrier-count-mismatch", "Barrier error detected. Wrong thread count.",
        lambda r: f"The thread count is {int(r[st.R_OFFSET])} here, {int(r[st.R_EXTRA2])} at the "
                  "first arrival."
        if int(r[st.R_OFFSET]) != int(r[st.R_EXTRA2])
        else f"The thread count {int(r[st.R_OFFSET])} is not a multiple of 32.",
    ),
    st.C_MASK_WITHOUT_CALLER: _sync(
        "mask-without-caller", "Invalid mask of a warp intrinsic.",
        lambda r: f"The mask {int(r[st.R_OFFSET]):#010x} does not name all lanes that execute the "
                  "intrinsic.",
    ),
    st.C_MASK_DIFFERS: _sync(
        "differing-masks", "Invalid mask of a warp intrinsic.",
        lambda r: f"Lanes that converge here pass masks other than {int(r[st.R_OFFSET]):#010x}.",
    ),
    st.C_MASK_NAMES_ENDED: _sync(
        "mask-names-absent-lane", "Invalid mask of a warp intrinsic.",
        lambda r: f"The mask {int(r[st.R_OFFSET]):#010x} names lanes that exit without reaching "
                  "it.",
    ),
    st.C_GROUP_ENDED: _sync(
        "mask-names-absent-lane", "Collective operation of a group whose members have exited.",
        lambda r: f"Lanes {int(r[st.R_OFFSET]):#010x} of the group have returned: all members must "
                  "take part, so let them return later, or make the group of those that are left.",
    ),
    st.C_MBARRIER: _sync(
        "uninitialised-mbarrier", "Barrier error detected. Arrival at an uninitialised "
        "mbarrier.",
        lambda r: f"The word at shared offset {int(r[st.R_OFFSET]):#x} is zero: mbarrier.init (or "
                  "the constructor of cuda::barrier) was not executed, or no __syncthreads() "
                  "follows it.",
    ),
    st.C_INACTIVE_SOURCE: _sync(
        "shuffle-from-inactive-lane", "Shuffle from an inactive lane.",
        lambda r: f"Lane {int(r[st.R_OFFSET])} does not execute the shuffle: its value is "
                  "undefined.",
    ),
}  # fmt: skip
