"""Sums of a warpgroup's matrix product in LLVM IR, eight columns at a time.

Sums are a tensor core's (isa/accumulate.py): products aligned to the largest exponent, cut, added
exactly. Here a product is multiplied by the power of two that makes the last kept bit 1 and turned
into an integer, which cuts it. Where exponents leave the range in which that is exact, and for
infinities and NaNs, the slow function made from isa/accumulate.py gives the eight columns.
"""

from __future__ import annotations

from warplens.lift.runtime.text import Text, int_list
from warplens.lift.runtime.wgmma_operands_ir import LEAST, NO_TERM, E, F, Form
from warplens.lift.vector_ir import P, V

CONVERT = "llvm.x86.avx512.sitofp.round.v16f32.v16i32"
_TO_ZERO = 11  # the rounding, and no exceptions
_LOWEST, _HIGHEST = -90, 120  # largest exponents for which single precision is exact


def _b_vector(t: Text, base: str, k: int, column: int, element: str) -> str:
    """Column `column` of the two that a lane holds, at step k."""
    kind = "float" if element == F else "i32"
    four = t(f"load <4 x {kind}>, ptr {t(f'getelementptr i8, ptr {base}, i32 {32 * k + 16 * column}')}, align 16")
    lanes = int_list([lane % 4 for lane in range(32)])
    return t(f"shufflevector <4 x {kind}> {four}, <4 x {kind}> poison, {lanes}")


def _a_exponents(t: Text, k: int, half: int) -> str:
    place = t(f"getelementptr {E}, ptr %ae, i32 {2 * k + half}")
    return t(f"load {E}, ptr {place}, align 64")


def _b_exponents(t: Text, k: int, column: int) -> str:
    four = t(f"load <4 x i16>, ptr {t(f'getelementptr i8, ptr %be, i32 {16 * k + 8 * column}')}, align 8")
    lanes = int_list([lane % 4 for lane in range(32)])
    return t(f"shufflevector <4 x i16> {four}, <4 x i16> poison, {lanes}")


def _a_vector(t: Text, base: str, k: int, half: int, element: str) -> str:
    return t(f"load {element}, ptr {t(f'getelementptr {element}, ptr {base}, i32 {2 * k + half}')}, align 128")


def _largest(t: Text, a: str, b: str, kind: str = V) -> str:
    above = t(f"icmp sgt {kind} {a}, {b}")
    return t(f"select {P} {above}, {kind} {a}, {kind} {b}")


def _power(t: Text, exponent: str) -> str:
    """2 ** exponent as f32, of exponents in its range."""
    biased = t(f"shl {V} {t(f'add {V} {exponent}, splat (i32 127)')}, splat (i32 23)")
    return t(f"bitcast {V} {biased} to {F}")


def _exponent_of_c(t: Text, form: Form, number: str) -> str:
    """Unbiased; that of infinities and NaN is beyond the highest."""
    size = t(f"and {V} {t(f'bitcast {F} {number} to {V}')}, splat (i32 {(1 << 31) - 1})")
    field, least = t(f"lshr {V} {size}, splat (i32 23)"), LEAST[form.sums] + 127
    exponent = t(f"sub {V} {_largest(t, field, f'splat (i32 {least})')}, splat (i32 127)")
    is_zero = t(f"icmp eq {V} {size}, zeroinitializer")
    return t(f"select {P} {is_zero}, {V} splat (i32 {NO_TERM}), {V} {exponent}")


