"""Rules whose condition is counted: they hold on any hardware that runs the same machine code."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, prod

import numpy as np

from warplens.analysis.advice import Context, Finding, rule
from warplens.analysis.local_slice import local_instructions
from warplens.sass.model import Reg

_MANY_UPDATES = 16  # of a word by atomics
_FEW = 0.10  # a cause behind less than this share of what is counted is not worth a word


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


_NEAR = 1.6  # sectors over the ideal up to which an access is misaligned rather than scattered


@rule("UncoalescedGlobalAccess", section="SourceCounters", title="Uncoalesced global accesses")
def uncoalesced_global_access(c: Context) -> Iterator[Finding]:
    """Lanes of a warp touch many more 32-byte sectors than their bytes fill."""
    cure = (
        "Let neighbouring threads touch neighbouring addresses; where the order of the data "
        "forbids it, pass a tile through shared memory; prefer arrays of members over arrays of "
        "structures."
    )
    yield from _excess(c, cure, is_near=False)


@rule("ExcessiveSectors", section="SourceCounters", title="Misaligned global accesses")
def excessive_sectors(c: Context) -> Iterator[Finding]:
    """Accesses in order touch sectors beyond those that their bytes fill: they are misaligned."""
    cure = (
        "Its first byte does not lie on a sector boundary, or the lanes leave gaps: align rows "
        "and start offsets to 32 bytes (pad the pitch of a 2-D array), and keep what is read "
        "together side by side."
    )
    yield from _excess(c, cure, is_near=True)


def _excess(c: Context, cure: str, *, is_near: bool) -> Iterator[Finding]:
    total = c.count("memory_l2_theoretical_sectors_global")
    sectors, ideal = c.column("global_sectors"), c.column("global_sectors_ideal")
    near = sectors <= _NEAR * ideal + 0.01
    excess_each = np.maximum(sectors - ideal, 0) * (near if is_near else ~near)
    excess = float(excess_each.sum())
    place = c.worst(excess_each)
    if place is None or excess < _FEW * total:
        return
    requests = max(1, c.column("global_requests")[place.index])
    what = "store" if c.mask("op", "st")[place.index] else "access"
    what = "load" if c.mask("op", "ld")[place.index] else what
    yield Finding(
        text=f"{excess:,.0f} of {total:,.0f} sectors of global accesses "
        f"({_percent(excess / total)}) hold nothing that the threads asked for. "
        f"Most come from {place.told}: a warp's {what} ({place.sass}) touches "
        f"{sectors[place.index] / requests:.1f} sectors where its bytes fill "
        f"{ideal[place.index] / requests:.1f}. {cure}",
        percent=100 * excess / total,
        resource="coalescing",
        place=place,
    )


@rule("UncoalescedSharedAccess", section="SourceCounters", title="Shared memory bank conflicts")
def uncoalesced_shared_access(c: Context) -> Iterator[Finding]:
    """Lanes of a warp need different words of one bank, so an access takes several passes."""
    total = float(c.column("shared_wavefronts").sum())
    excess_each = c.column("shared_wavefronts") - c.column("shared_wavefronts_ideal")
    excess = float(excess_each.sum())
    place = c.worst(np.maximum(excess_each, 0))
    if place is None or excess < _FEW * total:
        return
    passes = c.column("shared_wavefronts")[place.index] / max(
        1, c.column("shared_requests")[place.index]
    )
    yield Finding(
        text=f"{excess:,.0f} of {total:,.0f} passes through shared memory "
        f"({_percent(excess / total)}) are repeats because lanes meet in one bank. Most come from "
        f"{place.told}: {place.sass} takes {passes:.1f} passes. Pad the rows of the array by one "
        "word ([32][33] for [32][32]), exchange the roles of the indices, or permute the columns "
        "with an exclusive or of the row.",
        percent=100 * excess / total,
        resource="banks",
        place=place,
    )


@rule("ThreadDivergence", section="WarpStateStats", title="Divergent or idle lanes")
def thread_divergence(c: Context) -> Iterator[Finding]:
    """Instructions run with few of a warp's 32 lanes."""
    inst = c.count("smsp__inst_executed.sum")
    if not inst:
        return
    active = c.count("smsp__thread_inst_executed_per_inst_executed.ratio")
    on = c.count("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")
    if min(active, on) >= 24:
        return
    threads = prod(c.execution.block)
    full = min(32.0, threads / ceil(threads / 32))
    if active >= 0.75 * full and on >= 0.75 * full:
        return  # partial warps: the block size rule tells
    divergent = c.column("branch_divergent")
    lost = 32 * c.executed - c.column("thread_inst_executed_true")
    place = c.worst(divergent) if divergent.sum() else c.worst(lost)
    assert place is not None
    cause = (
        f"the threads of a warp part at {place.told} ({place.sass})"
        if divergent.sum()
        else f"guards switch lanes off, most at {place.told} ({place.sass})"
    )
    yield Finding(
        text=f"On average {active:.1f} of 32 lanes take part in an instruction and {on:.1f} have a "
        f"true guard: {cause}. Let the condition depend on the warp rather than on the lane (dense "
        "thread numbers first), sort or group the work by its path, or make both paths one "
        "computation.",
        percent=100 * (1 - min(active, on) / 32),
        resource="divergence",
        place=place,
    )


