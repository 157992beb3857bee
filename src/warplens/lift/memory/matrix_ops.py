"""Code for LDSM and STSM: matrices between shared memory and fragments, of 16-bit elements here.

Lanes 8j to 8j + 7 hold the row addresses of matrix j (16 bytes a row). Lane l has in register j the
elements of row l / 4, columns 2 (l % 4) and the next; transposed: of column l / 4, rows 2 (l % 4)
and the next. One matrix takes one pass if its rows lie in different groups of four banks, so passes
are those of 16-byte accesses by the lanes that hold addresses.
"""

from __future__ import annotations

from warplens.isa.matrix_moves import Matrices, matrices_of
from warplens.lift import layout as at
from warplens.lift.counting.slots import STORE
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.memory.addresses import address_of, memory_operand, own_shared
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.matrix_bytes import action, row_addresses
from warplens.lift.memory.sites import call_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import move_ir, shared_ir
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES, scratch
from warplens.lift.vector_ir import W64, V
from warplens.sass.model import RZ, Mem, Reg

_HALVES = 12  # scratch slots for the two halves of a transposed register


def _plain(j: int, op: str) -> str:
    lanes = [8 * j + lane // 4 for lane in range(32)]
    place = RESULTS if op == "load" else VALUES
    return f"""{row_addresses(f"m{j}", lanes, [4 * (lane % 4) for lane in range(32)])}
{scratch(f"io{j}", place + j)}
  call void @wl.mv.{op}.4(ptr %io{j}, ptr %host, {W64} %m{j}, i32 -1, i32 0)"""


def _transposed(j: int, op: str) -> str:
    steps = []
    place = RESULTS if op == "load" else VALUES
    if op == "store":
        steps.append(f"""{scratch(f"src{j}", place + j)}
  %word{j} = load {V}, ptr %src{j}, align 64""")
    for half in (0, 1):
        lanes = [8 * j + 2 * (lane % 4) + half for lane in range(32)]
        columns = [2 * (lane // 4) for lane in range(32)]
        name = f"m{j}h{half}"
        steps.append(f"""{row_addresses(name, lanes, columns)}
{scratch(f"{name}.io", _HALVES + half)}""")
        if op == "store":
            steps.append(f"""  %{name}.w = lshr {V} %word{j}, splat (i32 {16 * half})
  store {V} %{name}.w, ptr %{name}.io, align 64""")
        steps.append(
            f"  call void @wl.mv.{op}.2(ptr %{name}.io, ptr %host, {W64} %{name}, i32 -1, i32 0)"
        )
        if op == "load":
            steps.append(f"  %{name}.v = load {V}, ptr %{name}.io, align 64")
    if op == "load":
        steps.append(f"""  %up{j} = shl {V} %m{j}h1.v, splat (i32 16)
  %both{j} = or {V} %up{j}, %m{j}h0.v
{scratch(f"io{j}", place + j)}
  store {V} %both{j}, ptr %io{j}, align 64""")
    return "\n".join(steps)


def matrix_helper(op: str, form: Matrices, observe: bool) -> tuple[str, str]:
    """Name and text of @wl.shared.matrix…: the mask names the lanes that hold addresses."""
    last = "t" if form.is_transposed else "n"
    name = f"wl.shared.matrix.{op}.{form.count}.{last}"
    if form.bits == 16:
        make = _transposed if form.is_transposed else _plain
        text = "\n".join(make(j, op) for j in range(form.count))
    else:
        name, text = f"{name}.{form.bits}", action(form, op)
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    return name, shared_ir.shared_access(name, 16, kind, text, observe, STORE)


def _matrix(w: RegionWriter, item: Bound, op: str) -> None:
    try:
        form = matrices_of(item.inst)
    except ValueError as error:
        raise BindingError(str(error)) from error
    mem: Mem = memory_operand(item)
    low, _, offset = address_of(w, mem, False)
    low = w.x.add(low, w.x.u32(offset))
    registers = [o for o in item.inst.operands if isinstance(o, Reg)]
    if op == "store":
        for j in range(form.registers):
            value = w.operands.bits_word(registers[0], j, False)
            w.line(f"store {V} {value.ref}, ptr {_slot(w, VALUES + j)}, align 64")
    low = own_shared(w, low)
    w.line(f"store {V} {low.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    name, text = matrix_helper(op, form, w.observe)
    mover = move_ir.move_load if op == "load" else move_ir.move_store
    size = 1 if form.bits < 16 else 2 if form.is_transposed else 4
    use_runtime(w, (f"wl.mv.{op}.{size}", mover(size)), (name, text))
    site, slot = new_site(w, "shared", 16)
    address_lanes = (1 << form.addresses) - 1
    address_lanes -= 1 << 32 if address_lanes >> 31 else 0
    mask = w.emit(f"and i32 {w.lanes_mask()}, {address_lanes}")
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    mask = check_lanes(w, "shared", kind, 16, (low, None, 0), site, mask)
    call_helper(w, name, site, mask, 0, slot)
    if op == "load" and registers and registers[0].index != RZ:
        for j in range(form.registers):
            value = w.x.emit("u32", f"load {V}, ptr {_slot(w, RESULTS + j)}, align 64")
            w.operands.write_word(registers[0].index + j, value, w.guard)


def _slot(w: RegionWriter, slot: int) -> str:
    return w.field(at.WARP_SCRATCH + 128 * slot)


@role("load_matrix")
def load_matrix(w: RegionWriter, item: Bound) -> None:
    """LDSM."""
    _matrix(w, item, "load")


@role("store_matrix")
def store_matrix(w: RegionWriter, item: Bound) -> None:
    """STSM."""
    _matrix(w, item, "store")