def float_sums(t: Text, form: Form, c: list[str]) -> tuple[str, list[str]]:
    """Whether the quick way holds (i1), and the sums as f32 or f16 bits in f32."""
    places = [(n // 2, n % 2) for n in range(4)]  # row half and column of the four registers
    narrow = [""] * 4
    for k in range(form.depth):
        a = [_a_exponents(t, k, half) for half in (0, 1)]
        b = [_b_exponents(t, k, column) for column in (0, 1)]
        for n, (half, column) in enumerate(places):
            of_product = t(f"add {E} {a[half]}, {b[column]}")
            narrow[n] = _largest(t, narrow[n], of_product, E) if narrow[n] else of_product
    top = [
        _largest(t, t(f"sext {E} {n} to {V}"), _exponent_of_c(t, form, start))
        for n, start in zip(narrow, c, strict=True)
    ]
    good = ""
    for exponent in top:
        above = t(f"sub {V} {exponent}, splat (i32 {_LOWEST})")
        inside = t(f"icmp ule {V} {above}, splat (i32 {_HIGHEST - _LOWEST})")
        fine = t(f"or {P} {inside}, {t(f'icmp sle {V} {exponent}, splat (i32 -4000)')}")
        good = t(f"and {P} {good}, {fine}") if good else fine
    bounded = [_largest(t, n, f"splat (i32 {_LOWEST})") for n in top]
    scale = [_power(t, t(f"sub {V} splat (i32 {form.kept_bits}), {n}")) for n in bounded]

    def cut(value: str, n: int) -> str:
        return t(f"fptosi {F} {t(f'fmul {F} {value}, {scale[n]}')} to {V}")

    sums = [[cut(c[n], n)] for n in range(4)]
    for k in range(form.depth):
        a = [_a_vector(t, "%a", k, half, F) for half in (0, 1)]
        b = [_b_vector(t, "%b", k, column, F) for column in (0, 1)]
        for n, (half, column) in enumerate(places):
            term = cut(t(f"fmul {F} {a[half]}, {b[column]}"), n)
            # eight terms below 2**27 and C fit into a word; more of shorter ones
            if k % 8 == 0 and k > 0 and form.kept_bits > 20:
                sums[n].append(term)
            else:
                sums[n][-1] = t(f"add {V} {sums[n][-1]}, {term}")
    totals, beyond = [], ""
    for parts in sums:
        total, beyond = _added(t, parts, beyond)
        totals.append(total)
    if beyond:
        fits = t(f"icmp sge {V} {beyond}, zeroinitializer")
        good = t(f"and {P} {good}, {fits}")
    is_quick = t(f"icmp eq i32 {t(f'bitcast {P} {good} to i32')}, -1")
    return is_quick, [_rounded(t, form, totals[n], bounded[n]) for n in range(4)]


def _rounded(t: Text, form: Form, total: str, exponent: str) -> str:
    """A sum of whole numbers in units of the last kept bit, as f32 (or f16 in f32): cut."""
    bits, is_exact = (_cut_at_once if form.has_avx512 else _cut)(t, total)
    if form.sums == "f16":  # a last bit that tells of dropped ones: rounding again is then right
        lost = t(f"xor {P} {is_exact}, splat (i1 true)")
        bits = t(f"or {V} {bits}, {t(f'zext {P} {lost} to {V}')}")
    elif form.kept_bits < 23:
        bits = t(f"and {V} {bits}, splat (i32 {-(1 << 23 - form.kept_bits)})")
    power = _power(t, t(f"sub {V} {exponent}, splat (i32 {form.kept_bits})"))
    return t(f"fmul {F} {t(f'bitcast {V} {bits} to {F}')}, {power}")


def _cut_at_once(t: Text, total: str) -> tuple[str, str]:
    """The bits of whole numbers in f32, cut by AVX-512, and which are exact."""
    pieces, half = [], "<16 x i32>"
    for first in (0, 16):
        order = int_list(range(first, first + 16))
        word = t(f"shufflevector {V} {total}, {V} poison, {order}")
        pieces.append(t(f"call <16 x float> @{CONVERT}({half} {word}, i32 {_TO_ZERO})"))
    single = t(f"shufflevector <16 x float> {pieces[0]}, <16 x float> {pieces[1]}, "
               f"{int_list(range(32))}")  # fmt: skip
    is_exact = t(f"icmp eq {V} {t(f'fptosi {F} {single} to {V}')}, {total}")
    return t(f"bitcast {F} {single} to {V}"), is_exact


def _cut(t: Text, total: str) -> tuple[str, str]:
    """The same: what the conversion to 24 bits rounds up is taken back."""
    sign = t(f"ashr {V} {total}, splat (i32 31)")
    size = t(f"sub {V} {t(f'xor {V} {total}, {sign}')}, {sign}")
    rounded = t(f"uitofp {V} {size} to {F}")
    back = t(f"fptoui {F} {rounded} to {V}")
    bits = t(f"bitcast {F} {rounded} to {V}")
    above = t(f"icmp ugt {V} {back}, {size}")
    cut = t(f"add {V} {bits}, {t(f'sext {P} {above} to {V}')}")
    signed = t(f"or {V} {cut}, {t(f'and {V} {sign}, splat (i32 {-(1 << 31)})')}")
    return signed, t(f"icmp eq {V} {back}, {size}")


def _added(t: Text, parts: list[str], beyond: str) -> tuple[str, str]:
    """The sum of parts, and bits whose highest is set where a word does not hold one of the sums."""
    total = parts[0]
    for part in parts[1:]:
        after = t(f"add {V} {total}, {part}")
        first, second = t(f"xor {V} {total}, {after}"), t(f"xor {V} {part}, {after}")
        lost = t(f"and {V} {first}, {second}")
        beyond = t(f"or {V} {beyond}, {lost}") if beyond else lost
        total = after
    return total, beyond


def integer_sums(t: Text, form: Form, c: list[str]) -> list[str]:
    """Sums of whole numbers, exact in f32 without C; of b1 words the numbers of common ones."""
    found: list[str] = []
    for n in range(4):
        total = ""
        for k in range(form.depth):
            a = _a_vector(t, "%a", k, n // 2, V if form.a == "b1" else F)
            b = _b_vector(t, "%b", k, n % 2, V if form.a == "b1" else F)
            if form.a == "b1":
                ones = t(f"call {V} @llvm.ctpop.v32i32({V} {t(f'and {V} {a}, {b}')})")
                total = t(f"add {V} {total}, {ones}") if total else ones
            else:
                product = t(f"fmul {F} {a}, {b}")
                total = t(f"fadd {F} {total}, {product}") if total else product
        whole = total if form.a == "b1" else t(f"fptosi {F} {total} to {V}")
        if form.saturates:
            found.append(t(f"call {V} @llvm.sadd.sat.v32i32({V} {c[n]}, {V} {whole})"))
        else:
            found.append(t(f"add {V} {c[n]}, {whole}"))
    return found


def load_c(t: Text, form: Form) -> list[str]:
    """C's four elements per lane of the present eight columns, zeros without accumulation."""
    words = 2 if form.sums == "f16" else 4
    registers = []
    for n in range(words):
        word = t(f"load {V}, ptr {t(f'getelementptr {V}, ptr %cj, i32 {n}')}, align 64")
        registers.append(t(f"select i1 %adds, {V} {word}, {V} zeroinitializer"))
    if form.sums == "s32":
        return registers
    if form.sums == "f32":
        return [t(f"bitcast {V} {word} to {F}") for word in registers]
    found = []
    for word in registers:
        halves = t(f"bitcast {V} {word} to <64 x half>")
        for odd in (0, 1):
            order = int_list([2 * lane + odd for lane in range(32)])
            part = t(f"shufflevector <64 x half> {halves}, <64 x half> poison, {order}")
            found.append(t(f"fpext <32 x half> {part} to {F}"))
    return found


def store_d(t: Text, form: Form, d: list[str]) -> None:
    if form.sums == "f16":
        words = []
        for n in (0, 2):
            low, high = (t(f"fptrunc {F} {d[n + i]} to <32 x half>") for i in (0, 1))
            order = int_list([lane // 2 + 32 * (lane % 2) for lane in range(64)])
            both = t(f"shufflevector <32 x half> {low}, <32 x half> {high}, {order}")
            bits = t(f"bitcast <64 x half> {both} to <64 x i16>")
            size = t(f"and <64 x i16> {bits}, splat (i16 32767)")
            gone = t(f"icmp eq <64 x i16> {size}, zeroinitializer")  # a vanished sum is +0
            kept = t(f"select <64 x i1> {gone}, <64 x i16> zeroinitializer, <64 x i16> {bits}")
            words.append(t(f"bitcast <64 x i16> {kept} to {V}"))
    else:
        words = [t(f"bitcast {F} {n} to {V}") if form.sums == "f32" else n for n in d]
    for n, word in enumerate(words):
        t.do(f"store {V} {word}, ptr {t(f'getelementptr {V}, ptr %cj, i32 {n}')}, align 64")


def slow_sums(t: Text, form: Form, slow: str) -> None:
    """The four registers by the function made from isa/accumulate.py."""
    c = load_c(t, form)
    arguments: list[list[str]] = []
    for n in range(4):
        a = [_a_vector(t, "%a", k, n // 2, V) for k in range(form.depth)]
        b = [_b_vector(t, "%b", k, n % 2, V) for k in range(form.depth)]
        if form.is_sparse:  # a zero that is not kept does not meet an infinity
            kept = [_a_vector(t, "%keep", k, n // 2, V) for k in range(form.depth)]
            b = [t(f"and {V} {word}, {mask}") for word, mask in zip(b, kept, strict=True)]
        arguments.append([*a, *b, t(f"bitcast {F} {c[n]} to {V}")])
    results = []
    for words in arguments:
        given = ", ".join(f"{V} {word}" for word in words)
        whole = t(f"call {{ {V} }} @{slow}({given})")
        results.append(t(f"extractvalue {{ {V} }} {whole}, 0"))
    if form.sums == "f16":
        for n in (0, 2):
            word = t(f"or {V} {results[n]}, {t(f'shl {V} {results[n + 1]}, splat (i32 16)')}")
            t.do(f"store {V} {word}, ptr {t(f'getelementptr {V}, ptr %cj, i32 {n // 2}')}, align 64")
        return
    for n, word in enumerate(results):
        t.do(f"store {V} {word}, ptr {t(f'getelementptr {V}, ptr %cj, i32 {n}')}, align 64")
