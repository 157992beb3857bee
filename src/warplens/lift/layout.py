"""Byte layouts shared by generated code and the block runner: warp records and the environment."""

from __future__ import annotations

# --- warp record: one per resident warp, 64-byte aligned -----------------------------------------
WARP_MASK = 0  # u32: lanes of the split to run (in) / of the split that stopped (out)
WARP_PC = 4  # u32: lifted-block index where that split goes on
WARP_EXITED = 8  # u32: lanes that ended or never existed
WARP_CLUSTER = 12  # u32: lanes that have arrived at a cluster barrier not yet complete
WARP_ARGS = 16  # 4 x u32: details of the event that the region returned
WARP_SPLITS = 32  # u32: number of entries in the split table
WARP_BAR_RESULT = 36  # u32: result of the last BAR.RED
WARP_LOCAL = 40  # i64: host address of the warp's local memory
WARP_FUEL = 48  # i64: back-edges left before the split must yield
WARP_INDEX = 56  # u32: index of the warp in its block
WARP_YIELDED = 60  # u32: lanes that executed YIELD and have not gone on since
WARP_PASSED = 64  # u32: not 0 after a split has left a waiting loop or passed an mbarrier
WARP_PREDICATES = 128  # 8 x u32
WARP_UNIFORM_PREDICATES = 160  # 8 x u32 (0 or 1)
WARP_SPLIT_TABLE = 320  # 64 x (mask, pc, state, info) u32
WARP_UNIFORM = 1344  # 256 x u32
WARP_TID = 2368  # 3 x 32 x u32
WARP_TARGETS = 2752  # 32 x u32: targets of an indirect branch, low words
WARP_TARGETS_HIGH = 2880
WARP_BARRIERS = 3008  # 16 x 32 x u32: participants of B0..B15, as each lane knows them,
# or in the first word those of the warp (Layout.has_parts)
PARTS_NEXT, PARTS_VAIN = WARP_BARRIERS + 4, WARP_BARRIERS + 24  # u32: of execute/part_table.py
WARP_SCRATCH = 5056  # 24 x 128 bytes: vectors handed to helpers and back
WARP_REGISTERS = 8128  # 128 bytes each

SPLIT_SIZE = 16
SPLIT_READY, SPLIT_AT_BARRIER, SPLIT_AT_WARPSYNC, SPLIT_AT_BSYNC, SPLIT_AT_CLUSTER = range(5)
SPLIT_AT_GRID = 6  # waits at the grid's barrier
IN_POOL = 2  # info of a ready split that no branch put aside last, see execute/parts.py
SPLIT_LOOKS = 5  # goes on, once others have run, to look again at what it waits for


def warp_bytes(n_registers: int) -> int:
    """Size of a warp record for a kernel that names registers below `n_registers`."""
    return (WARP_REGISTERS + 128 * n_registers + 63) // 64 * 64


# --- environment: one int64 array per worker -----------------------------------------------------
ENV_BANKS = 0  # 16 host addresses of constant banks
ENV_SHARED = 16  # host address of the running block's shared memory
ENV_SHARED_LIMIT = 17  # first invalid shared address
ENV_COUNTERS = 18  # host address of the int64 counters
ENV_SITES = 19  # host address of the access-site records
ENV_SEGMENTS = 20  # host address of the segment table
ENV_N_SEGMENTS = 21
ENV_LOCAL_LIMIT = 23  # first invalid local address
ENV_CTAID = 24  # 3 slots
ENV_BLOCK = 27  # linear index of the running block
ENV_FAULT = 28  # kind, instruction, lane, address, extra: 5 slots
ENV_CALLBACK = 33  # host address of the resolve callback
ENV_CLOCK = 34  # stand-in clock, advanced by reads and by executed blocks
ENV_EXCLUSIVE = 35  # 1: no other worker runs, plain read-modify-write will do
ENV_SMID = 36
ENV_NCTAID = 37  # 3 slots
ENV_WARPS_PER_BLOCK = 40
ENV_TIMER = 41
ENV_GRID_BLOCKS = 42
ENV_OBSERVE_BLOCK = 43  # host addresses of an observer's functions, see observe.py
ENV_OBSERVE_ACCESS = 44
ENV_OBSERVE_SYNC = 45
ENV_OBSERVE_RELEASE = 46
ENV_OBSERVER = 47  # host address of the observer's own state
ENV_SLOT = 48  # resident slot of the running block
ENV_CHECK = 49  # an observer's function that drops lanes before an access
ENV_TEXTURES = 51  # host address of the table of texture and surface objects, and their number
ENV_N_TEXTURES = 52
ENV_TEXTURE_UNIT = 53  # host address of the function that serves textures and surfaces
ENV_OUT_OF_TIME = 50  # 1: nobody makes progress, so waits for mbarriers reach their time limit
ENV_TENSOR_UNIT = 54  # host address of the function that serves tensor memory
ENV_TENSOR_MEMORY = 55  # where a block's tensor memory begins, from its shared memory on
ENV_CLUSTER_RANK = 56  # rank of the running block in its cluster, in bits 31:24
ENV_CLUSTER_SHARED = 57  # host address of the cluster's blocks' shared memories, 0 where one ended
ENV_CLUSTER_BLOCKS = 58  # blocks of a cluster
ENV_TENSOR_WORK = 59  # host address of memory in which products of tensor memory are made
ENV_WGMMA_WORK = 60  # host address of B's columns that products of warpgroups made last
ENV_SLOTS = 64

