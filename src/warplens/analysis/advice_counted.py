"""Rules whose condition is counted: they hold on any hardware that runs the same machine code."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, prod

import numpy as np

from warplens.analysis.advice import Context, Finding, rule
from warplens.analysis.local_slice import local_instructions
from warplens.sass.model import Reg
from warplens.wording import count, number, percent

_MANY_UPDATES = 16  # of a word by atomics
_FEW = 0.10  # a cause behind less than this share of what is counted is not worth a word


_NEAR = 1.6  # sectors over the ideal up to which an access is misaligned rather than scattered


@rule("UncoalescedGlobalAccess", section="SourceCounters", title="Uncoalesced global accesses")
def uncoalesced_global_access(c: Context) -> Iterator[Finding]:
    """A warp's lanes touch many more 32-byte sectors than their bytes would fill."""
    cure = (
        "Let neighbouring threads access neighbouring addresses; where the data layout forbids "
        "it, stage a tile in shared memory; prefer a structure of arrays to an array of "
        "structures."
    )
    yield from _excess(c, cure, is_near=False)


@rule("ExcessiveSectors", section="SourceCounters", title="Misaligned global accesses")
def excessive_sectors(c: Context) -> Iterator[Finding]:
    """Contiguous accesses touch more sectors than their bytes would fill: they are misaligned."""
    cure = (
        "The access does not start on a sector boundary, or the lanes leave gaps: align rows and "
        "start offsets to 32 bytes (pad the pitch of a 2-D array), and store together what is "
        "read together."
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
        f"({percent(excess / total)}) are excessive. Most are at {place.told}: a warp's {what} "
        f"({place.sass}) touches {sectors[place.index] / requests:.1f} sectors, its bytes fill "
        f"{ideal[place.index] / requests:.1f}. {cure}",
        percent=100 * excess / total,
        resource="coalescing",
        place=place,
    )


@rule("UncoalescedSharedAccess", section="SourceCounters", title="Shared memory bank conflicts")
def uncoalesced_shared_access(c: Context) -> Iterator[Finding]:
    """A warp's lanes access different words of one bank, which costs extra wavefronts."""
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
        text=f"{excess:,.0f} of {total:,.0f} shared memory wavefronts ({percent(excess / total)}) "
        f"are due to bank conflicts. Most are at {place.told}: {place.sass} needs "
        f"{count(round(passes, 1), 'wavefront')} per request. Pad the rows of the array by one "
        "word ([32][33] for [32][32]), swap the indices, or swizzle: XOR the column with the row.",
        percent=100 * excess / total,
        resource="banks",
        place=place,
    )


@rule("ThreadDivergence", section="WarpStateStats", title="Divergent or idle lanes")
def thread_divergence(c: Context) -> Iterator[Finding]:
    """Instructions execute with few of a warp's 32 threads."""
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
        return  # partial warps: the rule about block sizes speaks of them
    divergent = c.column("branch_divergent")
    lost = 32 * c.executed - c.column("thread_inst_executed_true")
    place = c.worst(divergent) if divergent.sum() else c.worst(lost)
    assert place is not None
    cause = (
        f"branches diverge, mostly at {place.told} ({place.sass})"
        if divergent.sum()
        else f"threads are predicated off, mostly at {place.told} ({place.sass})"
    )
    yield Finding(
        text=f"Of a warp's 32 threads, {active:.1f} are active and {on:.1f} predicated on per "
        f"instruction on average; {cause}. Let the condition depend on the warp rather than on the "
        "lane (let threads with consecutive indices work), sort or group the work by its path, or "
        "replace the branches by one computation for all.",
        percent=100 * (1 - min(active, on) / 32),
        resource="divergence",
        place=place,
    )


@rule("LaunchConfiguration", section="LaunchStats", title="Block size")
def block_size(c: Context) -> Iterator[Finding]:
    """The last warp of each block is partly empty."""
    threads = prod(c.execution.block)
    rest = threads % 32
    if not rest:
        return
    warps = ceil(threads / 32)
    percent, basis = c.of_running((1 - rest / 32) / warps)
    yield Finding(
        text=f"The block size of {threads:,} is not a multiple of 32: the last warp has "
        f"{count(rest, 'thread')}, and {count(32 - rest, 'lane')} idle in each of its "
        f"instructions. Use a multiple of 32, such as {32 * warps:,}.",
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
        text=f"The grid of {count(blocks, 'block')} leaves {n_sm - blocks} of {n_sm} SMs idle. "
        "Give each thread less work, split the problem along another dimension (a reduction can be "
        "done in parts that are added up later), or run several kernels concurrently.",
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
        text=f"The grid runs in {count(whole, 'full wave')} and a partial wave of {percent(part)}, "
        "which leaves SMs idle. Choose the grid so that the last wave is nearly full, use smaller "
        "blocks, or launch a fixed number of blocks that loop over the data (grid-stride loop).",
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
            f"a block uses {c.kernel.static_shared + c.execution.dynamic_shared:,} bytes: use "
            "smaller tiles, keep a part in registers, or let a larger block share one tile",
        ),
        "block size": (c.sources.occupancy.limit_warps, "choose a size that fills the warp slots"),
        "blocks per SM": (c.sources.occupancy.limit_blocks, "use larger blocks"),
    }
    least = min(int(limit) for limit, _ in limits.values())
    causes = [(name, cure) for name, (limit, cure) in limits.items() if int(limit) == least]
    others = [int(limit) for limit, _ in limits.values() if int(limit) > least]
    busy = c.number("smsp__issue_active.avg.per_cycle_active")
    is_low = share < 0.5 and (busy is None or busy < 0.6)
    yield Finding(
        tag="OPT" if is_low else "INF",
        text=f"Theoretical occupancy is {percent(share)}: {int(c.sources.occupancy.warps)} of "
        f"{c.gpu.max_warps_per_sm} warps fit on an SM, limited by "
        f"{' and '.join(name for name, _ in causes)}: {causes[0][1]}. More warps hide more "
        "latency, which helps only where warps stall.",
        percent=100 * (1 - share) if is_low else None,
        blocks=min(others, default=0),
    )


