"""Helper functions in LLVM IR for tensor copies: a box of a tensor to or from shared memory.

Rows of the box follow each other in shared memory, `pitch` bytes apart; pieces of 16 bytes move to
where the swizzle puts them. What lies outside the tensor is filled, or not stored.

Of interleaved channels the first dimension is that of pixels, 16 or 32 bytes of a slice of channels
each; they are the rows, whole. The last but one dimension is that of the slices: a box is one slice,
whatever the map says (recorded on an H200, validation/recorder/interleaved.py).

By im2col the rows are the channels of pixels: the pixels of a bounding box in turn, from the
coordinates on, each moved by the copy's offsets.

Four rows of a tensor of two dimensions (gather4, scatter4) are as a tile of that many rows whose
places in the second dimension are given one by one; the map's box has one row.

Scratch slots of the first lane: 0, 1 the tensor map's address, 2 the shared address, 3 the offsets
of im2col, 6 to 10 the coordinates; slot 11 gives the box's bytes back.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.runtime import cluster_ir, map_ir
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES
from warplens.lift.runtime.tensor_sums_ir import float_functions, reduce_piece
from warplens.lift.runtime.text import Text
from warplens.lift.vector_ir import V

COORDINATES, BYTES, OFFSETS = RESULTS, 11, VALUES + 1
_CHUNK = "<16 x i8>"
# host address of bytes that lie in one allocation, 0 after a fault
PLACE = """define internal i64 @wl.tensor.place(ptr %env, ptr %site, i64 %a, i64 %bytes, i32 %kind,
    i32 %inst, i32 %lane) noinline {
  %l0 = add i64 %a, %bytes
  %last = sub i64 %l0, 1
  %end = call ptr @wl.find(ptr %env, ptr %site, i64 %last, i32 %kind, i32 1, i32 %inst, i32 %lane)
  %lost = icmp eq ptr %end, null
  br i1 %lost, label %bad, label %first
first:
  %seg = call ptr @wl.find(ptr %env, ptr %site, i64 %a, i32 %kind, i32 16, i32 %inst, i32 %lane)
  %gone = icmp eq ptr %seg, null
  br i1 %gone, label %bad, label %both
both:
  %same = icmp eq ptr %seg, %end
  br i1 %same, label %good, label %apart
apart:
  %f = call i32 @wl.fault(ptr %env, i64 FAULT, i32 %inst, i32 %lane, i64 %last, i64 %bytes)
  br label %bad
bad:
  ret i64 0
good:
  %base = load i64, ptr %seg, align 8
  %hp = getelementptr i64, ptr %seg, i64 2
  %host = load i64, ptr %hp, align 8
  %off = sub i64 %a, %base
  %found = add i64 %host, %off
  ret i64 %found
}""".replace("FAULT", str(at.FAULT_GLOBAL))


def _lane_word(t: Text, slot: int) -> str:
    """The first lane's word of a scratch slot."""
    place = t(f"getelementptr i8, ptr %w, i64 {at.WARP_SCRATCH + 128 * slot}")
    return t(f"load i32, ptr {t(f'getelementptr i32, ptr {place}, i32 %lane')}, align 4")


def _map_word(t: Text, word: int) -> str:
    return t(f"load i32, ptr {t(f'getelementptr i32, ptr %map, i32 {word}')}, align 4")


def _wide(t: Text, word: str, signed: bool = False) -> str:
    return t(f"{'sext' if signed else 'zext'} i32 {word} to i64")