# --- access sites: what a memory instruction touched last ----------------------------------------
SITE_LOW = 0  # u32: low word of the segment's device address
SITE_HIGH = 4  # u32
SITE_LIMIT = 8  # u32: offsets below this are whole accesses inside the segment
SITE_HOST = 16  # i64: host address of the segment
SITE_MASK = 24  # u32: active lanes of the remembered pattern
SITE_PHASE = 28  # u32: lane 0's offset modulo 128, or 0xffffffff: no pattern
SITE_SCATTERED = 48  # u32, global: 1 after lanes read words that do not lie side by side
SITE_QUIET_LOW = 52  # u32: accesses inside this allocation need no check: address, whole accesses
SITE_QUIET_HIGH = 56
SITE_QUIET_LIMIT = 60
SITE_PATTERN = 64  # 32 x u32: offsets relative to lane 0
SITE_WALK, SITE_WALK_SPAN, SITE_BEYOND = 192, 196, 200  # lanes' own rows instead, u32: where the
# warp began, how far the next one's begin is, how far ahead of lanes it is worth asking
SITE_SPAN = 256  # u32: bytes from lane 0's offset to the pattern's end
SITE_WINDOW = 260  # u32: how the pattern is loaded, see quick_ir.py
SITE_ROW_BEGIN = 0  # shared counting instead, u32: the rows of 32 words that hold its words: the
SITE_ROW_WORDS = 4  # first one's offset, and how many words they have
SITE_APART = 32  # u32, global: APART or more after several accesses to sectors of the lanes' own
APART, SURELY_APART = 2, 3
SITE_STATE = 8  # shared stores instead, i32: 1: the pattern below came once, 2: its words are known
SITE_WORDS = 192  # 64 x u8: which lane stores a word of the window, 255: none
SITE_LANES = 256  # 32 x u8: which word of the window a lane stores
SITE_WALKS = 320  # 32 x (u32, u32): host address and step of the last row; by warp
N_WALKS = 32
SITE_COMING_HOST = 40  # ptr, rows of indices: where the allocation begins to which they lead
SITE_COMING = 256  # 16 x u32: offsets there that are still to be asked for; nothing if it is null
SITE_ADDED = 208  # global instead, in a line that is in use anyhow
SITE_COUNTS = 576  # up to 8 x i64: what the pattern adds to counters side by side
SITE_SIZE = 640

# --- segment table: sorted by device address -----------------------------------------------------
SEGMENT_BASE, SEGMENT_LENGTH, SEGMENT_HOST, SEGMENT_ALLOWED = 0, 1, 2, 3  # int64 slots
SEGMENT_SLOTS = 4

# --- what a region returns ------------------------------------------------------------------------
EVENT_JUMP = 1  # go on at WARP_PC with WARP_MASK
EVENT_DONE = 2  # the split ended or is parked; pick another
EVENT_YIELD = 3  # as JUMP, but let others run first
EVENT_BARRIER = 4  # args: barrier, thread count (0: all), kind, predicate ballot
EVENT_INDIRECT = 5  # per-lane targets in WARP_TARGETS; args: kind
EVENT_WARPSYNC = 6  # args: mask
EVENT_FAULT = 7  # details in the environment
EVENT_TRAP = 8
EVENT_BSYNC = 9  # args: convergence barrier
EVENT_CLUSTER_ARRIVE = 10
EVENT_CLUSTER_WAIT = 11
EVENT_WAIT = 12  # as YIELD, and the split waits for a write of another one
EVENT_REST = 13  # as YIELD, by a YIELD instruction: lanes at BSYNC do not wait for the split
EVENT_SLEEP = 14  # as YIELD, by NANOSLEEP
EVENT_BREAK = 15  # args: convergence barrier that may be complete now; goes on as JUMP