@rule("LaunchConfiguration", section="LaunchStats", title="Block size")
def block_size(c: Context) -> Iterator[Finding]:
    """The last warp of every block is not full."""
    threads = prod(c.execution.block)
    rest = threads % 32
    if not rest:
        return
    warps = ceil(threads / 32)
    percent, basis = c.of_running((1 - rest / 32) / warps)
    yield Finding(
        text=f"A block of {threads} threads has a last warp with {rest} of 32 lanes: those lanes "
        f"idle in every instruction. Use a multiple of 32, such as {32 * warps}.",
        percent=percent,
        kind="global",
        basis=basis,
    )


@rule("LaunchConfiguration", section="LaunchStats", title="Small grid")
def small_grid(c: Context) -> Iterator[Finding]:
    """The grid has fewer blocks than the GPU has SMs."""
    blocks, n_sm = c.execution.blocks, c.gpu.sm_count
    if blocks >= n_sm or c.gpu.is_architecture:
        return
    percent, basis = c.of_running((n_sm - blocks) / n_sm)
    yield Finding(
        text=f"The grid has {blocks:,} blocks and the GPU {n_sm} SMs: {n_sm - blocks} SMs get "
        "nothing. Give each thread less work, split the problem along another dimension (a "
        "reduction can be split, its parts added later), or run several kernels at once.",
        percent=percent,
        kind="global",
        basis=basis,
    )


@rule("LaunchConfiguration", section="LaunchStats", title="Tail effect")
def tail_effect(c: Context) -> Iterator[Finding]:
    """The last wave of blocks fills only part of the GPU."""
    waves = c.count("launch__waves_per_multiprocessor")
    whole = floor(waves + 1e-9)
    part = waves - whole
    if whole < 1 or part < 1e-6 or part > 0.9:
        return
    estimate = 100 / (1 + whole) * (1 - part)
    if estimate < 20:
        return
    yield Finding(
        text=f"The grid makes {whole} whole wave{'s' if whole > 1 else ''} of blocks and "
        f"{_percent(part)} of one more; while the last one runs, most of the GPU idles. Choose the "
        "grid so that the last wave is nearly full, use smaller blocks, or let a fixed number of "
        "blocks loop over the data.",
        percent=estimate,
        kind="global",
        resource="tail",
        least=10.0,
    )