class _Loops:
    """Nested counting loops with their counters in allocas."""

    def __init__(self, t: Text) -> None:
        self.t = t
        self.storage: list[str] = []

    def begin(self, name: str, limit: str, step: int = 1) -> str:
        """Opens a loop over name = 0, step, ... below the limit (i64)."""
        t = self.t
        self.storage.append(f"  %{name}.p = alloca i64, align 8")
        t.do(f"store i64 0, ptr %{name}.p, align 8")
        t.do(f"br label %{name}.head")
        t.label(f"{name}.head")
        t.do(f"%{name} = load i64, ptr %{name}.p, align 8")
        t.do(f"%{name}.n = add i64 %{name}, {step}")
        t.do(f"store i64 %{name}.n, ptr %{name}.p, align 8")
        t.do(f"br i1 {t(f'icmp slt i64 %{name}, {limit}')}, label %{name}.body, label %{name}.end")
        t.label(f"{name}.body")
        return f"%{name}"

    def close(self, name: str) -> None:
        """Ends the loop."""
        self.t.do(f"br label %{name}.head")
        self.t.label(f"{name}.end")


def _read_map(t: Text, rank: int, mode: int) -> None:
    """Finds the map; leaves for %no_map when it is none of this rank and mode."""
    address = t(f"or i64 {_wide(t, _lane_word(t, ADDRESSES))}, "
                f"{t(f'shl i64 {_wide(t, _lane_word(t, ADDRESSES + 1))}, 32')}")  # fmt: skip
    t.do(f"%mapa = add i64 {address}, 0")
    host = t(f"call i64 @wl.tensor.place(ptr %env, ptr %site, i64 %mapa, i64 {at.MAP_BYTES}, "
             f"i32 {at.ACCESS_READ}, i32 %inst, i32 %lane)")  # fmt: skip
    t.do(f"br i1 {t(f'icmp eq i64 {host}, 0')}, label %bad, label %have_map")
    t.label("have_map")
    t.do(f"%raw = inttoptr i64 {host} to ptr")
    if mode != at.MAP_IM2COL:
        read = t("call i1 @wl.tensor.unpack(ptr %raw, ptr %map)")
        t.do(f"br i1 {read}, label %is_map, label %no_map")
    else:
        t.do("%map = getelementptr i8, ptr %raw, i64 0")
        t.do("br label %is_map")
    t.label("is_map")
    is_marked = t(f"icmp eq i32 {_map_word(t, at.MAP_MARK)}, {at.MAP_MAGIC}")
    has_rank = t(f"icmp eq i32 {_map_word(t, at.MAP_RANK)}, {rank}")
    straight = t(f"icmp eq i64 {t('and i64 %mapa, 63')}, 0")
    of_map = at.MAP_IM2COL if mode == at.MAP_IM2COL else at.MAP_TILE
    has_mode = t(f"icmp eq i32 {_map_word(t, at.MAP_MODE)}, {of_map}")
    if mode == at.MAP_FOUR_ROWS:
        has_mode = t(f"and i1 {has_mode}, {t(f'icmp eq i32 {_map_word(t, at.MAP_BOX + 1)}, 1')}")
    good = t(f"and i1 {t(f'and i1 {is_marked}, {has_rank}')}, {t(f'and i1 {straight}, {has_mode}')}")
    t.do(f"br i1 {good}, label %good_map, label %no_map")
    t.label("good_map")