# barriers of a block: 16 named ones, then one for each warpgroup of up to 1024 threads
FIRST_WARPGROUP_BARRIER, N_BARRIERS = 16, 24
BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_POPC, BARRIER_AND, BARRIER_OR = 0, 1, 2, 3, 4
INDIRECT_RELATIVE, INDIRECT_ABSOLUTE = 0, 1

# --- fault kinds ----------------------------------------------------------------------------------
FAULT_GLOBAL, FAULT_MISALIGNED, FAULT_SHARED, FAULT_LOCAL, FAULT_TRAP, FAULT_CONSTANT = range(1, 7)
FAULT_BAD_PC, FAULT_MISALIGNED_SHARED, FAULT_MISALIGNED_LOCAL, FAULT_STACK = range(7, 11)
FAULT_CLUSTER_RANK, FAULT_CLUSTER_ENDED = 11, 12
FAULT_TENSOR_MAP = 14  # what a tensor copy was given is no tensor map for it
FAULT_TEXTURE = 15  # no object, or not one of this use; extra says which
FAULT_SURFACE = 16  # beside a surface whose mode is to trap
FAULT_TENSOR_MEMORY = 17  # extra says why, see execute/tensor_memory/faults.py
FAULT_PART_OF_WARP = 13  # a product of a warpgroup by some lanes only

# --- address windows (high words) -----------------------------------------------------------------
SHARED_WINDOW_HIGH = 0x7F10
LOCAL_WINDOW_HIGH = 0x7F20
CODE_WINDOW_HIGH = 0x7F30
HOOK_WINDOW_HIGH = 0x7F40
# Functions of the driver that code calls by name; their numbers stand behind all other hooks'.
SYSTEM_CALLS = ("__cuda_syscall_CGS_get_intrinsic_handle", "__cuda_syscall_CGS_sync", "vprintf",
                "malloc", "free", "__assertfail")  # fmt: skip
FIRST_SYSTEM_CALL = 0x10000

# --- tensor map, taken apart: 32 u32 words; maps of im2col lie in memory like this ---------------
MAP_MAGIC = 0x50614D54
MAP_MARK, MAP_RANK, MAP_TYPE, MAP_ELEMENT, MAP_PITCH, MAP_SWIZZLE, MAP_FILL, MAP_MODE = range(8)
MAP_TILE, MAP_IM2COL = 0, 1  # modes; im2col has channels, pixels and corners in place of a box
MAP_FOUR_ROWS = 2  # a copy's mode, by a map of tiles: each row of four has a coordinate
MAP_ADDRESS, MAP_STRIDES = 8, 10  # u64; 4 x u64, bytes along dimensions 1 to 4
MAP_SIZES, MAP_BOX, MAP_STEPS = 18, 23, 28  # 5 x u32 each, innermost first; 4 steps, dimensions 1-4
MAP_BYTES = 128
MAP_SLICE = 16  # from so many bytes of an element on: a pixel of interleaved channels
MAP_NAN = 0x7FF77FF7  # what loads outside of the tensor get, if not zeros
MAP_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz",
             "tf32", "tf32.ftz", "b4x16")  # fmt: skip
# A map of tiles lies in memory as the TMA unit reads it: words; first bits and masks of fields.
TMA_ADDRESS, TMA_FLAGS, TMA_STRIDES, TMA_STRIDE_TOPS, TMA_SIZES = 0, 2, 3, 7, 8
TMA_STEPS, TMA_BOX, TMA_MADE = 13, 14, 31  # the last one marks what the host made
TMA_RANK, TMA_TYPE, TMA_SWIZZLE = (4, 0x70), (7, 0x780), (13, 0x6000)
TMA_INTERLEAVE = (11, 0x1800)  # times 16: bytes of a pixel in a slice of channels
TMA_NAN, TMA_TF32 = (15, 0x8000), (16, 0x10000)
TMA_BY_DRIVER, TMA_L2 = (1, 0x200002), (17, 0x60000)  # how L2 is asked; changes no values
TMA_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16",
             "b4x16")  # fmt: skip

SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_GENERIC, SPACE_CONSTANT = 0, 1, 2, 3, 4
SPACE_VALUES = 5  # no memory: what the lanes of a MATCH compare
# no memory either: an mbarrier whose phase somebody waits for (read) or adds to (atomic), or that
# is made (write); a bulk or tensor copy that begins; bytes in a row of global memory that it moves
SPACE_MBARRIER, SPACE_COPY, SPACE_RUN = 6, 7, 8
SPACE_NAMED = 9  # nor is this: a barrier of the block named by a register; size: name << 8 | warps
# nor this: for how many nanoseconds lanes wish to sleep; size 1: the last one wakes the warp
SPACE_SLEEP = 10

