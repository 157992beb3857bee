"""Layout of the native checks' state: one header of int64 slots that points to everything else.

Per resident block there is a slot record (offsets in the header); per allocation a table row with
its shadow; per finding a record, found again by a hash of what it is about, so that a million
hazards of one kind are one record with a count.
"""

from __future__ import annotations

# --- header: int64 slots --------------------------------------------------------------------------
N_WARPS = 0  # warps of a block
CLOCK = 1  # last clock given out
MODE = 2  # MODE_BLOCK or MODE_LANE
TOOLS = 3  # TOOL_* bits
INSTRUCTIONS = 4  # host address: INSTRUCTION_SLOTS int64 per instruction
SLOTS = 5  # host address of the slot records
SLOT_BYTES = 6
SEGMENTS = 7  # host address of the allocation table
N_SEGMENTS = 8
RECORDS = 9
N_RECORDS = 10
MAX_RECORDS = 11
KEYS = 12  # hash table of record numbers + 1
KEY_MASK = 13
SHARED_BYTES = 14
LOCAL_BYTES = 15
LAST_BASE = 16  # the allocation used last: device base and table row
LAST_ROW = 17
CROSS = 18  # host address of the rows of clocks that warps know of other blocks; 0: floors only
TOTAL_WARPS = 19  # warps of the grid
SYNC_KEYS = 20  # hash table of synchronisation variables
SYNC_MASK = 21
SYNC_ROWS = 22  # host address of their rows
SYNC_ROW_BYTES = 23
N_SYNC = 24
SYNC_CAPACITY = 25
SHARED_FIRST = 26  # first shared address that belongs to the user
SHARED_LIMIT = 27
N_BLOCKS = 28
OVERFLOWS = 29  # synchronisation variables that found no room
ENGINE_SEGMENTS = 30  # the engine's own segment table, for screening
HAS_FENCES = 31  # 1: the code has MEMBAR; without it no strong access publishes anything
SHARING = 32  # accesses of lanes of one warp to one word that only their order in the warp orders
SHARING_BLOCKS = 33  # host address of the first blocks that did so
N_SHARING = 34
HAS_ASYNC = 35  # 1: the code has asynchronous copies
CELL_SHIFT = 36  # bytes of memory that a shadow cell stands for: 4, or less where stores are narrow
N_THREADS = 37  # of a block
CLUSTER = 38  # blocks of a cluster
GRID_X, GRID_Y, CLUSTER_X, CLUSTER_Y, CLUSTER_Z = 39, 64, 65, 66, 67
# offsets in a slot record
# block index + 1; last skipping EXIT + 1, its warp, its lanes; masks of what this block has
# touched: barriers' rows of AT_ARRIVALS, warps' rows of AT_CALLS
AT_BLOCK = 40
AT_CLOCKS = 41  # n_warps
AT_KNOWN = 42  # n_warps x COLUMNS: clock of the column's warp up to which the row's warp knows
AT_BARRIERS = 43  # 16 x COLUMNS: joined at arrivals
AT_WAITING = 44  # 16 masks of warps that wait at a barrier
AT_FENCED = 45  # n_warps x 2: clock at the last fence of block scope, of wider scope
AT_PENDING = 46  # n_warps x COLUMNS: read from strong accesses, not yet fenced
AT_FLOORS = 47  # n_warps: everything before this clock is known, whatever the block
AT_BARRIER_FLOORS = 48  # 16
AT_PENDING_FLOORS = 49  # n_warps
AT_FLAGS = 50  # bit 0: some warp knows clocks of other blocks; how often at the grid's barrier
AT_BARRIER_CROSS = 51  # 16 rows of total_warps
AT_PENDING_CROSS = 52  # n_warps rows of total_warps
AT_ARRIVALS = 53  # 16 x (n_warps + 2): line of arrival per warp, count, first instruction
AT_CALLS = 54  # n_warps x 96: last call, warp synchronisation, diverged access + 1 per lane
AT_LANE_CLOCKS = 55  # n_warps x 32
AT_LANE_KNOWN = 56  # n_warps x 32 x 32
AT_SHARED_CELLS = 57
AT_SHARED_INIT = 58  # one byte per byte
AT_LOCAL_INIT = 59  # one byte per byte, interleaved as local memory is
AT_COPIES = 60  # n_warps x COPY_SLOTS: clock of what has arrived, groups, clocks of the last ones
AT_SHARED_WHOLE = 61  # a range of shared memory that is written throughout, attempts to widen it
AT_LANE_PENDING = 62  # n_warps x 32 x 32: read from strong accesses, not yet fenced
AT_LANE_FENCED = 63  # n_warps x 32: clock at the last fence
AT_CLUSTER = 68  # n_warps x 2: arrivals at the cluster's barrier, lanes that wait there
# n_warps; in kernels with bulk copies or wgmma three times as many: what the column's warp did,
# what of its bulk copies and products is complete, what of its stores their proxy may see; with
# tensor memory four times: what of its tcgen05.st is complete
COLUMNS = 69
HAS_BULK = 70  # 1: the code has bulk copies, products of warpgroups or tensor memory
AT_GROUPS = 71  # n_warps x 2 x COPY_SLOTS, as AT_COPIES: groups of bulk copies, of products
LENT_SHARED = 72  # bytes of the system's shared memory that the kernel may use: they are zero
MIXED = 73  # 1: a block accessed plainly what it had changed by an atomic last
INTERVALS = 74  # 1: shared memory is followed from barrier to barrier, see intervals.py
AT_INTERVAL = 75  # BOOK_SLOTS, then the log
AT_OWNERS = 76  # an entry of 32 bits for each cell of shared memory
LOCKS = 77  # host address of LOCK_ROWS of words that may be locks; 0: no exchange in the code
LOCKS_LOST = 78  # 1: there were more
LOCK_SETS = 79  # 1: what a lock orders counts only while it is held, see locks.py
HELD = 80  # host address, per instruction: executed under no lock; the last two locks it was under
AT_HOLDS = 81  # n_warps x 2: the lock that a warp holds; whether what it learned counts behind it
AT_KEPT = 82  # n_warps x (COLUMNS + 1): what was known when it took it, the floor last
AT_KEPT_CROSS = 83  # n_warps rows of total_warps
HAS_CELLS = 84  # 1: the code uses tensor memory
AT_CELLS_INIT = 85  # one byte per cell of tensor memory
AT_CELLS = 86  # shadow cells of tensor memory, one for 16 lanes of a column
AT_LASTS = 87  # the stamp of the last atomic on each cell of shared memory
HEADER_SLOTS = 88
COPY_SLOTS, COPY_GROUPS = 18, 16