def _places(t: Text, rank: int, kind: int, clusters: bool, mode: int,
            sliced: bool) -> dict[str, str]:  # fmt: skip
    """Checks the box's shared memory and the tensor's global memory; what loops need."""

    def less_one(word: str) -> str:
        return f"sub i32 {word}, 1"

    element = _map_word(t, at.MAP_ELEMENT)
    box = [_map_word(t, at.MAP_BOX + i) for i in range(rank)]
    steps = ["1", *(_map_word(t, at.MAP_STEPS + i) for i in range(rank - 1))]
    if sliced:  # see map_ir: the first step stands where that of the slices would
        steps[0], steps[-2] = steps[-2], "1"
        box[-2] = "1"
    counts = [
        t(f"udiv i32 {t(f'add i32 {size}, {t(less_one(step))}')}, {step}")
        for size, step in zip(box, steps, strict=True)
    ]
    row_bytes = _wide(t, element if sliced else t(f"mul i32 {box[0]}, {element}"))
    rows = "1"
    for count in counts if sliced else counts[1:]:
        rows = t(f"mul i32 {rows}, {count}")
    if mode == at.MAP_IM2COL:
        rows = _map_word(t, at.MAP_BOX + 1)
    elif mode == at.MAP_FOUR_ROWS:
        rows = "4"
    pitch = _wide(t, _map_word(t, at.MAP_PITCH))
    pitch = t(f"select i1 {t(f'icmp eq i64 {pitch}, 0')}, i64 {row_bytes}, i64 {pitch}")
    pitch = row_bytes if sliced else pitch
    rows = _wide(t, rows)
    near = _wide(t, _lane_word(t, VALUES))
    t.do(f"%near = add i64 {near}, 0")
    skew = t(f"icmp ne i64 {t('and i64 %near, 127')}, 0")
    t.do(f"br i1 {skew}, label %misaligned, label %aligned")
    t.label("aligned")
    extent = t(f"mul i64 {rows}, {pitch}")
    if clusters:
        rank_ = t(f"trunc i64 {t('lshr i64 %near, 24')} to i32")
        t.do(f"%off = and i64 %near, {cluster_ir.LOW_BITS}")
        base = t(f"call i64 @wl.cluster.base(ptr %env, i32 {rank_}, i32 %inst, i32 %lane, "
                 f"i64 %near, i64 {extent})")  # fmt: skip
        t.do(f"br i1 {t(f'icmp eq i64 {base}, 0')}, label %bad, label %based")
        t.label("based")
    else:
        t.do("%off = add i64 %near, 0")
        base = t(f"load i64, ptr {t(f'getelementptr i64, ptr %env, i64 {at.ENV_SHARED}')}, align 8")
    limit = t(f"load i64, ptr {t(f'getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}')}, align 8")
    over = t(f"icmp ugt i64 {t(f'add i64 %off, {extent}')}, {limit}")
    t.do(f"br i1 {over}, label %outside, label %inside")
    t.label("inside")
    t.do(f"%host = inttoptr i64 {base} to ptr")
    sizes = [_wide(t, _map_word(t, at.MAP_SIZES + i)) for i in range(rank)]
    strides = [
        t(f"load i64, ptr {t(f'getelementptr i32, ptr %map, i32 {at.MAP_STRIDES + 2 * i}')}, align 8")
        for i in range(rank - 1)
    ]
    tensor = t(f"load i64, ptr {t(f'getelementptr i32, ptr %map, i32 {at.MAP_ADDRESS}')}, align 8")
    wide_element = _wide(t, element)
    inner = t(f"mul i64 {sizes[0]}, {wide_element}")
    whole = inner
    for size, stride in zip(sizes[1:], strides, strict=True):
        last = t(f"sub i64 {size}, 1")
        whole = t(f"add i64 {whole}, {t(f'mul i64 {last}, {stride}')}")
    start = "0"
    if not sliced:
        first = _wide(t, _lane_word(t, COORDINATES), True)
        has_four_bits = t(f"icmp eq i32 {_map_word(t, at.MAP_TYPE)}, {at.MAP_TYPES.index('b4x16')}")
        halves = t(f"zext i1 {has_four_bits} to i64")
        start = t(f"mul i64 {t(f'ashr i64 {first}, {halves}')}, {wide_element}")
        odd = t(f"and i64 {first}, {halves}")
    t.do(f"%slant = add i64 {tensor}, {start if sliced else t(f'or i64 {start}, {odd}')}")
    is_slanted = t(f"icmp ne i64 {t('and i64 %slant, 15')}, 0")
    t.do(f"br i1 {is_slanted}, label %slanted, label %straight")
    t.label("straight")
    found = t(f"call i64 @wl.tensor.place(ptr %env, ptr %site, i64 {tensor}, i64 {whole}, "
              f"i32 {kind}, i32 %inst, i32 %lane)")  # fmt: skip
    t.do(f"br i1 {t(f'icmp eq i64 {found}, 0')}, label %bad, label %go_on")
    t.label("go_on")
    t.do(f"%tensor = inttoptr i64 {found} to ptr")
    return {"rows": rows, "row_bytes": row_bytes, "pitch": pitch, "start": start,
            "inner": wide_element if sliced else inner, "address": tensor, "stride0": wide_element,
            "element": wide_element, "swizzle": _wide(t, _map_word(t, at.MAP_SWIZZLE)),
            **{f"size{i}": n for i, n in enumerate(sizes)},
            **{f"stride{i + 1}": n for i, n in enumerate(strides)},
            **{f"count{i}": _wide(t, n) for i, n in enumerate(counts)},
            **{f"step{i}": _wide(t, n) for i, n in enumerate(steps)}}  # fmt: skip