# access kinds (bits of SEGMENT_ALLOWED)
ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC = 1, 2, 4

# --- texture and surface instructions: what the unit is asked for, bits of a word ----------------
UNIT_TEX, UNIT_TLD, UNIT_GATHER, UNIT_GRADIENT, UNIT_QUERY, UNIT_READ, UNIT_WRITE, UNIT_REDUCE = (
    range(8)
)  # bits 3:0
UNIT_RANK = 4  # 2 bits
UNIT_LAYERED, UNIT_CUBE, UNIT_LEVEL = 6, 7, 8  # a bit each
UNIT_COMPONENT = 10  # 2 bits: of a gather
UNIT_WIDTH = 12  # 3 bits: log2 of the bytes of a surface access
UNIT_BOUNDARY = 16  # 2 bits
UNIT_OPERATION = 20  # 3 bits, out of UNIT_OPERATIONS
UNIT_SIGNED = 24
UNIT_TEXELS = 25  # a bit: the first coordinate of a surface access counts texels, not bytes
UNIT_COMPONENTS = 26  # 3 bits: of a formatted write
UNIT_CHECKED = 29  # a bit: an observer is asked about every texel (Watch.checks)
UNIT_SHOWN = 30  # a bit: an observer sees the sectors that a sample looks at (Watch.accesses)
UNIT_COUNTERS = 32  # the first of five counters, see execute/textures/requests.py
BOUNDARY_TRAP, BOUNDARY_CLAMP, BOUNDARY_ZERO = range(3)
UNIT_OPERATIONS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR")
# scratch slots: layer and coordinates; level of detail or values; gradients; object; results
UNIT_PLACES, UNIT_VALUES, UNIT_GRADIENTS, UNIT_HANDLE, UNIT_RESULTS = 0, 4, 8, 14, 16

# --- tensor memory: what its unit is asked for, bits of a word ------------------------------------
# bits 3:0
TM_LOAD, TM_STORE, TM_PRODUCT, TM_COPY, TM_FIND, TM_GIVE, TM_COMMIT, TM_LOOK, TM_MOVE = range(9)
TM_SHAPE = 4  # 4 bits: of a move or copy; of a product the kind: halves, bytes, integers, 4 bits
TM_PACKED, TM_PAIR = 8, 9  # a bit each
TM_ZEROS = 10  # of a move: there are no registers
TM_FROM_MEMORY, TM_STATIONARY, TM_SCALED, TM_FOUR, TM_LANES, TM_SHIFTS = 10, 11, 12, 13, 14, 15
TM_SHIFT = 16  # 4 bits: D's old value counts 2**-n times
TM_WORDS, TM_REGISTER = 24, 40  # 16 bits each: repetitions of a move, its first register
# scratch slots of lane 0: address; of a product A, B, D, metadata, descriptor, scales, whether D
# counts, masks of lanes; results of an allocation
TM_A, TM_B, TM_D, TM_METADATA, TM_DESCRIPTOR, TM_SCALES, TM_ADDS, TM_MASKS = 0, 2, 4, 5, 6, 7, 9, 10
TM_RESULTS = 20
TM_FORM = 22  # for observers: the low 32 bits of what the unit is asked for
# a block's tensor memory lies behind its shared memory: state, then 128 lanes of 512 words
TM_STATE_BYTES, TM_LANES_OF_BLOCK, TM_COLUMNS = 256, 128, 512
TM_BYTES = TM_STATE_BYTES + 4 * TM_LANES_OF_BLOCK * TM_COLUMNS
# u32 of the state: 32 columns a bit, allocated, under way, committed and not waited for; the
# instruction that took the last ones
TM_TAKEN, TM_PENDING, TM_COMMITTED, TM_TAKER = 0, 4, 8, 12
# Eight columns of B as a product of warpgroups made them: their bytes in shared memory, what was
# made of these, exponents and numbers of up to 32 steps of k; and how many such groups are kept.
KEPT_TAG, KEPT_EXPONENTS, KEPT_NUMBERS, KEPT_BYTES, KEPT_GROUPS = 256, 320, 832, 1920, 128

TM_DEPTH = 128  # steps of k for which the working memory has room
TM_NUMBERS = 384  # rows of A and columns of B
# Operands in doubles for any case and in singles; a tile; at the end whether there is AVX-512.
TM_WORK_BYTES = TM_NUMBERS * TM_DEPTH * 18 + 256
