"""What the native checks must know of every instruction, and names for shared addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warplens.isa.tensor_memory import PRODUCTS, has_tensor_memory
from warplens.isa.warpgroup import OPCODES, product_of
from warplens.lift.decode.binding import access_bytes
from warplens.sanitize import state as st
from warplens.sanitize.polling import polling_loads, reachable
from warplens.sanitize.widths import place_of, width_flags
from warplens.sass.model import Imm, Instruction, SassKernel, Token

if TYPE_CHECKING:
    from warplens.sanitize.ptx import OrderingLines

_ACCESSES = frozenset({"LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"})
_MBARRIER = frozenset({"SYNCS", "ARRIVES", "UTCBAR"})
_CELLS = frozenset({"LDTM", "STTM", "UTCCP", "UTCATOMSWS", "UTCSHIFT", *PRODUCTS})
_NEAR = frozenset({"CTA", "SM"})
_SHUFFLES = {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3}
_COLLECTIVE = frozenset({"SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "ELECT"})
_LEAVES = frozenset({"RET", "BRA", "EXIT", "ENDCOLLECTIVE", "CALL", "BSYNC", "WARPSYNC"})
_LOOK_AHEAD = 24

def flags_of(inst: Instruction) -> int:
    """What an instruction means to the checks."""
    modifiers = set(inst.modifiers)
    if inst.opcode in _MBARRIER or (inst.opcode == "ATOMS" and "ARRIVE" in modifiers):
        return _mbarrier_flags(inst.opcode, modifiers)
    if inst.opcode in _ACCESSES:
        return _access_flags(inst.opcode, modifiers)
    if inst.opcode == "DEPBAR":
        return st.F_COPY_WAIT
    if inst.opcode == "MEMBAR":
        return st.F_FENCE | (0 if modifiers & _NEAR else st.F_WIDE_FENCE)
    if inst.opcode == "CCTL":
        return st.F_ACQUIRE if "IVALL" in modifiers else 0
    if inst.opcode == "SURED":
        return st.F_STRONG | st.F_ATOMIC
    # what these write is released by their arrival
    if inst.opcode in ("STAS", "REDAS", "UGETNEXTWORKID"):
        return st.F_STRONG | st.F_ATOMIC | st.F_RELEASE | st.F_FAR_RELEASE
    if inst.opcode == "FENCE":
        if "ASYNC" not in modifiers:
            return 0
        return st.F_STORED if any(m.startswith("T") for m in modifiers) else st.F_PROXY
    if inst.opcode in OPCODES:
        closes = any(isinstance(o, Token) and o.text.startswith("gsb") for o in inst.operands)
        return st.F_PRODUCT | (st.F_BULK_COMMIT if closes else 0)
    if inst.opcode == "WARPGROUP":
        return st.F_PRODUCT_WAIT if "DEPBAR" in modifiers else 0
    if inst.opcode == "BAR":
        return st.F_BARRIER | (st.F_ARRIVE if "ARV" in modifiers else 0)
    if inst.opcode in _CELLS:
        kinds = {"LDTM": 0, "STTM": st.F_LATE, "UTCATOMSWS": st.F_FREES}
        return st.F_CELLS | kinds.get(inst.opcode, st.F_CORE)
    if inst.opcode == "SHFL":
        mode = next((_SHUFFLES[m] for m in inst.modifiers if m in _SHUFFLES), 0)
        return st.F_SHUFFLE | mode << st.F_SHUFFLE_MODE
    plain = {"LDGSTS": st.F_ASYNC, "LDGDEPBAR": st.F_COPY_COMMIT, "UBLKCP": st.F_BULK,
             "EXIT": st.F_EXIT, "KILL": st.F_EXIT, "CALL": st.F_CALL,
             "WARPSYNC": st.F_WARPSYNC, "UTMALDG": st.F_BULK | st.F_TENSOR,
             "UTMASTG": st.F_BULK | st.F_TENSOR, "UTMAREDG": st.F_BULK | st.F_TENSOR,
             "UTMACMDFLUSH": st.F_BULK_COMMIT, "UBLKRED": st.F_BULK,
             "UCGABAR_ARV": st.F_CLUSTER | st.F_ARRIVE, "UCGABAR_WAIT": st.F_CLUSTER}  # fmt: skip
    return plain.get(inst.opcode, 0)


def _mbarrier_flags(opcode: str, modifiers: set[str]) -> int:
    """Arrivals release, looks at the phase acquire; the first value is a plain store."""
    if modifiers & {"EXCH", "CCTL"}:
        return st.F_INIT if "EXCH" in modifiers else 0
    flags = st.F_STRONG | st.F_ATOMIC | st.F_MBARRIER
    if "PHASECHK" in modifiers:
        return flags | st.F_AT_ONCE
    if opcode == "ARRIVES":
        flags |= st.F_COPY_COMMIT
    if opcode == "UTCBAR":
        flags |= st.F_BULK_COMMIT | st.F_FAR_RELEASE
    return flags | st.F_RELEASE


def _access_flags(opcode: str, modifiers: set[str]) -> int:
    flags = st.F_STRONG if "STRONG" in modifiers or "MMIO" in modifiers else 0
    if opcode.startswith(("ATOM", "RED")):
        flags |= st.F_STRONG | st.F_ATOMIC
        flags |= st.F_CAS if modifiers & {"CAS", "CAST"} else 0
        flags |= st.F_EXCHANGE if "EXCH" in modifiers else 0
    if flags and modifiers & _NEAR:
        flags |= st.F_BLOCK_SCOPE
    return flags


def orders_memory(instructions: tuple[Instruction, ...], index: int) -> bool:
    """Whether a WARPSYNC stands for `__syncwarp()`: shuffles and votes order no memory."""
    for inst in instructions[index + 1 : index + 1 + _LOOK_AHEAD]:
        if inst.opcode in _COLLECTIVE:
            return False
        if inst.opcode in _LEAVES or inst.opcode == "BAR":
            return True
    return True


def instruction_table(kernel: SassKernel, ordering: OrderingLines) -> npt.NDArray[np.int64]:
    """The native table; `ordering` holds lines whose accesses are stronger than their SASS."""
    table = np.zeros((len(kernel.instructions), st.INSTRUCTION_SLOTS), np.int64)
    # Where shared memory lacks an atomic, the compiler loads and tries to exchange in a loop.
    emulated = {
        i.line for i in kernel.instructions if i.opcode == "ATOMS" and "CAST" in i.modifiers
    }
    polls = polling_loads(kernel)
    for i, inst in enumerate(kernel.instructions):
        flags = flags_of(inst)
        if inst.opcode == "WARPSYNC" and orders_memory(kernel.instructions, i):
            flags |= st.F_ORDERS_MEMORY
        if inst.opcode == "WARPSYNC" and "cooperative_groups" in (inst.file or ""):
            flags |= st.F_OF_GROUP
        source = place_of(inst)
        if inst.opcode in ("LDS", "STS") and (
            source in ordering.strong or (inst.opcode == "LDS" and inst.line in emulated)
        ):
            flags |= st.F_STRONG
        if inst.opcode == "LD" and inst.line in emulated:  # of a fellow's shared memory
            flags |= st.F_STRONG
        if source in ordering.volatile and flags & st.F_STRONG and not flags & st.F_ATOMIC:
            flags |= st.F_VOLATILE
        if flags & st.F_STRONG and i in polls:
            flags |= st.F_POLLS
        if inst.opcode == "LDS" and source in ordering.waits:
            flags |= st.F_STRONG | st.F_AT_ONCE | st.F_MBARRIER
        if source in ordering.acquire and flags & st.F_STRONG:
            flags |= st.F_AT_ONCE
        table[i, st.I_FLAGS] = flags
        if inst.opcode == "WARPSYNC" and _goes_with_barrier(kernel.instructions, i):
            table[i, st.I_FLAGS] |= st.F_BEFORE_BARRIER
        if flags & st.F_BULK:
            forms = [m for m in inst.modifiers if m in ("S", "G")]
            from_shared = forms[:1] == ["G"] or inst.opcode in ("UTMASTG", "UTMAREDG")
            table[i, st.I_BARRIER] = int(from_shared)
        if flags & st.F_PRODUCT:
            table[i, st.I_BARRIER] = _product_form(inst)
        if flags & (st.F_COPY_WAIT | st.F_PRODUCT_WAIT):
            table[i, st.I_BARRIER] = next(
                (o.bits for o in inst.operands if isinstance(o, Imm)), 0
            )
    for i, bits in width_flags(kernel, ordering.narrow).items():
        table[i, st.I_FLAGS] |= bits
    _mark_bypasses(kernel, table)
    return table


def _product_form(inst: Instruction) -> int:
    """What at_product must know of a product beside its descriptors."""
    product = product_of(inst)
    forms = ((256, product.a_register is not None), (512, "tnspA" in product.marks),
             (1024, "tnspB" in product.marks))  # fmt: skip
    return product.columns // 8 + sum(bit for bit, holds in forms if holds)


def _goes_with_barrier(instructions: tuple[Instruction, ...], index: int) -> bool:
    """Whether a WARPSYNC only gathers the warp for the block barrier that follows."""
    for inst in instructions[index + 1 : index + 4]:
        if inst.opcode == "BAR":
            return True
        if inst.opcode in _LEAVES:
            return False
    return False


def _mark_bypasses(kernel: SassKernel, table: npt.NDArray[np.int64]) -> None:
    """Gives barriers bits, and accesses the bits of barriers that lie behind them for good.

    That is code that follows the barrier and from which the barrier cannot be reached again: a
    lane that gets there while its fellows wait has gone past the barrier.
    """
    reach = reachable(kernel)
    block_of = {i: b.index for b in kernel.blocks for i in range(b.start, b.end)}
    bars = [
        i for i, inst in enumerate(kernel.instructions)
        if inst.opcode == "BAR" and "ARV" not in inst.modifiers and i in block_of
    ][:62]  # fmt: skip
    for bit, bar in enumerate(bars):
        table[bar, st.I_BARRIER] = 1 << bit
    for i, inst in enumerate(kernel.instructions):
        if i not in block_of or inst.opcode not in _ACCESSES | {"LDS", "STS"}:
            continue
        here = block_of[i]
        for bit, bar in enumerate(bars):
            there = block_of[bar]
            if here == there:
                behind = i > bar and here not in reach[here]
            else:
                behind = here in reach[there] and there not in reach[here]
            if behind:
                table[i, st.I_BARRIER] |= 1 << bit
                table[i, st.I_FLAGS] |= st.F_PASSED


def passed_accesses(kernel: SassKernel) -> frozenset[int]:
    """Accesses that show a barrier to be bypassed, see above."""
    table = np.zeros((len(kernel.instructions), st.INSTRUCTION_SLOTS), np.int64)
    _mark_bypasses(kernel, table)
    passed = np.flatnonzero(table[:, st.I_FLAGS] & st.F_PASSED)
    return frozenset(int(index) for index in passed)


def uses_mbarriers(kernel: SassKernel) -> bool:
    """Whether a kernel has barriers in shared memory, whose words are to be looked at."""
    return any(flags_of(inst) & st.F_MBARRIER for inst in kernel.instructions)


def cell_shift(kernel: SassKernel) -> int:
    """How many bytes, as a power of two, a shadow cell stands for: no more than a store writes."""
    shift = 2
    for inst in kernel.instructions:
        if inst.opcode in _ACCESSES | {"STS"} and not inst.opcode.startswith("LD"):
            modifiers = set(inst.modifiers)
            shift = 0 if modifiers & {"U8", "S8"} else shift
            shift = min(shift, 1) if modifiers & {"U16", "S16"} else shift
        elif inst.opcode == "SUST":  # formatted ones write texels, of any size
            shift = min(shift, access_bytes(inst).bit_length() - 1 if "BA" in inst.modifiers else 0)
    return shift


def lent_shared(kernel: SassKernel) -> int:
    """Bytes of the system's shared memory that code of NVIDIA's headers and compilers uses.

    Cooperative groups do for tiles of many warps, allocations of tensor memory to keep their books.
    """
    header = "cooperative_groups/details/memory.h"
    lends = any((i.file or "").endswith(header) for i in kernel.instructions)
    return 0x400 if lends or has_tensor_memory(kernel) else 0


def reserved_shared(kernel: SassKernel) -> int:
    """Bytes of shared memory before the user's own, which belong to the system."""
    if kernel.sm < 90 or lent_shared(kernel):
        return 0
    return kernel.shared_section - kernel.static_shared if kernel.shared_section else 0x400