def _row(t: Text, d: dict[str, str], rank: int, sliced: bool) -> tuple[str, str]:
    """Byte offset of the present row in the tensor, and whether it lies inside."""
    rest, offset, inside = "%row", "0", "true"
    for i in range(0 if sliced else 1, rank):
        count, step, size, stride = (d[f"{n}{i}"] for n in ("count", "step", "size", "stride"))
        index = t(f"urem i64 {rest}, {count}")
        rest = t(f"udiv i64 {rest}, {count}")
        first = _wide(t, _lane_word(t, COORDINATES + i), True)
        place = t(f"add i64 {first}, {t(f'mul i64 {index}, {step}')}")
        inside = t(f"and i1 {inside}, {t(f'icmp ult i64 {place}, {size}')}")
        offset = t(f"add i64 {offset}, {t(f'mul i64 {place}, {stride}')}")
    return offset, inside


def _one_of_four(t: Text, d: dict[str, str]) -> tuple[str, str]:
    """The same where each row has a coordinate of its own."""
    word = _lane_word(t, COORDINATES + 1)
    for i in range(1, 4):
        is_it = t(f"icmp eq i64 %row, {i}")
        word = t(f"select i1 {is_it}, i32 {_lane_word(t, COORDINATES + 1 + i)}, i32 {word}")
    place = _wide(t, word, True)
    return t(f"mul i64 {place}, {d['stride1']}"), t(f"icmp ult i64 {place}, {d['size1']}")


_OFFSET_BITS = {3: 16, 4: 8, 5: 5}  # of im2col, by rank


class _Pixels:
    """The pixel of im2col that is copied: its coordinates W, H, D and N in memory.

    They are the dimensions behind the channels, or, where these are interleaved, those before the
    slices and the last one.
    """

    def __init__(self, t: Text, loops: _Loops, rank: int, sliced: bool) -> None:
        self.t, self.rank = t, rank
        self.spatial = range(rank - 2) if sliced else range(1, rank - 1)
        self.slices = range(rank - 2, rank - 1) if sliced else range(0)
        for i in self._every():
            loops.storage.append(f"  %pixel{i} = alloca i64, align 8")
            t.do(f"store i64 {_wide(t, _lane_word(t, COORDINATES + i), True)}, ptr %pixel{i}, align 8")

    def _every(self) -> tuple[int, ...]:
        return (*self.spatial, *self.slices, self.rank - 1)

    def row(self, d: dict[str, str]) -> tuple[str, str]:
        """Byte offset of the pixel in the tensor, and whether it lies inside."""
        t, offset, inside = self.t, "0", "true"
        packed, bits = _lane_word(t, OFFSETS), _OFFSET_BITS[self.rank]
        for i in self._every():
            place = t(f"load i64, ptr %pixel{i}, align 8")
            if i in self.spatial:
                shifted = t(f"lshr i32 {packed}, {bits * self.spatial.index(i)}")
                moved = _wide(t, t(f"and i32 {shifted}, {(1 << bits) - 1}"))
                place = t(f"add i64 {place}, {moved}")
            size, stride = d[f"size{i}"], d[f"stride{i}"]
            inside = t(f"and i1 {inside}, {t(f'icmp ult i64 {place}, {size}')}")
            offset = t(f"add i64 {offset}, {t(f'mul i64 {place}, {stride}')}")
        return offset, inside

    def advance(self, d: dict[str, str]) -> None:
        """On to the next pixel of the bounding box; behind its end a row begins at its corner."""
        t, carry = self.t, "true"
        for i in (*self.spatial, self.rank - 1):
            step = t(f"select i1 {carry}, i64 {d[f'step{i}']}, i64 0")
            place = t(f"add i64 {t(f'load i64, ptr %pixel{i}, align 8')}, {step}")
            if i in self.spatial:
                corners = _map_word(t, at.MAP_BOX + 2 + self.spatial.index(i))
                lower = _wide(t, t(f"ashr i32 {t(f'shl i32 {corners}, 16')}, 16"), True)
                upper = _wide(t, t(f"ashr i32 {corners}, 16"), True)
                end = t(f"add i64 {d[f'size{i}']}, {upper}")
                over = t(f"icmp sge i64 {place}, {end}")
                carry = t(f"and i1 {carry}, {over}")
                place = t(f"select i1 {carry}, i64 {lower}, i64 {place}")
            t.do(f"store i64 {place}, ptr %pixel{i}, align 8")


