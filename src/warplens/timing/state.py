"""What the cycle loop works on: NumPy records, which compile to plain memory accesses.

A record (one warp, the SM, the numbers of the GPU) is passed as one pointer, which keeps the stages
small and quick to compile; what grows with the launch stands in the arrays of `Trace` and `Counts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from warplens.compiled import native

Ints = npt.NDArray[np.signedinteger[Any]]  # of 64 bits, or of 32 where tables are long
Floats = npt.NDArray[np.float64]
Records = npt.NDArray[Any]
Record = Any  # one element of such an array

stage = native  # a stage of the cycle loop is a compiled function over records

# classes of instructions, by what their issue needs
(FIXED, VARIABLE, MEMORY, SHARED, CONSTANT, BLOCK_BARRIER, ARRIVE, EXIT, BRANCH, JOIN, FENCE,
 SLEEP, COPIES, CLUSTER_BARRIER, TEXTURE) = range(15)  # fmt: skip
PIPES = ("alu", "fma", "fp16", "fp64", "xu", "lsu", "adu", "cbu", "uniform", "tensor", "none")
N_SCOREBOARDS = 7  # six in the code, and one of groups of warpgroup products
PRODUCTS = 6
RING = 8  # outstanding releases that DEPBAR can tell apart
N_BARRIERS = 17  # of a block, and the cluster's
OF_CLUSTER = 16
MAX_SUB_PARTITIONS = 8
BANKS = 2  # of the register file
COPIES_HELD = 8  # of bulk and tensor copies, loads and stores each, that wait in their unit
STORES_TAKEN = 2  # stores that have left their queues and wait for the SM's units
INDEXED_HELD = 7  # loads of constants by registers, of a sub-partition
# Lines on their way that loads have found and wait for, each for its own: calibrated on the tuning
# halves of public suites, H200 (512 are too few for wmma_naive's states and products of columns,
# 2,048 too many for these)
PENDING = 1024
BOOKED = 256  # groups of cycles of L1's data path, see data_path.py
MAX_HELD = 32  # memory instructions in a queue
TEXTURES_HELD, TEXTURES_QUEUED = 2, 32  # samples in a sub-partition's queue, and in the units
TEXTURES_KNOWN = 256  # that miss L1, of which it is known when they were done
CLOSE_LINES, RECENT_LINES = 8, 32  # that a sub-partition jumps to soonest (skips_sm90.json)
CODE_LINE = 8  # instructions of 16 bytes
CODE_WAYS = 8  # of the SM's instruction cache: loops of 136 KiB miss half of their lines
# Of its small one (tiles_sm90.json: a loop of 34.6 KiB waits 15 and 17 % of the time; 10 and 12
# with two, 24 and 29 with eight. With two, code of 29 KiB within 55 would drive itself out)
L0_WAYS = 4
# Sets of L1, tags of a set beyond its share, and lines that are never found again of what the
# carve-out leaves (fitted to rows_again_sm90.json and l1_capacity_sm90.json)
L1_SETS, L1_TAGS, L1_TAKEN = 256, 2, 56
L1_LEAST = 1  # lines of a set's share: where little is left of L1 it has fewer sets
OUTSIDE = 2048  # atomics that wait for slices outside the SM
SENT = 64  # lines of stores that are remembered
STORED = 256  # lines that were stored to a moment ago and that loads may have to wait for
# Slices of L2, and lines beside each other in one. Eight neighbouring lines lie in two slices, by
# turns (contention_sm90.json, kept_most_sm90.json: 2, 8, 16 and 32 lines are as fast as 1, 2, 4 and
# 8 slices, but 3 lines a third faster than 2 and 4 lines twice as fast)
SLICES, SLICE_LINES = 32, 2
# Lines of a page of 2 MiB, pages that are held, places by which they are found (of 8 GiB each has
# one of its own)
PAGE_LINES, PAGES_HELD, PAGE_PLACES = 1 << 14, 128, 4096
CAST, CAS = 1, 2  # exchanges of words of shared memory in loops (ATOMS)
WORDS = 8  # of a block, of which the last of these exchanges is known
# Until no other came first; as long as what is there is no better, too; until it has been put back
TRIES, SEEKS, LOCKS, KEEPS = 1, 2, 3, 4
BANK_LINES, BANKS_KNOWN = 1024, 8  # of 64 bytes in a constant bank; banks told apart
CONSTANT_LINES = 32  # of 64 bytes, in sets of CONSTANT_WAYS: of loads, by offsets and by indices
OPERAND_LINES = 6  # of a sub-partition (fitted to constant_walks_sm90.json: 32 warps in step)
CONSTANT_WAYS = 4

# what a warp slot is doing
EMPTY, RUNNING, AT_BARRIER, AT_PHASE = 0, 1, 2, 3
NEVER = 1 << 60

# the numbers of one GPU and launch, in SM cycles and bytes per SM cycle
SPEC = np.dtype([
    ("sub_partitions", "i8"), ("policy", "i8"), ("warps_per_block", "i8"),
    ("resident", "i8"),  # blocks that fit if all their warps live
    ("slots", "i8"),  # blocks that fit if few of their warps do
    ("warp_slots", "i8"),  # of a sub-partition: what it and its registers hold
    ("first_step", "i8"),  # sub-partitions from a block's first warp to the next block's
    ("ideal", "i8"),  # bits of what is made ideal, see ablate.py
    ("agu_interval", "f8"), ("agu_turn", "f8"), ("lsu_interval", "f8"),
    ("queue_entries", "i8"),  # memory instructions of a sub-partition that wait for their addresses
    # memory instructions that wait for the SM's units, per sub-partition; loads and stores in front
    # of L1, accesses to shared memory; of the first, those that go before all others
    ("queue_held", "i8"), ("tags_held", "i8"), ("shared_held", "i8"), ("units_held", "i8"),
    ("special_held", "i8"),  # special functions of a sub-partition that wait for their unit
    ("special_turn", "f8"),  # cycles of the SM's units that a special function takes
    ("address_held", "i8"),  # of its loads of constants and barriers, that wait for theirs
    ("return_interval", "f8"),  # cycles of a pass's way back to its sub-partition
    ("l1_bytes_per_cycle", "f8"), ("l1_partial_line", "f8"), ("l1_hit", "f8"),
    ("l1_pending", "f8"),  # cycles of loads that straddle sectors and wait for all their lines
    ("l1_narrow", "f8"),  # cycles in L1's data at least, of accesses to parts of words
    ("local_missing", "f8"),  # the share of local memory that L2 cannot hold
    ("in_step", "f8"),  # of DRAM's latency, what is left of others' fetches of the same step
    ("l2_hit", "f8"), ("l2_far", "f8"), ("far_share", "i8"),  # of 256 lines: far from the SM
    ("page_cycles", "f8"),  # from one page that is not held to the next; 0: all are
    ("l2_rate", "f8"),  # bytes per cycle of L2's that fall to this SM, read and written
    ("port_rate", "f8"), ("port_write_rate", "f8"),  # bytes per cycle from L2, and to it
    # cycles that SMs are out of step: what one leaves unused of what they share, others use
    ("apart", "f8"), ("apart_root", "f8"),  # and more of them with the root of the time
    ("dram_latency", "f8"), ("dram_rate", "f8"),
    # a written byte's share of the bandwidth against a read one, beside as many reads and alone
    ("dram_write_cost", "f8"), ("dram_write_alone", "f8"),
    ("dram_write_share", "f8"),  # part of newly written sectors that reach DRAM in time
    ("fill_share", "f8"),  # of sectors left incomplete, those that are read and written back
    ("changed_share", "f8"),  # the same of those that need not be completed first
    ("added_back", "f8"),  # sectors written back for each that an atomic changes
    ("dram_backlog", "f8"),  # cycles of writing that L2 puts off in favour of reads
    ("dram_queue", "f8"),  # cycles of waiting at half load, growing as u / (1 - u)
    ("dram_write_wait", "f8"),  # cycles of waiting for each share of the time taken by writes
    ("dram_crowd", "f8"),  # cycles that every read takes longer where the chip reads a lot
    ("dram_spread", "f8"),  # cycles from the shortest latency to the mean
    ("dram_read_piece", "f8"), ("dram_write_piece", "f8"),  # bytes' worth of opening a row
    ("l2_request", "f8"),  # cycles that a request takes of the SM's way to L2 at least,
    ("l2_again", "f8"),  # and what a store in part that its slice looks up again takes of L2
    # sectors' worth of L2 time that a sector takes which L2 has, one from DRAM,
    ("l2_found", "f8"), ("l2_fill", "f8"),
    ("l2_stored", "f8"), ("l2_back", "f8"),  # one that is written, and one that goes to DRAM
    # cycles of a sector that a store writes in part, and of each line with such sectors
    ("l2_partial", "f8"), ("l2_partial_line", "f8"),
    ("l2_partial_blocks", "f8"),  # the part of that in which it serves nothing else
    ("l2_narrow", "f8"),  # times that, of stores that write a part of a word in one sector
    ("l2_fill_line", "f8"),  # cycles of a line with such sectors that are read from DRAM for it
    ("l2_write_rate", "f8"),  # bytes per cycle of L2's that fall to this SM, written
    ("dram_held", "f8"),  # cycles of DRAM's time for which L2 takes stores without waiting
    ("write_held", "f8"),  # cycles of writing that the SM holds on their way to L2
    ("atomic_sector", "f8"), ("atomic_packet", "f8"), ("atomic_lane", "f8"),
    ("float_atomic_lane", "f8"), ("float_atomic_apart", "f8"),  # of an access to several lines
    ("atomic_share", "f8"),  # SMs for each of L2's slices
    ("atomic_latency", "f8"), ("sharers", "f8"), ("replayed_part", "f8"),
    ("together", "f8"),  # blocks that the chip holds at once
    ("later", "f8"),  # the part of all that begin when others have ended
    ("shared_latency", "f8"), ("shared_atomic", "f8"), ("shuffle_latency", "f8"),
    ("shared_interval", "f8"),  # cycles of a pass through the banks
    ("barrier_latency", "i8"), ("barrier_arrival", "f8"), ("fence_latency", "f8"),
    # fences: cycles at least, from when accesses have arrived, the same of those with an
    # ERRBAR behind them; 1: those of an SM wait for each other
    ("fence_least", "f8"), ("fence_more", "f8"), ("fence_more_of_all", "f8"),
    ("fence_together", "i8"), ("fence_turn", "f8"),  # and take so long then
    # of a texture's description; what of a sample's latency is over when its texels come to L1;
    # turns of the units whose texels they wait for at a time
    ("texture_header", "f8"), ("texture_ahead", "f8"), ("texture_turns", "f8"),
    ("partial_known", "f8"),  # until a store of sectors in part is known to have arrived, longer
    ("branch_latency", "i8"), ("sources_load", "i8"), ("sources_store", "i8"),
    ("distant_latency", "f8"),  # of a load from another block's shared memory
    ("cluster_latency", "f8"),  # of the cluster's barrier, from its last warp's arrival
    # from when its mean block comes there to when the last one does, with the root of the time
    ("fellows_apart", "f8"),
    # bulk and tensor copies: from issue to the first request, a request's turn, of loads at least
    # so much a sector, from the issue until another may follow, from the last bytes to the
    # mbarrier, to a store's group; of what a load of threads costs L2
    ("copy_start", "f8"), ("copy_line", "f8"), ("copy_sector", "f8"), ("copy_stored_line", "f8"),
    ("copy_read", "f8"), ("copy_told", "f8"), ("copy_stored", "f8"), ("copy_request", "f8"),
    ("copy_store", "f8"), ("copy_partial", "f8"), ("copy_evicted", "f8"), ("copy_added", "f8"),
    ("copy_share", "f8"),
    # of mbarriers: of an arrival, of a warp that waits, of a look beyond another access
    ("phase_arrival", "f8"), ("phase_wake", "f8"), ("phase_check", "f8"),
    ("match_turn", "f8"),  # of each further value that lanes compare
    # of each further time for which lanes wish to sleep, of a warp that goes on behind a sleep; in
    # a nanosecond
    ("sleep_turn", "f8"), ("sleep_resume", "i8"), ("timer", "f8"),
    ("copy_extra", "f8"),  # of an asynchronous copy against a load
    ("wide_extra", "f8"),  # per further 32 bits of a lane's access
    # cycles of backlog that the miss path accepts, and of stores that write sectors in part
    ("in_flight", "f8"), ("partial_held", "f8"),
    ("block_start", "i8"),  # from a block's end to the first instruction of the next in its place
    ("launch_first", "f8"),  # between the starts of two blocks of the first wave on this SM
    ("launch_interval", "f8"),  # the same later, when the chip hands out blocks one by one
    ("launch_missed", "f8"),  # of these, as many as an SM can make up for
    ("launch_cold", "i8"),  # until the first block's first instruction
    ("l0_miss", "i8"), ("l1i_miss", "i8"), ("constant_miss", "i8"),
    # of operands: a line that the SM has had, and how long it brings no other one
    ("operand_miss", "i8"), ("constant_turn", "i8"),
    ("l1i_line", "i8"),  # from one line of instructions to the next, from beyond the SM
    ("first_line", "i8"),  # of the next line, when it is fetched for the first time
    ("cold_line", "i8"),  # the same of code that no cache but L2 has room for
    ("l0_line", "i8"),  # from one line of instructions to the next, from the SM's cache
    # of a jump to one of the sub-partition's last lines, and to another of its lines; how long the
    # sub-partition fetches nothing else: for a jump, for the next line, for one of its last lines,
    # for one of the very last
    ("jump_near", "i8"), ("jump_far", "i8"), ("jump_turn", "f8"), ("next_turn", "f8"),
    ("near_turn", "f8"), ("close_turn", "f8"),
    # of loads from constant banks: cycles of a word on the SM, of a warp's word after another, and
    # of a line that is not in its cache
    ("indexed_word", "f8"), ("indexed_turn", "f8"), ("indexed_miss", "f8"),
])  # fmt: skip

# one instruction, see table.py
CODE = np.dtype([
    ("kind", "i4"), ("pipe", "i4"), ("interval", "i4"), ("stall", "i4"), ("keep", "i4"),
    ("write", "i4"), ("read", "i4"), ("wait", "i4"), ("latency", "i4"),
    ("float_atomic", "i4"),  # 1: a global atomic on floats, 2: on doubles
    ("answers", "i4"),  # 1: a global atomic that L2 answers, whether anything reads that or not
    ("merges", "i4"),  # 1: lanes on one word of shared memory take one pass
    ("compares", "i4"),  # that exchanges in a loop until it succeeds: TRIES, SEEKS, ...
    ("contends", "i4"),  # the same in shared memory: CAST, CAS
    ("passes_l1", "i4"),  # 1: a load that L1 never serves
    ("passing", "i4"),  # 1: its lines are the first that L1 gives up
    ("reads", "i4", (BANKS,)),  # operands from the register file
    ("again", "i4", (BANKS,)),  # those kept for reuse, to be read if another warp came between
    ("holds", "i4"),  # cycles after it in which its sub-partition issues nothing
    ("writes", "i4"),  # cycles in which it writes its result, see results.py
    ("texture", "f4"),  # cycles of the texture units
    ("tex_sectors", "f4"),  # that a warp's samples look up in L1
    ("surface", "i4"),  # 1: an access to a surface
    ("tex_written", "f4"),  # sectors of it that a warp writes
    ("sends", "i4"),  # cycles in which it goes to the texture units
    ("constant", "i4"),  # line of a constant bank, from 1; 0: none; -1: its access tells
    ("meets", "i4"),  # 1: a warp that has come to a barrier waits for the others before it
    ("defers", "i4"),  # 1: a barrier from which a warp goes on to what `meets`
    # DEPBAR: scoreboard << 8 | allowed; BAR: number << 8 | warps; fences: 1 if beyond the block,
    # 2 if errors are waited for as well (ERRBAR);
    # else below 0: see lsu.py
    ("depth", "i4"),
])  # fmt: skip

COMING = 64  # loads from shared memory of a sub-partition that are followed
WARP = np.dtype([
    ("loaded", "i8"),  # when it last asked for global memory
    # what the scheduler looks at in each cycle, side by side
    ("pc", "i8"), ("ready", "i8"), ("blocked", "i8"), ("issued_at", "i8"), ("age", "i8"),
    ("kept", "i8"),  # 1: its last instruction tells it to go on, and nothing keeps it for long
    ("needs", "i8"),  # the last load from shared memory that its next instruction waits for
    ("trace", "i8"), ("status", "i8"),
    ("block", "i8"), ("entry", "i8"), ("last_entry", "i8"),
    ("access", "i8"), ("last_access", "i8"), ("end", "i8"), ("stores", "i8"),
    ("known", "i8"),  # when its stores are known to have arrived
    ("fenced", "i8"),  # when its last fence lets it go on
    ("woken", "i8"), ("resumed", "i8"),  # when its last sleep ends, and when it can go on then
    ("copied", "i8"),  # when its asynchronous copies so far are done
    ("stored", "i8"),  # when shared memory has been read by its bulk stores so far
    ("phase", "i8"),  # of an mbarrier, that it waits for
    ("barrier", "i8"),  # from 1: which it has come to; 0: none that is not open
    ("opened", "i8"),  # when the last one lets it go on
    ("behind", "i8"),  # when it can have the line behind that of its last jump's target
    # when its next memory instruction can have its addresses; when its ways back from shared memory
    # and from L1 are free
    ("queue_free", "f8"), ("back", "f8", (2,)),
    # of its block when it has exchanged a word of shared memory last, when that was, and when it
    # has last looked at shared memory
    ("exchanges", "i8"), ("exchanged", "f8"), ("looked", "i8"),
    ("queued", "i8"),  # the longest wait for the SM's units of an access that it has not waited for
    ("release", "i8", (N_SCOREBOARDS,)), ("cause", "i8", (N_SCOREBOARDS,)),
    ("tickets", "i8", (N_SCOREBOARDS,)),  # of the last loads from shared memory, see results.py
    ("ring", "i8", (N_SCOREBOARDS * RING,)),
])  # fmt: skip
SUB = np.dtype([
    ("placed", "i8"), ("gone", "i8"),  # warps that ever came, and that ended
    ("told", "i8"),  # of those that ended, as far as what hands out blocks has been told
    ("pipe_free", "f8", (len(PIPES),)), ("port_free", "f8", (BANKS,)), ("queue_free", "f8"),
    ("fetch_free", "f8"),  # when it can fetch instructions of another line
    ("unknown_lines", "i8"),  # of code, until its stream is known
    # when each of the last memory instructions had its addresses, when it left for the SM's units,
    # and the oldest of them
    ("addressed", "f8", (MAX_HELD,)), ("left", "f8", (MAX_HELD,)),
    ("next_addressed", "i8"), ("next_left", "i8"),
    ("waiting", "i8"),  # how many have not left, when that was last counted
    ("store_left", "f8"),  # when its last store to global or local memory leaves
    ("last_left", "f8"),  # when the last of them leaves: that in `left` is when its place is free
    ("others", "f8", (MAX_HELD,)), ("next_other", "i8"),  # as `left`: of reads of lanes' numbers
    # when the way to the texture units is free, and when these took each of the last samples
    ("sent", "f8"), ("taken", "f8", (TEXTURES_HELD,)), ("next_taken", "i8"),
    # when the turns of the last loads from constant banks by registers end
    ("indexed", "f8", (INDEXED_HELD,)), ("next_indexed", "i8"),
    # of the last of those in `left` that is no access to global or local memory: when its place is
    # free, how many came after it (they leave in turn, so no earlier one stays longer)
    ("other_left", "f8"), ("behind_other", "i8"),
    ("shared_left", "f8"), ("behind_shared", "i8"),  # the same of the last access to shared memory
    # loads from shared memory: when they would be there and what of them is still to be written,
    # how many have asked and have come, until when cycles are given (results.py)
    ("coming", "f8", (COMING,)), ("left_of", "f8", (COMING,)), ("asked", "i8"), ("come", "i8"),
    ("written", "f8"),
    ("back", "f8", (2,)),  # when its way back from shared memory is free, and from L1
    ("last_warp", "i8"), ("switched", "i8"),  # 1: the one before it was another
    ("stuck", "i8"),  # 1: since it issued, registers alone have kept it from going on
    ("issues_at", "i8"),  # until then an instruction keeps others from being issued
    ("next", "i8"),  # when the scheduler must look again
    ("held_since", "i8"),  # since when all its ready warps wait for a unit; -1: they do not
])  # fmt: skip
SLOT = np.dtype([
    ("free", "i8"), ("live", "i8"), ("arrived", "i8", (N_BARRIERS,)),
    ("began", "i8"), ("trace", "i8"),  # of its block: when, and which
    ("met", "i8"),  # when its cluster's blocks met last
    ("ended", "i8"),  # 1: from the end of its block until that is told
    ("gone", "i8", (MAX_SUB_PARTITIONS,)),  # warps that had ended then, by sub-partition
    ("exchanges", "i8"),  # by its warps in loops of a word of shared memory
    # words that they exchange in loops: which, when one has done so last, and which warp
    ("word", "i8", (WORDS,)), ("exchanged", "f8", (WORDS,)), ("exchanger", "i8", (WORDS,)),
])  # fmt: skip
# a place of L1: a line (+ 1), its sectors, when the last fill of either half arrives
L1_LINE = np.dtype([
    (name, "i8") for name in ("tag", "valid", "low_arrival", "high_arrival")
] + [
    ("older", "i4"), ("newer", "i4"), ("kept", "i4"),  # the places beside it in its ring, which one
    ("set", "i4"), ("held", "i4"),  # of a ring's end: lines of the set
    ("first", "i4"), ("next", "i4"),  # of the bucket of this number, and behind it in its own
    ("stored", "i4"),  # 1: local memory that was stored to while it was here
])  # fmt: skip
LINE = np.dtype([("tag", "i8"), ("ready", "i8"), ("used", "i8")])  # of a cache of code, constants

# a phase of an mbarrier: what has still to be added to it, and when the last of the rest was
PHASE = np.dtype([("missing", "i8"), ("at", "f8")])

SUMS = (
    "cycles", "warp_cycles", "eligible", "issue_active", "l1_sectors", "l1_hits",
    "l2_read", "l2_read_hit", "l2_write", "l2_write_hit", "l2_atomic", "l2_requests", "l2_saved",
    "dram_read", "dram_write", "shared_passes", "tags", "tag_cycles", "data_cycles", "requests",
    "tex_looked", "tex_missed", "surface_looked", "surface_missed",
)  # fmt: skip
L1_KINDS = ("global_ld", "global_st", "local_ld", "local_st")
# the SM as a whole: counters of progress, when each shared unit is free again, sums
SM = np.dtype([
    *((name, "i8") for name in ("now", "next_block", "finished", "n_events", "resident",
                                "issued", "launch_at", "drained", "first_sub", "notes", "note_at",
                                "note_interval", "is_turned")),
    *((name, "f8") for name in ("lsu_free", "tag_free", "data_free", "port_free",
                                "port_write_free", "l2_free", "answers_free", "l2_write_free",
                                "partial_free", "dram_free", "dram_busy",
                                "dram_write_free",
                                "dram_write_busy", "dram_owed", "atomic_free", "sent_free",
                                "busiest_free", "launch_free", "launch_turn", "indexed_free",
                                "barrier_free", "numbers_free")),
    # when the unit of copies can begin another load, another store, and when it began the last ones
    ("copy_free", "f8", (2,)), ("copy_began", "f8", (2 * COPIES_HELD,)), ("next_copy", "i8", (2,)),
    ("pushed_back", "f8"),  # until when the way to L2 holds up the units in front of it
    # how long a load waits for the store of lines in part that went last (`is_turned`; 2: of loads
    # of many passes one has gone since)
    ("turn", "f8"),
    # when the last fences left and are back, and all its accesses so far have arrived
    ("fence_begun", "f8"), ("fence_free", "f8"), ("pending", "f8"),
    ("texture_known", "f8"),  # when it has the texture's description; 0: not asked for yet
    ("texture_free", "f8"),  # when its texture units can begin with another warp's samples
    ("texture_begun", "f8", (TEXTURES_QUEUED,)), ("next_texture", "i8"),  # with each of the last
    ("texture_done", "f8", (TEXTURES_KNOWN,)), ("next_done", "i8"),
    ("phase_waits", "f8"),  # warps' cycles of waiting at mbarriers
    ("queued", "f8"),  # warps' cycles of waiting for accesses while these waited for units
    *((name, "f8") for name in SUMS),
    ("l1_looked", "f8", (len(L1_KINDS),)), ("l1_found", "f8", (len(L1_KINDS),)),
    ("pipe_busy", "f8", (len(PIPES),)),
    # when the last loads gave up their places in front of L1, and accesses to shared memory theirs,
    # and when its data is free for another of these
    ("looked_up", "f8", (MAX_HELD,)), ("next_looked_up", "i8"),
    ("shared_left", "f8", (MAX_HELD,)), ("next_shared", "i8"), ("shared_free", "f8"),
    # cycles of the last load or store there, and of what came from L2 and has not had its turn;
    # cycles that are taken of each group, and which groups these are (data_path.py)
    ("load_cycles", "f8"), ("owed", "f8"),
    ("booked", "f4", (BOOKED,)), ("booked_at", "i8", (BOOKED,)),
    ("tag_begun", "f8"),  # when the last load or store began with its tags
    ("gain", "f8"),  # cycles of others' work that the last instruction goes before
    ("stored", "f8", (STORES_TAKEN,)), ("next_stored", "i8"),  # when the last ones were served
    ("next_pending", "i8"), ("next_arriving", "i8"),  # of the places in `State`
    # lines of the last stores, when, as which of all, their sectors and warps, when they leave
    # (`sent_left`, by a clock that stands while loads pass L1's data); how many stores of a
    # structure's further members came in time to be sent with the first, of the last ones
    ("sent_line", "i8", (SENT,)), ("sent_at", "f8", (SENT,)), ("sent_number", "i8", (SENT,)),
    ("sent_sectors", "i8", (SENT,)), ("sent_warp", "i8", (SENT,)), ("lines_sent", "i8"),
    ("sent_in_time", "f8"), ("store_cycles", "f8"),  # of stores in L1's data
    # lines that were stored to, when, until when loads of them wait
    ("stored_line", "i8", (STORED,)), ("stored_at", "f8", (STORED,)),
    ("stored_until", "f8", (STORED,)),
    ("sent_gap", "f8", (SENT,)), ("sent_left", "f8", (SENT,)), ("sent_again", "f8", (SENT,)),
    # until when slices are busy, when what waits for them in the SM leaves it; atomics that wait
    # outside it: sectors that have left up to each, until when it waits, the first one, the next
    ("slowest_slice", "f8"), ("slices_hold", "f8"), ("sectors_left", "f8"),
    ("outside_sectors", "f8", (OUTSIDE,)), ("outside_until", "f8", (OUTSIDE,)),
    ("first_outside", "i8"), ("next_outside", "i8"),
    # pages that are held, where each is by its number, those that were not, when the next can be
    # asked for
    ("page_held", "i8", (PAGES_HELD,)), ("page_place", "i2", (PAGE_PLACES,)),
    ("pages_missed", "i8"), ("pages_free", "f8"),
    # the last line that L0 had not; when L1 can give another one that nothing asked for ahead
    ("code_line", "i8"), ("code_free", "f8"),
    ("constant_free", "f8"),  # when the cache of operands can fetch its next line
    ("sought", "i8"),  # 1: since this SM has exchanged in a loop that seeks
    ("behind", "f8"),  # when loads pass that wait for the slowest slice
    ("slice_work", "f8", (SLICES + 1,)),  # what they have served of those, in cycles
    ("slice_free", "f8", (SLICES + 1,)),  # L2 slices, for atomics that several SMs contend for
])  # fmt: skip
# columns of Counts.progress, see progress.py; then a column per pipe and one per stall reason
PROGRESS = (
    "now", "cycles", "warp_cycles", "issued", "eligible", "started", "finished", "l1_sectors",
    "l1_hits", "tags", "data_cycles", "shared_passes", "l2_read", "l2_read_hit", "l2_write",
    "l2_atomic", "dram_read", "dram_write", "dram_busy", "l2_backlog", "dram_backlog",
)  # fmt: skip
FIRST_PIPE = len(PROGRESS)
FIRST_REASON = FIRST_PIPE + len(PIPES)


class Trace(NamedTuple):
    """The traces to replay, see execute/trace.py; `hits`, `shares`, `passes` and `fetches` are
    L2's answers and `lots`, `pieces`, `fills` and `joins` per line of an access, `arrivals` per
    fetch (see l2.py)."""

    blocks: Ints  # (lifted block, 2): start, end
    entries: Records
    ranges: Ints  # (warp + 1, 2): first entry, first access
    accesses: Records
    lines: Ints
    depths: npt.NDArray[np.int16]
    hits: npt.NDArray[np.uint8]
    shares: npt.NDArray[np.float32]
    passes: npt.NDArray[np.float32]
    fetches: npt.NDArray[np.int32]  # (line of an access, half of the line)
    arrivals: Floats
    lots: Floats
    pieces: npt.NDArray[np.float32]
    fills: npt.NDArray[np.uint8]
    joins: npt.NDArray[np.uint8]
    sides: npt.NDArray[np.uint8]
    merged: npt.NDArray[np.float32]  # per line of an access, see merging.py
    order: Ints  # trace of the n-th block to run


class State(NamedTuple):
    """The SM between two cycles."""

    sm: Records  # one SM record
    warps: Records
    ready: Ints  # per warp slot: when it can issue; NEVER if it has no warp or waits at a barrier
    subs: Records
    slots: Records
    l1: Records  # two ends of rings for each part, and places of lines
    pending: Floats  # when the loads had theirs that found lines on their way, a place for two
    arriving: Floats  # when each of the last lines was there for which loads took a place in L1
    l0: Records  # lines of code
    recent_lines: Records  # (sub-partition, one of RECENT_LINES)
    l1i: Records
    brought: npt.NDArray[np.uint8]  # per line of instructions: 1 if the SM has had it
    constants: Records  # (sub-partition, line) of constant banks, for operands
    loaded: Records  # constant cache of the SM, for loads by a fixed address
    indexed: Records  # the same for loads by a register
    met: npt.NDArray[np.uint8]  # per line of the banks: 1 if the SM has had it
    phases: Records  # of mbarriers, by their numbers in the trace


class Counts(NamedTuple):
    """What grows with the launch."""

    stalls: Ints  # (instruction, reason)
    # (block in order of completion, 4): time, instructions issued up to then, when it began, and
    # its trace
    done: Ints
    progress: Floats  # (note, PROGRESS column)
    events: Ints  # (n, 6): warp slot, begin, end, reason, pc, trace


def new_state(spec: Record, l1_lines: int, l0_lines: int, l1i_lines: int, *, code_lines: int = 1,
              note_interval: int = 1 << 40,
              phases: npt.NDArray[np.int32] | None = None) -> State:  # fmt: skip
    """An empty SM; `code_lines`: of the kernel; `phases`: what adds to each phase of the trace's
    mbarriers."""
    of_phases = np.zeros(1 if phases is None else len(phases), PHASE)
    of_phases["missing"] = 0 if phases is None else phases
    n_warps = int(spec["warp_slots"]) * int(spec["sub_partitions"])
    subs = np.zeros(int(spec["sub_partitions"]), SUB)
    subs["last_warp"] = subs["held_since"] = -1
    sm = np.zeros(1, SM)
    sm["note_interval"] = note_interval
    # The SM is active before its first block is there, and brings its code.
    sm["launch_free"] = sm["drained"] = spec["launch_cold"]
    sm["sent_line"], sm["sent_in_time"] = -1, 1.0
    return State(
        sm=sm,
        warps=np.zeros(n_warps, WARP),
        ready=np.full(n_warps, NEVER),
        subs=subs,
        slots=np.zeros(int(spec["slots"]), SLOT),
        l1=empty_l1(max(1, l1_lines)),
        pending=np.zeros(PENDING // 2),
        arriving=np.zeros(max(1, l1_lines)),
        l0=np.zeros(max(L0_WAYS, l0_lines - l0_lines % L0_WAYS), LINE),
        recent_lines=np.zeros((len(subs), RECENT_LINES), LINE),
        l1i=np.zeros(max(CODE_WAYS, l1i_lines - l1i_lines % CODE_WAYS), LINE),
        brought=np.zeros(code_lines, np.uint8),
        constants=np.zeros((len(subs), OPERAND_LINES), LINE),
        loaded=np.zeros(CONSTANT_LINES, LINE),
        indexed=np.zeros(CONSTANT_LINES, LINE),
        met=np.zeros(BANKS_KNOWN * BANK_LINES, np.uint8),
        phases=of_phases,
    )


def empty_l1(lines: int, sets: int = L1_SETS) -> Records:
    """Places of so many lines, all in the ring of those that no line has had. The first record
    tells the last set's number, each set's share in whole lines (`low_arrival`), how many lines
    are nobody's share (`high_arrival`) and the tags of a set (`next`)."""
    size = lines if sets == 1 else max(1, lines - L1_TAKEN)
    while sets > 1 and size < L1_LEAST * sets:
        sets //= 2
    first = 2 * sets + 1
    found = np.zeros(first + size, L1_LINE)
    found["older"][:first] = found["newer"][:first] = range(first)
    ring = np.arange(first - 1, first + size)
    found["older"][ring], found["newer"][ring] = np.roll(ring, 1), np.roll(ring, -1)
    found["set"][first:] = sets
    share, rest = divmod(size, sets)
    limits = found[:1]
    limits["set"], limits["low_arrival"], limits["high_arrival"] = sets - 1, share, rest
    limits["next"] = share + L1_TAGS
    return found


def new_counts(n_instructions: int, n_reasons: int, n_blocks: int, *, notes: int,
               events: int) -> Counts:  # fmt: skip
    """Zeroed sums."""
    return Counts(
        stalls=np.zeros((max(1, n_instructions), n_reasons), np.int64),
        done=np.zeros((max(1, n_blocks), 4), np.int64),
        progress=np.zeros((max(2, notes), FIRST_REASON + n_reasons)),
        events=np.zeros((events, 6), np.int64),
    )
