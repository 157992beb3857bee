"""Operands of a warpgroup's matrix product in LLVM IR: numbers out of shared memory and registers.

Operands come as rows of 32 bytes, eight rows at a time: sixteen pieces of 16 bytes whose places in
shared memory follow from the matrix descriptor. They become numbers in f32 (b1: words), column by
column, each with its exponent.
"""

from __future__ import annotations

from dataclasses import dataclass

from warplens.lift import layout as at
from warplens.lift.runtime.text import Text, int_list
from warplens.lift.vector_ir import V, splat

F = "<32 x float>"
ROW, ROWF = "<8 x i32>", "<8 x float>"
E, ROWE = "<32 x i16>", "<8 x i16>"  # exponents
NO_TERM = -8192  # exponent of a zero
_SPECIAL = 10000  # exponent of an infinity or NaN
# columns 0, 2, 4, 6 and 1, 3, 5, 7 of eight: what lanes t = 0 to 3 hold in their two registers
COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)
ROWS = tuple(range(8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What tells one helper from another."""

    a: str  # f16 bf16 tf32 e4m3 e5m2 s8 u8 b1
    b: str
    sums: str  # f32 f16 s32
    from_registers: bool
    is_a_transposed: bool
    is_b_transposed: bool
    saturates: bool = False
    kept_bits: int = 25
    selector: int | None = None  # which lanes' metadata count where A is sparse
    has_avx512: bool = False

    @property
    def name(self) -> str:
        """The helper's name."""
        source = "r" if self.from_registers else "t" if self.is_a_transposed else "s"
        other = "t" if self.is_b_transposed else "s"
        last = ".sat" if self.saturates else ""
        last += f".sp{self.selector}" if self.is_sparse else ""
        return f"wl.wgmma.{self.a}.{self.b}.{self.sums}.{source}{other}{last}"

    @property
    def is_sparse(self) -> bool:
        """Whether A's rows hold half of their numbers."""
        return self.selector is not None

    @property
    def kept(self) -> int:
        """Numbers in 32 bytes of a row; words of b1."""
        return {"f16": 16, "bf16": 16, "tf32": 8, "b1": 8}.get(self.a, 32)

    @property
    def depth(self) -> int:
        """Steps of k."""
        return 2 * self.kept if self.is_sparse else self.kept

    @property
    def is_float(self) -> bool:
        """Whether sums are floats."""
        return self.sums != "s32"


GATHER = f"""define internal i64 @wl.wgmma.gather(ptr %raw, ptr %host, i64 %limit, i32 %first,
    i32 %near, i32 %far, i32 %swizzle, i32 %turn) noinline {{
{splat("%firsts", "%first").replace("32 x", "16 x")}
{splat("%nears", "%near").replace("32 x", "16 x")}
{splat("%fars", "%far").replace("32 x", "16 x")}
{splat("%masks", "%swizzle").replace("32 x", "16 x")}
{splat("%turns", "%turn").replace("32 x", "16 x")}
  %a = mul <16 x i32> %nears, {int_list([n // 2 for n in range(16)]).split(" ", 3)[3]}
  %b = mul <16 x i32> %fars, {int_list([n % 2 for n in range(16)]).split(" ", 3)[3]}
  %ab = add <16 x i32> %a, %b
  %at0 = add <16 x i32> %ab, %firsts
  %at = and <16 x i32> %at0, splat (i32 262143)
  %row0 = lshr <16 x i32> %at, splat (i32 7)
  %row = sub <16 x i32> %row0, %turns
  %bits = and <16 x i32> %row, %masks
  %up = shl <16 x i32> %bits, splat (i32 4)
  %place = xor <16 x i32> %at, %up
  %last = call i32 @llvm.vector.reduce.umax.v16i32(<16 x i32> %place)
  %last64 = zext i32 %last to i64
  %end = add i64 %last64, 16
  %over = icmp ugt i64 %end, %limit
  br i1 %over, label %outside, label %inside
outside:
  ret i64 %last64
inside:
""" + "\n".join(
    f"""  %p{n} = extractelement <16 x i32> %place, i32 {n}
  %q{n} = getelementptr i8, ptr %host, i32 %p{n}
  %r{n} = load <4 x i32>, ptr %q{n}, align 16
  %s{n} = getelementptr i8, ptr %raw, i32 {16 * n}
  store <4 x i32> %r{n}, ptr %s{n}, align 16"""
    for n in range(16)
) + """
  ret i64 -1
}"""


def unpack_descriptor(t: Text, word: str, is_transposed: bool) -> dict[str, str]:
    """The parts of a matrix descriptor: places of a group of eight rows and of what is in it."""
    def field(shift: int) -> str:
        part = t(f"and i64 {t(f'lshr i64 {word}, {shift}')}, 16383")
        return t(f"shl i32 {t(f'trunc i64 {part} to i32')}, 4")

    start, leading, stride = field(0), field(16), field(32)
    shifted = t(f"lshr i64 {word}, 49")
    mode = t(f"trunc i64 {t(f'lshr i64 {word}, 62')} to i32")
    # modes 0 to 3 mean rows of 16 (no swizzle), 128, 64 and 32 bytes
    is_plain = t(f"icmp eq i32 {mode}, 0")
    width = t(f"select i1 {is_plain}, i32 16, i32 {t(f'lshr i32 256, {mode}')}")
    swizzle = t(f"sub i32 {t(f'lshr i32 {width}, 4')}, 1")
    turn = t(f"and i32 {t(f'trunc i64 {shifted} to i32')}, 7")  # base offset
    # eight rows lie `width` bytes apart; `far` is the way to the second half of k
    if is_transposed:
        far = t(f"select i1 {is_plain}, i32 {leading}, i32 {stride}")
    else:
        far = t(f"select i1 {is_plain}, i32 {leading}, i32 16")
    outer = t(f"select i1 {is_plain}, i32 {stride}, i32 {leading}") if is_transposed else stride
    return {"start": start, "near": width, "far": far, "swizzle": swizzle, "outer": outer, "turn": turn,
            "transposed": "1" if is_transposed else ""}  # fmt: skip


def group_place(t: Text, d: dict[str, str], group: str) -> str:
    """Where the group-th eight rows begin."""
    start, outer, mask = d["start"], d["outer"], d["swizzle"]
    if not d["transposed"]:
        return t(f"add i32 {start}, {t(f'mul i32 {group}, {outer}')}")
    # 16 bytes of a row of `width` bytes; then the next block of rows
    inside = t(f"shl i32 {t(f'and i32 {group}, {mask}')}, 4")
    along = t(f"udiv i32 {group}, {t(f'add i32 {mask}, 1')}")
    block = t(f"add i32 {start}, {t(f'mul i32 {along}, {outer}')}")
    return t(f"add i32 {block}, {inside}")


def gather(t: Text, d: dict[str, str], group: str, tag: str) -> None:
    place = group_place(t, d, group)
    lost = t(
        f"call i64 @wl.wgmma.gather(ptr %raw, ptr %host, i64 %limit, i32 {place}, "
        f"i32 {d['near']}, i32 {d['far']}, i32 {d['swizzle']}, i32 {d['turn']})"
    )
    t.do(f"store i64 {lost}, ptr %lost, align 8")
    t.do(f"br i1 {t(f'icmp eq i64 {lost}, -1')}, label %{tag}, label %outside")
    t.label(tag)


# --- numbers out of rows of 32 bytes -------------------------------------------------------------


def _numbers(t: Text, kind: str, place: str) -> str:
    """Eight neighbouring elements as f32 (b1: words as i32 in f32's clothes)."""
    if kind in ("tf32", "b1"):
        words = t(f"load {ROW}, ptr {place}, align 4")
        if kind == "tf32":  # the 13 low bits are not looked at
            words = t(f"and {ROW} {words}, splat (i32 -8192)")
        return t(f"bitcast {ROW} {words} to {ROWF}")
    if kind == "f16":
        halves = t(f"load <8 x half>, ptr {place}, align 2")
        return t(f"fpext <8 x half> {halves} to {ROWF}")
    if kind == "bf16":
        short = t(f"load <8 x i16>, ptr {place}, align 2")
        wide = t(f"shl {ROW} {t(f'zext <8 x i16> {short} to {ROW}')}, splat (i32 16)")
        return t(f"bitcast {ROW} {wide} to {ROWF}")
    codes = t(f"load <8 x i8>, ptr {place}, align 1")
    if kind in ("s8", "u8"):
        wide = t(f"{'sext' if kind == 's8' else 'zext'} <8 x i8> {codes} to {ROW}")
        return t(f"sitofp {ROW} {wide} to {ROWF}")
    return _eight_bit_floats(t, kind, codes)


def _eight_bit_floats(t: Text, kind: str, codes: str) -> str:
    short = t(f"zext <8 x i8> {codes} to <8 x i16>")
    if kind == "e5m2":  # the high byte of a half
        bits = t(f"shl <8 x i16> {short}, splat (i16 8)")
        return t(f"fpext <8 x half> {t(f'bitcast <8 x i16> {bits} to <8 x half>')} to {ROWF}")
    size = t(f"and <8 x i16> {short}, splat (i16 127)")
    sign = t(f"shl <8 x i16> {t(f'and <8 x i16> {short}, splat (i16 128)')}, splat (i16 8)")
    bits = t(f"or <8 x i16> {t(f'shl <8 x i16> {size}, splat (i16 7)')}, {sign}")
    half = t(f"fpext <8 x half> {t(f'bitcast <8 x i16> {bits} to <8 x half>')} to {ROWF}")
    number = t(f"fmul {ROWF} {half}, splat (float 256.0)")  # biases 15 and 7
    is_nan = t(f"icmp eq <8 x i16> {size}, splat (i16 127)")
    return t(f"select <8 x i1> {is_nan}, {ROWF} splat (float 0x7FF8000000000000), {ROWF} {number}")


def _transpose(t: Text, rows: list[str]) -> list[str]:
    """Eight vectors of eight, rows and columns exchanged."""
    def zip_(a: str, b: str, size: int) -> list[str]:
        """Runs of `size` elements of both in turn, the first half and the second."""
        found = []
        for first in (0, 4):
            order: list[int] = []
            for run in range(first, first + 4, size):
                order += [*range(run, run + size), *range(8 + run, 8 + run + size)]
            found.append(t(f"shufflevector {ROWF} {a}, {ROWF} {b}, {int_list(order)}"))
        return found

    pairs = [zip_(rows[i], rows[i + 1], 1) for i in range(0, 8, 2)]
    found: list[str] = []
    fours = [[zip_(pairs[i][h], pairs[i + 1][h], 2) for h in (0, 1)] for i in (0, 2)]
    for h in (0, 1):
        for q in (0, 1):
            found += zip_(fours[0][h][q], fours[1][h][q], 4)
    return found


def _columns(t: Text, kind: str, is_transposed: bool, order: tuple[int, ...]) -> list[str]:
    """For every step of k the numbers of the eight rows at %raw, in the order asked for."""
    size = {"tf32": 4, "b1": 4, "f16": 2, "bf16": 2}.get(kind, 1)
    depth = 32 // size

    def place(byte: int) -> str:
        return t(f"getelementptr i8, ptr %raw, i32 {byte}")

    if is_transposed:  # piece (k % 8, k / 8) holds eight rows
        found = [_numbers(t, kind, place(32 * (k % 8) + 16 * (k // 8))) for k in range(depth)]
        return [t(f"shufflevector {ROWF} {n}, {ROWF} poison, {int_list(order)}") for n in found]
    found = []
    for first in range(0, depth, 8):
        rows = [_numbers(t, kind, place(32 * row + size * first)) for row in order]
        found += _transpose(t, rows)
    return found


def exponents(t: Text, numbers: str, lanes: int, least: int) -> str:
    """Unbiased exponents; `least` is that of the format's denormals."""
    v = f"<{lanes} x i32>"
    bits = t(f"bitcast <{lanes} x float> {numbers} to {v}")
    field = t(f"and {v} {t(f'lshr {v} {bits}, splat (i32 23)')}, splat (i32 255)")
    t.do("; exponent")
    plain = t(f"sub {v} {field}, splat (i32 127)")
    above = t(f"icmp sgt {v} {plain}, splat (i32 {least})")
    bounded = t(f"select <{lanes} x i1> {above}, {v} {plain}, {v} splat (i32 {least})")
    is_zero = t(f"fcmp oeq <{lanes} x float> {numbers}, zeroinitializer")
    some = t(f"select <{lanes} x i1> {is_zero}, {v} splat (i32 {NO_TERM}), {v} {bounded}")
    special = t(f"icmp eq {v} {field}, splat (i32 255)")
    return t(f"select <{lanes} x i1> {special}, {v} splat (i32 {_SPECIAL}), {v} {some}")


LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}


def _negated(t: Text, numbers: str, mask: str) -> str:
    bits = t(f"bitcast {ROWF} {numbers} to {ROW}")
    return t(f"bitcast {ROW} {t(f'xor {ROW} {bits}, {mask}')} to {ROWF}")


def spread_mask(t: Text, name: str) -> str:
    one = t(f"insertelement {ROW} poison, i32 {name}, i64 0")
    return t(f"shufflevector {ROW} {one}, {ROW} poison, {ROW} zeroinitializer")


def _places(t: Text, form: Form, half: int) -> list[str]:
    """Where each kept number of the eight rows stands among four (tf32: two), as isa/sparse.py."""
    word = t(f"load {V}, ptr %meta, align 64")
    lanes = 4 if form.kept == 32 else 2
    found: list[str] = []
    for lane in range(half, lanes, 2) if form.kept == 32 else range(lanes):
        at_lane = lane + (form.selector or 0) * lanes
        order = int_list([4 * row + at_lane for row in ROWS])
        rows = t(f"shufflevector {V} {word}, {V} poison, {order}")
        if form.kept == 32:
            starts, mask = [2 * n for n in range(16)], 3
        elif form.kept == 16:
            starts, mask = [16 * half + 2 * n for n in range(8)], 3
        else:
            starts, mask = [16 * half + 4 * n + 1 for n in range(4)], 1
        for start in starts:
            shifted = t(f"lshr {ROW} {rows}, splat (i32 {start})")
            found.append(t(f"and {ROW} {shifted}, splat (i32 {mask})"))
    return found


def _spread(t: Text, form: Form, half: int, kept: list[str]) -> list[str]:
    """All numbers of the eight rows: those that are not kept are zeros; notes which are kept."""
    places = _places(t, form, half)
    found: list[str] = []
    group, each = (2, 1) if form.kept == 8 else (4, 2)
    lanes = int_list([lane // 4 for lane in range(32)])
    for first in range(0, len(kept), each):
        for place in range(group):
            number, is_kept = f"{ROWF} zeroinitializer", "zeroinitializer"
            for n in range(first, first + each):
                here = t(f"icmp eq {ROW} {places[n]}, splat (i32 {place})")
                number = f"{ROWF} " + t(f"select <8 x i1> {here}, {ROWF} {kept[n]}, {number}")
                is_kept = t(f"or <8 x i1> {here}, {is_kept}")
            wide = t(f"sext <8 x i1> {is_kept} to {ROW}")
            mask = t(f"shufflevector {ROW} {wide}, {ROW} poison, {lanes}")
            k = len(found)
            t.do(f"store {V} {mask}, ptr {t(f'getelementptr {V}, ptr %keep, i32 {2 * k + half}')}, "
                 "align 128")  # fmt: skip
            found.append(number.split(" ", 3)[3])
    return found


def _store_a(t: Text, form: Form, half: int, mask: str) -> None:
    """Rows 8 half to 8 half + 7, every number in the four lanes that hold its row."""
    lanes = int_list([lane // 4 for lane in range(32)])
    columns = _columns(t, form.a, form.is_a_transposed, ROWS)
    if form.is_sparse:
        columns = _spread(t, form, half, columns)
    for k, numbers in enumerate(columns):
        if form.is_float:
            numbers = _negated(t, numbers, mask)
        wide = t(f"shufflevector {ROWF} {numbers}, {ROWF} poison, {lanes}")
        t.do(f"store {F} {wide}, ptr {t(f'getelementptr {F}, ptr %a, i32 {2 * k + half}')}, align 128")
        if form.is_float:
            of = t(f"trunc {ROW} {exponents(t, numbers, 8, LEAST[form.a])} to {ROWE}")
            wide = t(f"shufflevector {ROWE} {of}, {ROWE} poison, {lanes}")
            t.do(f"store {E} {wide}, ptr {t(f'getelementptr {E}, ptr %ae, i32 {2 * k + half}')}, align 64")


def take_a(t: Text, form: Form) -> None:
    """A's rows of this warp, from registers or shared memory."""
    mask = spread_mask(t, "%nega")
    if form.from_registers:
        words = [t(f"load {V}, ptr {t(f'getelementptr {V}, ptr %areg, i32 {i}')}, align 64") for i in range(4)]
        for half in (0, 1):
            order = [n for g in range(8) for n in (*range(4 * g, 4 * g + 4), *range(32 + 4 * g, 36 + 4 * g))]
            rows = t(f"shufflevector {V} {words[half]}, {V} {words[2 + half]}, {int_list(order)}")
            t.do(f"store <64 x i32> {rows}, ptr %raw, align 128")
            _store_a(t, form, half, mask)
        return
    place = unpack_descriptor(t, "%da", form.is_a_transposed)
    warp = t(f"load i32, ptr {t(f'getelementptr i8, ptr %w, i64 {at.WARP_INDEX}')}, align 4")
    first = t(f"shl i32 {t(f'and i32 {warp}, 3')}, 1")
    for half in (0, 1):
        gather(t, place, t(f"add i32 {first}, {half}"), f"a{half}")
        _store_a(t, form, half, mask)


def store_b(t: Text, form: Form, mask: str, first: int) -> None:
    """Numbers of eight columns at %raw, as steps `first` and on of k."""
    columns = _columns(t, form.b, form.is_b_transposed, COLUMNS)
    for k, numbers in enumerate(columns, first):
        if form.is_float:
            numbers = _negated(t, numbers, mask)
            of = t(f"trunc {ROW} {exponents(t, numbers, 8, LEAST[form.b])} to {ROWE}")
            t.do(f"store {ROWE} {of}, ptr {t(f'getelementptr {ROWE}, ptr %be, i32 {k}')}, align 16")
        t.do(f"store {ROWF} {numbers}, ptr {t(f'getelementptr {ROWF}, ptr %b, i32 {k}')}, align 32")