def _move(t: Text, to: str, source: str) -> None:
    """Moves %count bytes, 0 to 16, and goes on at %moved."""
    t.do(f"br i1 {t('icmp eq i64 %count, 16')}, label %at_once, label %bytewise")
    t.label("at_once")
    t.do(f"store {_CHUNK} {t(f'load {_CHUNK}, ptr {source}, align 1')}, ptr {to}, align 1")
    t.do("br label %moved")
    t.label("bytewise")
    t.do("br label %one")
    t.label("one")
    t.do("%i = phi i64 [ 0, %bytewise ], [ %i1, %another ]")
    t.do(f"br i1 {t('icmp ult i64 %i, %count')}, label %another, label %moved")
    t.label("another")
    byte = t(f"load i8, ptr {t(f'getelementptr i8, ptr {source}, i64 %i')}, align 1")
    t.do(f"store i8 {byte}, ptr {t(f'getelementptr i8, ptr {to}, i64 %i')}, align 1")
    t.do("%i1 = add i64 %i, 1")
    t.do("br label %one")


def _load_piece(t: Text) -> None:
    """Fills 16 bytes of shared memory at %spot with %count bytes of the tensor at %from."""
    fill = _map_word(t, at.MAP_FILL)
    four = t(f"insertelement <4 x i32> poison, i32 {fill}, i64 0")
    all_ = t(f"shufflevector <4 x i32> {four}, <4 x i32> poison, <4 x i32> zeroinitializer")
    t.do(f"store <4 x i32> {all_}, ptr %spot, align 16")
    _move(t, "%spot", "%from")


def _round_tf32(t: Text) -> None:
    """Rounds what was copied to %spot where elements are TF32: to nearest, NaN to one NaN."""
    four = "<4 x i32>"
    behind = t(f"sub i32 {_map_word(t, at.MAP_TYPE)}, {at.MAP_TYPES.index('tf32')}")
    is_tf32 = t(f"icmp ult i32 {behind}, 2")
    words = t(f"load {four}, ptr %spot, align 16")
    short = t("trunc i64 %count to i32")
    one = t(f"insertelement {four} poison, i32 {short}, i64 0")
    counts = t(f"shufflevector {four} {one}, {four} poison, {four} zeroinitializer")
    there = t(f"icmp ugt {four} {counts}, <i32 0, i32 4, i32 8, i32 12>")
    raised = t(f"and {four} {t(f'add {four} {words}, splat (i32 4096)')}, splat (i32 -8192)")
    size = t(f"and {four} {words}, splat (i32 2147483647)")
    is_nan = t(f"icmp ugt {four} {size}, splat (i32 2139095040)")
    number = t(f"select <4 x i1> {is_nan}, {four} splat (i32 2147475456), {four} {raised}")
    inside = t(f"select <4 x i1> {there}, {four} {number}, {four} {words}")
    kept = t(f"select i1 {is_tf32}, {four} {inside}, {four} {words}")
    t.do(f"store {four} {kept}, ptr %spot, align 16")