SPACE_CELLS = 6  # of records: tensor memory, an offset is lane << 16 | column
MAX_SHARING = 64  # blocks remembered

MODE_BLOCK, MODE_LANE = 0, 1
TOOL_MEMCHECK, TOOL_RACECHECK, TOOL_INITCHECK, TOOL_SYNCCHECK = 1, 2, 4, 8

# --- instruction table ----------------------------------------------------------------------------
INSTRUCTION_SLOTS = 4
# I_BARRIER: of a barrier its bit; of an access the bits of barriers that it shows to be bypassed;
# of a wait for copies the groups that may stay open; of a bulk copy 1 if from shared memory; of a
# product its columns by eight, 256: A in registers, 512: A transposed, 1024: B transposed
# I_CACHE: of an access the allocation used last; of barriers in functions, and of calls of these,
# the number of the function
I_FLAGS, I_BARRIER, I_STATEMENT, I_CACHE = 0, 1, 2, 3

F_STRONG, F_ATOMIC, F_BLOCK_SCOPE = 1, 2, 4  # of accesses
F_FENCE, F_WIDE_FENCE, F_ACQUIRE = 8, 16, 32  # MEMBAR, wider than the block, CCTL.IVALL
F_BARRIER, F_ARRIVE = 64, 128
F_WARPSYNC, F_ORDERS_MEMORY = 256, 512
F_EXIT, F_SHUFFLE, F_CALL, F_CLUSTER = 1024, 2048, 4096, 8192
F_SHUFFLE_MODE = 14  # shift: 0 IDX, 1 UP, 2 DOWN, 3 BFLY
F_BEFORE_BARRIER = 1 << 16  # the WARPSYNC that goes with a block barrier
F_AT_ONCE = 1 << 18  # acquires by itself, without a fence
F_MBARRIER, F_RELEASE = 1 << 19, 1 << 20  # at an mbarrier; a release by itself
F_ASYNC, F_COPY_COMMIT, F_COPY_WAIT = 1 << 21, 1 << 22, 1 << 23  # asynchronous copies
F_BULK = 1 << 24
F_SKIPS = 1 << 25  # an EXIT of threads that left out the barriers behind
F_VOLATILE, F_POLLS = 1 << 26, 1 << 27  # no atomic; a look that decides whether a loop goes on
F_TENSOR = 1 << 29  # a bulk copy whose global side is a box of a tensor
F_OF_GROUP = 1 << 28  # of cooperative groups, all of whose members have to come
F_PROXY = 1 << 30  # FENCE.VIEW.ASYNC
F_PRODUCT, F_PRODUCT_WAIT = 1 << 31, 1 << 33  # wgmma
# closes a group of bulk copies; of products: the last of its group; of an arrival: tcgen05.commit
F_BULK_COMMIT = 1 << 32
F_FAR_RELEASE = 1 << 34  # for other blocks of the cluster as well
F_WIDE_ATOMIC = 1 << 35  # of 64 bits: not atomic to those of 32
F_NARROW, F_OF_NARROW = 1 << 36, 1 << 37  # exchange that stands for one of 16 bits; its load
F_GRID = 1 << 38  # of the grid's barrier
F_CELLS = 1 << 39  # of tensor memory
F_CAS, F_EXCHANGE = 1 << 42, 1 << 43  # of atomics
F_DECIDES = 1 << 44  # a branch or an address depends on what it reads
F_UNREAD = 40  # shift: how many words at the end of a load nobody reads (2 bits)
# of tensor memory: products and copies; stores, which end with tcgen05.wait::st; that wait;
# allocations and what frees them
F_CORE, F_LATE, F_STORED, F_FREES = 1 << 45, 1 << 46, 1 << 47, 1 << 48
F_INIT = 1 << 49  # mbarrier.init
F_APART = F_BULK | F_PRODUCT | F_CORE  # what goes on beside the threads, seen by another proxy
F_PASSED = 1 << 17  # an access that shows a barrier to be bypassed