@rule("TheoreticalOccupancy", section="Occupancy", title="Theoretical occupancy")
def theoretical_occupancy(c: Context) -> Iterator[Finding]:
    """A resource of the SM limits the resident warps."""
    share = float(c.sources.occupancy.occupancy)
    if share >= 0.8 or c.execution.blocks < c.gpu.sm_count:
        return
    limits = {
        "registers": (c.sources.occupancy.limit_registers, _register_cure(c)),
        "shared memory": (
            c.sources.occupancy.limit_shared,
            f"a block takes {c.kernel.static_shared + c.execution.dynamic_shared:,} bytes: use "
            "smaller tiles, keep part in registers, or a larger block that shares one tile",
        ),
        "block size": (c.sources.occupancy.limit_warps, "other block sizes fill the warp slots"),
        "blocks per SM": (c.sources.occupancy.limit_blocks, "use larger blocks"),
    }
    least = min(int(limit) for limit, _ in limits.values())
    causes = [(name, cure) for name, (limit, cure) in limits.items() if int(limit) == least]
    others = [int(limit) for limit, _ in limits.values() if int(limit) > least]
    busy = c.number("smsp__issue_active.avg.per_cycle_active")
    is_low = share < 0.5 and (busy is None or busy < 0.6)
    yield Finding(
        tag="OPT" if is_low else "INF",
        text=f"An SM holds {int(c.sources.occupancy.warps)} of {c.gpu.max_warps_per_sm} warps "
        f"({_percent(share)}). The limit is {' and '.join(name for name, _ in causes)}: "
        f"{causes[0][1]}. More warps hide more latency; it helps only where warps wait.",
        percent=100 * (1 - share) if is_low else None,
        blocks=min(others, default=0),
    )


def _register_cure(c: Context) -> str:
    return (
        f"a thread takes {c.kernel.registers} registers: cap them with __launch_bounds__ or "
        "-maxrregcount (watch for spills), shorten live ranges, unroll less"
    )


@rule("HighFp64", section="ComputeWorkloadAnalysis", title="Double precision on a slow pipe")
def slow_fp64(c: Context) -> Iterator[Finding]:
    """The GPU runs double precision at a small fraction of single precision."""
    fp64 = c.column("inst_executed") * c.mask("pipe", "fp64")
    lanes, single = c.gpu.fp64_lanes, c.gpu.fp32_lanes
    total = float(c.executed.sum())
    if not lanes or single < 8 * lanes or not fp64.sum():
        return
    slow = float(fp64.sum()) * 32 / lanes
    # What else an SM issues: one warp instruction per cycle and sub-partition.
    rest = (total - float(fp64.sum())) / c.gpu.sub_partitions
    fast = float(fp64.sum()) * 32 / single
    gain = 1 - max(rest + fast, fast) / max(slow, rest)
    if slow < rest or gain < _FEW:
        return
    place = c.worst(fp64)
    assert place is not None
    yield Finding(
        text=f"{fp64.sum():,} warp instructions run in double precision, at {lanes} lanes per SM "
        f"against {single} in single precision on {c.gpu.name}; most at {place.told} "
        f"({place.sass}). Check for constants without an f (1.0 makes the whole expression "
        "double) and functions of double (sqrt for sqrtf); keep sums in float with compensation "
        "where that is accurate enough.",
        percent=100 * gain,
        kind="global",
        resource="fp64",
        place=place,
    )


@rule("FPInstructions", section="InstructionStats", title="Multiplications and additions not fused")
def not_fused(c: Context) -> Iterator[Finding]:
    """A product goes into an addition as two instructions where one would do."""
    for name, opcodes in (("FP32", ("FADD", "FMUL", "FFMA")), ("FP64", ("DADD", "DMUL", "DFMA"))):
        places = _fusable(c, opcodes[0], opcodes[1])
        every = float((c.executed * c.mask("opcode", *opcodes)).sum())
        n = float(places.sum())
        place = c.worst(places)
        if place is None or n < _FEW * every:
            continue
        yield Finding(
            text=f"{n:,.0f} {name} additions take a product that a multiplication of their own "
            f"made ({_percent(2 * n / every)} of the {name} instructions); most at {place.told}. "
            "Fused, each pair is one instruction with one rounding: compile without -fmad=false, "
            "or write fmaf(a, b, c) where intrinsics keep them apart.",
            percent=100 * n / max(every, 1),
            drops=tuple(np.flatnonzero(places).tolist()),
            place=place,
        )


