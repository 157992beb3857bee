"""Code for LDSM and STSM: 8x8 matrices of 16-bit elements between shared memory and fragments.

Lanes 8j to 8j + 7 hold the row addresses of matrix j (16 bytes a row). Lane l has in register j the
elements of row l / 4, columns 2 (l % 4) and the next; transposed: of column l / 4, rows 2 (l % 4)
and the next. One matrix takes one pass if its rows lie in different groups of four banks, so passes
are those of 16-byte accesses by the lanes that hold addresses.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import STORE
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.memory.addresses import address_of, memory_operand, own_shared
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.sites import call_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import move_ir, shared_ir
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES, scratch
from warplens.lift.vector_ir import W64, V
from warplens.sass.model import RZ, Mem, Reg

_HALVES = 12  # scratch slots for the two halves of a transposed register


def _vector(values: list[int]) -> str:
    return "<" + ", ".join(f"i32 {n}" for n in values) + ">"


def _row_addresses(name: str, lanes: list[int], bytes_in_row: list[int]) -> str:
    return f"""  %{name}.s = shufflevector {V} %off32, {V} poison, {V} {_vector(lanes)}
  %{name}.a = add {V} %{name}.s, {_vector(bytes_in_row)}
  %{name} = zext {V} %{name}.a to {W64}"""


def _plain(j: int, op: str) -> str:
    lanes = [8 * j + lane // 4 for lane in range(32)]
    place = RESULTS if op == "load" else VALUES
    return f"""{_row_addresses(f"m{j}", lanes, [4 * (lane % 4) for lane in range(32)])}
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
        steps.append(f"""{_row_addresses(name, lanes, columns)}
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


def matrix_helper(op: str, count: int, is_transposed: bool, observe: bool) -> tuple[str, str]:
    """Name and text of @wl.shared.matrix…: `count` matrices; the mask names the address lanes."""
    name = f"wl.shared.matrix.{op}.{count}.{'t' if is_transposed else 'n'}"
    make = _transposed if is_transposed else _plain
    action = "\n".join(make(j, op) for j in range(count))
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    return name, shared_ir.shared_access(name, 16, kind, action, observe, STORE)


def _matrix(w: RegionWriter, item: Bound, op: str) -> None:
    modifiers = item.inst.modifiers
    if "8" in modifiers or "M832" in modifiers or "M816" in modifiers:
        raise BindingError(f"matrix form of {item.inst.mnemonic}")
    count = next((int(m) for m in modifiers if m in ("2", "4")), 1)
    is_transposed = "MT88" in modifiers or "T" in modifiers
    mem: Mem = memory_operand(item)
    low, _, offset = address_of(w, mem, False)
    low = w.x.add(low, w.x.u32(offset))
    registers = [o for o in item.inst.operands if isinstance(o, Reg)]
    if op == "store":
        for j in range(count):
            value = w.operands.bits_word(registers[0], j, False)
            w.line(f"store {V} {value.ref}, ptr {_slot(w, VALUES + j)}, align 64")
    low = own_shared(w, low)
    w.line(f"store {V} {low.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    name, text = matrix_helper(op, count, is_transposed, w.observe)
    mover = move_ir.move_load if op == "load" else move_ir.move_store
    size = 2 if is_transposed else 4
    use_runtime(w, (f"wl.mv.{op}.{size}", mover(size)), (name, text))
    site, slot = new_site(w, "shared", 16)
    address_lanes = (1 << 8 * count) - 1
    address_lanes -= 1 << 32 if address_lanes >> 31 else 0
    mask = w.emit(f"and i32 {w.lanes_mask()}, {address_lanes}")
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    mask = check_lanes(w, "shared", kind, 16, (low, None, 0), site, mask)
    call_helper(w, name, site, mask, 0, slot)
    if op == "load" and registers and registers[0].index != RZ:
        for j in range(count):
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