def _faults(t: Text) -> None:
    for label, kind, where, size in (
        ("no_map", at.FAULT_TENSOR_MAP, "%mapa", at.MAP_BYTES),
        ("misaligned", at.FAULT_MISALIGNED_SHARED, "%near", 128),
        ("outside", at.FAULT_SHARED, "%off", 128),
        ("slanted", at.FAULT_MISALIGNED, "%slant", 16),
    ):
        t.label(label)
        t(f"call i32 @wl.fault(ptr %env, i64 {kind}, i32 %inst, i32 %lane, i64 {where}, i64 {size})")
        t.do("br label %bad")


def _tell_run(t: Text, d: dict[str, str], offset: str, inside: str) -> None:
    """Shows an observer the bytes of global memory that a row of the box moves."""
    start, inner = d["start"], d["inner"]
    low = t(f"select i1 {t(f'icmp slt i64 {start}, 0')}, i64 0, i64 {start}")
    end = t(f"add i64 {start}, {d['row_bytes']}")
    end = t(f"select i1 {t(f'icmp slt i64 {end}, {inner}')}, i64 {end}, i64 {inner}")
    some = t(f"and i1 {inside}, {t(f'icmp sgt i64 {end}, {low}')}")
    size = t(f"select i1 {some}, i64 {t(f'sub i64 {end}, {low}')}, i64 0")
    address = t(f"add i64 {d['address']}, {t(f'add i64 {offset}, {low}')}")
    short = t(f"trunc i64 {size} to i32")
    place = t(f"getelementptr i64, ptr %env, i64 {at.ENV_OBSERVE_ACCESS}")
    function = t(f"inttoptr i64 {t(f'load i64, ptr {place}, align 8')} to ptr")
    t.do(f"call void {function}(ptr %env, ptr %w, i32 %inst, i32 %mask, i32 {at.SPACE_RUN}, "
         f"i32 {at.ACCESS_READ}, i32 {short}, i64 {address}, ptr null)")  # fmt: skip


def _name(action: str, rank: int, mode: int, sliced: bool) -> str:
    more = {at.MAP_IM2COL: ".im2col", at.MAP_FOUR_ROWS: ".four"}.get(mode, "") + (".slices" if sliced else "")
    return f"wl.tensor.{action.lower()}.{rank}{more}"


def _leave_slices(t: Text, name: str) -> None:
    """Has another function copy where channels are interleaved."""
    is_sliced = t(f"icmp uge i32 {_map_word(t, at.MAP_ELEMENT)}, {at.MAP_SLICE}")
    t.do(f"br i1 {is_sliced}, label %slices, label %plain")
    t.label("slices")
    found = t(f"call i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst, "
              "i32 %counter)")  # fmt: skip
    t.do(f"ret i32 {found}")
    t.label("plain")


def _refuse_before(t: Text, rank: int) -> None:
    """Slices cannot be stored to before the tensor (recorded: an illegal instruction)."""
    signs = _lane_word(t, COORDINATES)
    for i in range(1, rank):
        signs = t(f"or i32 {signs}, {_lane_word(t, COORDINATES + i)}")
    t.do(f"br i1 {t(f'icmp slt i32 {signs}, 0')}, label %no_map, label %behind")
    t.label("behind")


def tensor_copies(action: str, rank: int, clusters: bool, mode: int = at.MAP_TILE,
                  observe: bool = False) -> list[tuple[str, str]]:  # fmt: skip
    """Names and texts of @wl.tensor.ACTION.RANK, the first, and of what it calls."""
    found = [_tensor_copy(action, rank, clusters, mode, observe, False)]
    if rank > 2:
        found.append(_tensor_copy(action, rank, clusters, mode, observe, True))
    return [*found, *float_functions(action)]