# --- allocation table -----------------------------------------------------------------------------
SEGMENT_SLOTS = 8
S_BASE, S_BYTES, S_CELLS, S_INIT, S_HOST, S_ALLOWED, S_TRACKED, S_SEEN = range(8)
SEEN_READ, SEEN_WRITE, SEEN_READ_FIRST = 1, 2, 4  # the last: read, untracked, then written
ALLOWED_HEAP = 8  # of S_ALLOWED: memory that the kernel allocates and frees itself

# --- shadow cells, one per 32-bit word or narrower ------------------------------------------------
CELL_BYTES = 32  # write, two reads, and three 21-bit block numbers
# Set in the block numbers: the cell beside it (as many bytes further as the segment has cells)
# holds the plain accesses that came before the atomic ones.
CELL_BESIDE = -(1 << 63)
STAMP_CLOCK = 32  # clock above; warp, lane, bytes, instruction below
STAMP_WARP, STAMP_LANE, STAMP_BYTES = 27, 22, 18
STAMP_MANY = 1 << 17  # several lanes of the warp did it
INSTRUCTION_MASK = STAMP_MANY - 1
BLOCK_MASK = (1 << 21) - 1

# --- words that may be locks ----------------------------------------------------------------------
LOCK_ROWS, LOCK_SLOTS = 4096, 5
# who holds it, by number of the warp in the grid + 1; its free value + 1; whether it was used in
# another way; how often it was left
L_KEY, L_HOLDER, L_FREE, L_OTHERS, L_RELEASES = range(LOCK_SLOTS)
HELD_SLOTS = 3
SHARED_LOCK, SHARED_LOCK_OFFSET = 1 << 62, (1 << 24) - 1  # keys of locks in shared memory

# --- the interval between two barriers of a whole block -------------------------------------------
# its number; what is known of it; accesses logged; barriers at which parts of warps wait; how often
# it came to nothing of late; warp record and shared memory of who logged last; whether there were
# atomics, which are not logged
B_NUMBER, B_PHASE, B_COUNT, B_PARTS, B_STRIKES, B_WARP, B_HOST, B_ATOMICS = range(8)
BOOK_SLOTS = 8
PHASE_READS, PHASE_OWNERS, PHASE_CELLS = range(3)  # only reads so far; one lane a cell; anything
LOG_SLOTS, LOG_BYTES = 4, 160  # lanes, stamp, kind and size, spare; then the lanes' offsets
MOST_LOGGED, MOST_STRIKES = 1024, 8

# --- records --------------------------------------------------------------------------------------
RECORD_SLOTS = 18
(R_CHECK, R_SPACE, R_FIRST, R_SECOND, R_FIRST_KIND, R_SECOND_KIND, R_FIRST_THREAD, R_SECOND_THREAD,
 R_FIRST_BLOCK, R_SECOND_BLOCK, R_BASE, R_OFFSET, R_SIZE, R_COUNT, R_EXTRA, R_MASK, R_EXTRA2,
 R_HOST) = range(RECORD_SLOTS)  # fmt: skip

# checks as the native code knows them
(C_RACE, C_SAME_VALUE, C_UNINITIALISED, C_OUT_OF_BOUNDS, C_MISALIGNED, C_READ_ONLY,
 C_DIVERGENT_BARRIER, C_BARRIER_LINES, C_BARRIER_COUNT, C_MASK_WITHOUT_CALLER, C_MASK_DIFFERS,
 C_MASK_NAMES_ENDED, C_INACTIVE_SOURCE, C_SCOPE, C_MBARRIER,
 C_BARRIER_ENDED, C_VOLATILE, C_GROUP_ENDED, C_PROXY) = range(1, 20)  # fmt: skip

# --- synchronisation variables --------------------------------------------------------------------
SYNC_HEAD = 4  # int64 slots before the row: key, floor, block + 1 of the publisher, spare
