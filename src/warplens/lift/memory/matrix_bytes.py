"""LLVM IR of LDSM and STSM for matrices whose elements are bytes in registers (sm_100, sm_120).

A row is 16 bytes of memory: 16 bytes, or 16 numbers of 6 or 4 bits with nothing behind them, which
come as bytes without signs. A lane (g, t) is lane 4 g + t. As the PTX manual has them: of a matrix
of eight rows it has columns 4 t to 4 t + 3 of row g; of one of sixteen, transposed, rows 4 t to
4 t + 3 of column g, and in a second register of column g + 8; it stores, transposed, rows 2 t and
2 t + 1 of column g and then of column g + 8.
"""

from __future__ import annotations

from warplens.isa.matrix_moves import Matrices
from warplens.lift.runtime.access_ir import RESULTS, VALUES, scratch
from warplens.lift.vector_ir import W64, V

_PIECE = 12  # scratch slot for what one access moves
_LANES = range(32)


def vector(values: list[int]) -> str:
    """A constant of 32 words."""
    return "<" + ", ".join(f"i32 {n}" for n in values) + ">"


def row_addresses(name: str, lanes: list[int], bytes_in_row: list[int]) -> str:
    """Offsets in shared memory: whose row each lane looks at, and where in it."""
    return f"""  %{name}.s = shufflevector {V} %off32, {V} poison, {V} {vector(lanes)}
  %{name}.a = add {V} %{name}.s, {vector(bytes_in_row)}
  %{name} = zext {V} %{name}.a to {W64}"""


def _element(form: Matrices, register: int, n: int) -> tuple[list[int], list[int]]:
    """For each lane the row and the column of the n-th byte of a register that is loaded."""
    if form.is_transposed:
        matrix, half = divmod(register, 2)
        rows = [16 * matrix + 4 * (lane % 4) + n for lane in _LANES]
        return rows, [lane // 4 + 8 * half for lane in _LANES]
    return [8 * register + lane // 4 for lane in _LANES], [4 * (lane % 4) + n for lane in _LANES]


def _loaded(name: str, rows: list[int], bytes_in_row: list[int]) -> str:
    return f"""{row_addresses(name, rows, bytes_in_row)}
  call void @wl.mv.load.1(ptr %piece, ptr %host, {W64} %{name}, i32 -1, i32 0)
  %{name}.v = load {V}, ptr %piece, align 64"""


def _load_register(form: Matrices, register: int) -> str:
    lines, bits, total = [], form.bits, ""
    for n in range(4):
        rows, columns = _element(form, register, n)
        name, places = f"b{register}.{n}", [bits * column // 8 for column in columns]
        lines.append(_loaded(name, rows, places))
        value = f"%{name}.v"
        if bits < 8:
            if bits == 6:  # a number may reach into the next byte
                lines.append(_loaded(f"{name}.n", rows, [place + 1 for place in places]))
                lines.append(f"  %{name}.up = shl {V} %{name}.n.v, splat (i32 8)")
                lines.append(f"  %{name}.both = or {V} {value}, %{name}.up")
                value = f"%{name}.both"
            down = vector([bits * column % 8 for column in columns])
            lines.append(f"  %{name}.d = lshr {V} {value}, {down}")
            lines.append(f"  %{name}.e = and {V} %{name}.d, splat (i32 {(1 << bits) - 1})")
            value = f"%{name}.e"
        lines.append(f"  %{name}.p = shl {V} {value}, splat (i32 {8 * n})")
        lines.append(f"  %{name}.t = or {V} %{name}.p, {total or 'zeroinitializer'}")
        total = f"%{name}.t"
    lines.append(scratch(f"io{register}", RESULTS + register))
    lines.append(f"  store {V} {total}, ptr %io{register}, align 64")
    return "\n".join(lines)


def _store_register(register: int) -> str:
    lines = [scratch(f"io{register}", VALUES + register),
             f"  %word{register} = load {V}, ptr %io{register}, align 64"]  # fmt: skip
    for n in range(4):
        name = f"b{register}.{n}"
        rows = [8 * register + 2 * (lane % 4) + n % 2 for lane in _LANES]
        lines.append(f"""{row_addresses(name, rows, [lane // 4 + 8 * (n // 2) for lane in _LANES])}
  %{name}.w = lshr {V} %word{register}, splat (i32 {8 * n})
  store {V} %{name}.w, ptr %piece, align 64
  call void @wl.mv.store.1(ptr %piece, ptr %host, {W64} %{name}, i32 -1, i32 0)""")
    return "\n".join(lines)


def action(form: Matrices, op: str) -> str:
    """The helper's text: `load` or `store` all registers."""
    make = (lambda j: _load_register(form, j)) if op == "load" else _store_register
    return "\n".join([scratch("piece", _PIECE), *(make(j) for j in range(form.registers))])