def _tensor_copy(action: str, rank: int, clusters: bool, mode: int, observe: bool,
                 sliced: bool) -> tuple[str, str]:  # fmt: skip
    """One of them; the action is load, store or a reduction's name."""
    name = _name(action, rank, mode, sliced)
    kind = at.ACCESS_READ if action == "load" else at.ACCESS_WRITE
    kind = kind if action in ("load", "store") else at.ACCESS_ATOMIC
    t = Text()
    loops = _Loops(t)
    if mode != at.MAP_IM2COL:
        loops.storage.append(f"  %map = alloca [{at.MAP_BYTES} x i8], align 16")
    _read_map(t, rank, mode)
    if sliced and action != "load":
        _refuse_before(t, rank)
    elif rank > 2 and not sliced:
        _leave_slices(t, _name(action, rank, mode, True))
    d = _places(t, rank, kind, clusters, mode, sliced)
    pixels = _Pixels(t, loops, rank, sliced) if mode == at.MAP_IM2COL else None
    loops.begin("row", d["rows"])
    if mode == at.MAP_FOUR_ROWS:
        offset, inside = _one_of_four(t, d)
    else:
        offset, inside = pixels.row(d) if pixels else _row(t, d, rank, sliced)
    if observe:
        _tell_run(t, d, offset, inside)
    loops.begin("byte", d["row_bytes"], 16)
    inner, pitch, swizzle = d["inner"], d["pitch"], d["swizzle"]
    row = t(f"add i64 %off, {t(f'mul i64 %row, {pitch}')}")
    shared = t(f"add i64 {row}, %byte")
    line = t(f"lshr i64 {shared}, 7")
    turn = t(f"shl i64 {t(f'and i64 {line}, {swizzle}')}, 4")
    t.do(f"%spot = getelementptr i8, ptr %host, i64 {t(f'xor i64 {shared}, {turn}')}")
    across = t(f"add i64 {d['start']}, %byte")
    left = t(f"sub i64 {inner}, {across}")
    full = t(f"select i1 {t(f'icmp slt i64 {left}, 16')}, i64 {left}, i64 16")
    here = t(f"and i1 {inside}, {t(f'icmp ult i64 {across}, {inner}')}")
    t.do(f"%count = select i1 {here}, i64 {full}, i64 0")
    place = t(f"add i64 {offset}, {across}")
    place = t(f"select i1 {here}, i64 {place}, i64 0")
    t.do(f"%from = getelementptr i8, ptr %tensor, i64 {place}")
    if action == "load":
        _load_piece(t)
    elif action == "store":
        _move(t, "%from", "%spot")
    else:
        reduce_piece(t, action, _map_word(t, at.MAP_TYPE), at.MAP_TYPES)
    t.label("moved")
    if action == "load":
        _round_tf32(t)
    loops.close("byte")
    if pixels:
        pixels.advance(d)
    loops.close("row")
    rows, row_bytes = d["rows"], d["row_bytes"]
    total = t(f"trunc i64 {t(f'mul i64 {rows}, {row_bytes}')} to i32")
    one = t(f"insertelement {V} poison, i32 {total}, i64 0")
    every = t(f"shufflevector {V} {one}, {V} poison, {V} zeroinitializer")
    slot = t(f"getelementptr i8, ptr %w, i64 {at.WARP_SCRATCH + 128 * BYTES}")
    t.do(f"store {V} {every}, ptr {slot}, align 64")
    t.do("ret i32 0")
    _faults(t)
    storage, body = "\n".join(loops.storage), "\n".join(t.lines)
    return name, f"""define internal i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter) noinline {{
{storage}
  %any = icmp ne i32 %mask, 0
  br i1 %any, label %go, label %nothing
nothing:
  ret i32 0
go:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{body}
bad:
  ret i32 1
}}"""


DECLARATIONS = {"wl.tensor.place": PLACE, "wl.tensor.unpack": map_ir.unpack()}