def _fusable(c: Context, add: str, multiply: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Executions of additions with an operand whose last writer is a multiplication."""
    found = np.zeros(len(c.kernel.instructions), np.int64)
    writer: dict[int, str] = {}
    starts = {block.start for block in c.kernel.blocks}
    for index, one in enumerate(c.kernel.instructions):
        if index in starts:
            writer.clear()
        registers = [operand for operand in one.operands if isinstance(operand, Reg)]
        if one.opcode == add and any(writer.get(r.index) == multiply for r in registers[1:]):
            found[index] = c.executed[index]
        if registers:
            # A guarded product only replaces the value in some lanes: nothing to fuse.
            writer[registers[0].index] = one.opcode if one.guard is None else ""
    return found


@rule("LocalMemory", section="MemoryWorkloadAnalysis", title="Local memory: spills, indexed arrays")
def local_memory(c: Context) -> Iterator[Finding]:
    """Threads keep private data in memory instead of registers."""
    sectors = c.column("local_sectors")
    total = float(sectors.sum() + c.column("global_sectors").sum())
    place = c.worst(sectors)
    if place is None or sectors.sum() < _FEW * total:
        return
    yield Finding(
        text=f"{int(sectors.sum()):,} of {total:,.0f} sectors "
        f"({_percent(float(sectors.sum()) / total)}) go to local memory, "
        f"{c.kernel.local_bytes} bytes per thread; most at {place.told} ({place.sass}). Either "
        "registers did not fit (raise the cap of __launch_bounds__ or -maxrregcount, or keep "
        "fewer values alive) or an array is indexed with a value unknown to the compiler (unroll "
        "the loop, or put the array into shared memory).",
        percent=100 * float(sectors.sum()) / total,
        drops=local_instructions(c.kernel, c.mask("space", "local")),
        place=place,
    )


@rule("AtomicContention", section="MemoryWorkloadAnalysis", title="Atomics on one address")
def atomic_contention(c: Context) -> Iterator[Finding]:
    """Many threads update the same global address, one after another."""
    atomic = c.mask("op", "atom", "red") & ~c.mask("space", "shared")
    requests = c.column("global_requests") * atomic
    n = float(requests.sum())
    if not n:
        return
    lanes = float((c.column("thread_inst_executed_true") * atomic).sum())
    place = c.worst(requests)
    assert place is not None
    if c.model is None:
        sectors = (c.column("global_sectors") * atomic).sum()
        shares = sectors < 0.5 * lanes / 8  # words of a sector
        is_single = lanes < 2 * n and n >= 0.9 * c.execution.warps > 7 * c.gpu.sm_count
        if not shares and not is_single:
            return
        told = f"an atomic has {lanes / n:.0f} lanes on {sectors / n:.1f} sectors"
    else:
        from warplens.timing.causes import updates_per_word

        per_word = updates_per_word(c.model)
        if per_word < _MANY_UPDATES:
            return
        told = f"the sampled blocks update a word {per_word:,.0f} times or more"
    yield Finding(
        text=f"{lanes:,.0f} lanes send atomics ({lanes / max(1, c.execution.warps):.1f} a warp), "
        f"most at {place.told} ({place.sass}); {told}: updates of one address wait for each other "
        "in L2. Add up in the warp first (__reduce_add_sync or shuffles), then in the block "
        "through shared memory, and send one atomic per block; give histograms private copies in "
        "shared memory.",
        drops=tuple(np.flatnonzero(atomic & (c.executed > 0)).tolist()),
        least=25.0,
        place=place,
    )


@rule("SharedMemoryUnused", section="Occupancy", title="Shared memory set aside in vain")
def unused_shared(c: Context) -> Iterator[Finding]:
    """A block reserves dynamic shared memory that no instruction touches."""
    if c.execution.dynamic_shared < 1024 or c.column("shared_requests").sum():
        return
    if c.mask("space", "shared", "generic").any():
        return
    held = c.sources.occupancy
    others = min(int(held.limit_registers), int(held.limit_warps), int(held.limit_blocks))
    yield Finding(
        text=f"Each block reserves {c.execution.dynamic_shared:,} bytes of dynamic shared memory "
        "that the kernel never touches. They shrink the L1 cache and can limit the resident "
        "blocks: launch with less.",
        blocks=others,
    )