def _register_cure(c: Context) -> str:
    return (
        f"a thread uses {count(c.kernel.registers, 'register')}: cap them with __launch_bounds__ "
        "or -maxrregcount (watch for spills), shorten live ranges, unroll less"
    )


@rule("HighFp64", section="ComputeWorkloadAnalysis", title="Double precision on a slow pipe")
def slow_fp64(c: Context) -> Iterator[Finding]:
    """The GPU's FP64 rate is a small fraction of its FP32 rate."""
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
        text=f"The FP64 pipe executes {count(int(fp64.sum()), 'warp instruction')}, most at "
        f"{place.told} ({place.sass}); {c.gpu.name} has {lanes} FP64 lanes per SM, but {single} "
        "for FP32. Look for constants without an f suffix (1.0 makes the whole expression double) "
        "and for double functions (sqrt for sqrtf); sum in float with compensation where that is "
        "accurate enough.",
        percent=100 * gain,
        kind="global",
        resource="fp64",
        place=place,
    )


@rule("FPInstructions", section="InstructionStats", title="Multiplications and additions not fused")
def not_fused(c: Context) -> Iterator[Finding]:
    """A multiplication and the addition of its product are two instructions instead of one."""
    for name, opcodes in (("FP32", ("FADD", "FMUL", "FFMA")), ("FP64", ("DADD", "DMUL", "DFMA"))):
        places = _fusable(c, opcodes[0], opcodes[1])
        every = float((c.executed * c.mask("opcode", *opcodes)).sum())
        n = float(places.sum())
        place = c.worst(places)
        if place is None or n < _FEW * every:
            continue
        yield Finding(
            text=f"{count(n, f'{name} addition')} of a product could be fused with the "
            f"multiplication; the pairs are {percent(2 * n / every)} of the {name} instructions, "
            f"most at {place.told}. Fused, a pair is one instruction and rounds once: compile "
            "without -fmad=false, or write fmaf(a, b, c) where intrinsics keep them apart.",
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
    """Private data of threads is in local memory instead of registers."""
    sectors = c.column("local_sectors")
    total = float(sectors.sum() + c.column("global_sectors").sum())
    place = c.worst(sectors)
    if place is None or sectors.sum() < _FEW * total:
        return
    yield Finding(
        text=f"{int(sectors.sum()):,} of {total:,.0f} sectors "
        f"({percent(float(sectors.sum()) / total)}) are local memory, {c.kernel.local_bytes:,} "
        f"bytes per thread; most at {place.told} ({place.sass}). Either registers are spilled "
        "(raise the limit of __launch_bounds__ or -maxrregcount, or keep fewer values live) or an "
        "array is indexed with a value unknown at compile time (unroll the loop, or move the array "
        "to shared memory).",
        percent=100 * float(sectors.sum()) / total,
        drops=local_instructions(c.kernel, c.mask("space", "local")),
        place=place,
    )


@rule("AtomicContention", section="MemoryWorkloadAnalysis", title="Atomics on one address")
def atomic_contention(c: Context) -> Iterator[Finding]:
    """Atomics of many threads to one global address are serialised."""
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
        told = f"a request has {lanes / n:.0f} lanes and touches {sectors / n:.1f} sectors"
    else:
        from warplens.timing.causes import updates_per_word

        per_word = updates_per_word(c.model)
        if per_word < _MANY_UPDATES:
            return
        told = f"the sampled blocks update the same word {per_word:,.0f} times or more"
    yield Finding(
        text=f"{count(lanes, 'atomic lane-operation')} "
        f"({number(lanes / max(1, c.execution.warps))} per warp), most at {place.told} "
        f"({place.sass}); {told}, and L2 serialises atomics to one address. Reduce within the warp "
        "first (__reduce_add_sync or shuffles), then within the block in shared memory, and issue "
        "one atomic per block; privatise histograms in shared memory.",
        drops=tuple(np.flatnonzero(atomic & (c.executed > 0)).tolist()),
        least=25.0,
        place=place,
    )


@rule("SharedMemoryUnused", section="Occupancy", title="Unused shared memory")
def unused_shared(c: Context) -> Iterator[Finding]:
    """The launch reserves dynamic shared memory that no instruction accesses."""
    if c.execution.dynamic_shared < 1024 or c.column("shared_requests").sum():
        return
    if c.mask("space", "shared", "generic").any():
        return
    held = c.sources.occupancy
    others = min(int(held.limit_registers), int(held.limit_warps), int(held.limit_blocks))
    yield Finding(
        text=f"Each block reserves {count(c.execution.dynamic_shared, 'byte')} of dynamic shared "
        "memory that the kernel never accesses. They shrink L1 and can limit occupancy: launch "
        "with less.",
        blocks=others,
    )
