"""Code for atomics and reductions; the lanes' work is done by the helpers of atomic_ir.py."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import ATOMIC_VECTORS, BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import (
    address_of,
    get_scratch,
    is_wide,
    memory_operand,
    own_shared,
    placed,
    put_address,
    put_scratch,
    space_of,
    write_words,
)
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.sites import (
    call,
    cluster_helper,
    new_site,
    site_pointer,
    slow_down,
    use_runtime,
)
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import atomic_ir, counted_ir
from warplens.lift.runtime.access_ir import RESULTS, SWAP, VALUES
from warplens.sass.model import PT, RZ, Operand, Pred, Reg, UPred

_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAST", "CAS",
               "SAFEADD")  # fmt: skip


def atomic_operation(item: Bound) -> tuple[str, str, int]:
    """(operation, operand type, bits) of an atomic."""
    modifiers = item.inst.modifiers
    if "POPC" in modifiers:  # ATOMS.POPC.INC: adds 1 for every lane
        return "POPC", "U32", 32
    operation = next((o for o in _OPERATIONS if o in modifiers), "")
    if operation == "SAFEADD" or not operation or "ARRIVE" in modifiers:
        raise BindingError(f"atomic operation of {item.inst.mnemonic}")
    if "128" in modifiers:
        return operation, "U128", 128
    for name, bits in ATOMIC_VECTORS.items():
        if name in modifiers:
            if operation not in (("ADD",) if "F32" in name else ("ADD", "MIN", "MAX")):
                raise BindingError(f"atomic {operation} on {name}: how it treats NaN is not known")
            return operation, name, bits
    for name in ("F16x2", "BF16x2", "F32", "F64", "U64", "S64", "S32"):
        if name in modifiers:
            packed = ("MIN", "MAX") if name.endswith("16x2") else ()
            if name[0] in "FB" and operation not in ("ADD", "EXCH", "CAS", *packed):
                raise BindingError(f"atomic {operation} on {name}: how it treats NaN is not known")
            return operation, name, 64 if name.endswith("64") else 32
    if "BF16_V2" in modifiers:
        return operation, "BF16x2", 32
    for name in ("F16", "BF16", "FMIN", "FMAX"):
        if name in modifiers:
            raise BindingError(f"atomic on {name}")
    return (operation, "U64", 64) if "64" in modifiers else (operation, "U32", 32)


@role("atomic", "reduction")
def atomic(w: RegionWriter, item: Bound) -> None:
    """ATOMG, ATOM, ATOMS, RED."""
    space = space_of(item)
    operation, kind, bits = atomic_operation(item)
    mem = memory_operand(item)
    address = placed(w, space, address_of(w, mem, is_wide(item, mem, space)))
    operands = list(item.inst.operands)
    position = operands.index(mem)
    outputs, inputs = operands[:position], [
        o for o in operands[position + 1 :] if not isinstance(o, Pred | UPred)
    ]
    words = bits // 32
    result = any(
        o.index != (RZ if isinstance(o, Reg) else PT) for o in outputs if isinstance(o, Reg | Pred)
    )
    _use_atomic(w, space, operation, kind, bits, result)
    if inputs:
        for k in range(words):
            put_scratch(w, VALUES + k, w.operands.bits_word(inputs[0], k, False))
    if operation in ("CAS", "CAST"):
        swap = inputs[1] if len(inputs) > 1 else None
        for k in range(words):
            if swap is not None:
                value = w.operands.bits_word(swap, k, False)
            else:  # compare and swap sit in consecutive registers
                value = w.operands.bits_word(inputs[0], words + k, False)
            put_scratch(w, SWAP + k, value)
    slow_down(w, item)
    site_index, slot = new_site(w, space, bits // 8, "atomic")
    site, mask = site_pointer(w, site_index), w.lanes_mask()
    mask = check_lanes(w, space, at.ACCESS_ATOMIC, bits // 8, address, site_index, mask)
    flags = [o for o in outputs if isinstance(o, Pred) and o.index != PT and operation != "CAST"]
    if flags and space != "generic":  # recorded: ATOMG's predicate is false, the atomic is done
        for flag in flags:
            w.operands.write_word(256 + flag.index, w.x.false(), w.guard)
    elif flags:
        served = _served(w, address, operation, kind)
        mask = w.emit(f"and i32 {mask}, {w.x.ballot_scalar(served)}")
        for flag in flags:
            w.operands.write_word(256 + flag.index, served, w.guard)
    imm = put_address(w, space, address)
    stem = atomic_ir.atomic_stem(operation, kind, bits, result)
    call(w, f"wl.{space}.{stem}", site, mask, imm, slot)
    registers = [o for o in outputs if isinstance(o, Reg)]
    if operation == "CAST":
        _cast_result(w, outputs, words)
    elif registers and result:
        write_words(w, registers[0], [get_scratch(w, RESULTS + k) for k in range(words)])


def _served(w: RegionWriter, address: tuple[Value, Value | None, int], operation: str,
            kind: str) -> Value:  # fmt: skip
    """Where an atomic with a predicate is done; the predicate sends other lanes to a loop.

    ATOM never reaches local memory; exchanges reach all shared memory, integer sums that of other
    blocks, everything else none. Recorded on an H200 in clusters; what compiled code does next
    says the same of the rest.
    """
    low, high, offset = address
    assert high is not None
    x = w.x
    served = x.icmp("ne", high, x.u32(at.LOCAL_WINDOW_HIGH))
    if operation in ("EXCH", "CAS"):
        return served
    shared = x.icmp("eq", high, x.u32(at.SHARED_WINDOW_HIGH))
    if operation == "ADD" and kind[0] in "US" and w.clusters:
        own = own_shared(w, low if not offset else x.add(low, x.u32(offset)))
        shared = x.pand(shared, x.icmp("ult", own, x.u32(1 << 24)))
    return x.pand(served, x.pnot(shared))


def _cast_result(w: RegionWriter, outputs: list[Operand], words: int) -> None:
    """ATOMS.CAST.SPIN: whether the exchange happened, as 0/1 (of its width) or as a predicate.

    Only lanes whose turn it is exchange (`atomic_ir.turn`); compiled code tries again with others.
    ATOM.CAST, which has the predicate, leaves the register where it does not hold: recorded on
    global memory, where it never does.
    """
    won = Value("u32", get_scratch(w, RESULTS))
    happened = w.x.icmp("ne", won, w.x.u32(0))
    guard = happened if w.guard is None else w.x.pand(happened, w.guard)
    has_flag = any(isinstance(operand, Pred) for operand in outputs)
    for operand in outputs:
        if isinstance(operand, Reg) and operand.index != RZ:
            for k in range(words):
                word = Value("u32", get_scratch(w, RESULTS + k))
                w.operands.write_word(operand.index + k, word, guard if has_flag else w.guard)
        elif isinstance(operand, Pred) and operand.index != PT:
            w.operands.write_word(256 + operand.index, happened, w.guard)


def _use_atomic(w: RegionWriter, space: str, operation: str, kind: str, bits: int,
                result: bool) -> None:  # fmt: skip
    stem = atomic_ir.atomic_stem(operation, kind, bits, result)
    spaces = ("global", "shared") if space == "generic" else (space,)
    functions = [
        (f"wl.{s}.{stem}", atomic_ir.atomic(s, operation, kind, bits, w.observe, result))
        for s in spaces
    ]
    if operation == "POPC" and not result and not w.observe and counted_ir.is_quick(w.features):
        name = f"wl.shared.{stem}"
        walk = dict(functions)[name].replace(f"@{name}(", f"@{name}.walk(")
        functions = [f for f in functions if f[0] != name]
        functions = [*counted_ir.DECLARATIONS.items(), (f"{name}.walk", walk),
                     (name, counted_ir.add_ones(name)), *functions]  # fmt: skip
    if operation == "CAST" and space != "global":
        functions.insert(0, (f"wl.turn.{bits // 8}", atomic_ir.turn(bits // 8)))
    if space == "generic":
        text = atomic_ir.generic_atomic(operation, kind, bits, result, w.clusters)
        functions.append((f"wl.generic.{stem}", text))
    use_runtime(w, *functions)
    if space == "generic" and w.clusters:
        text = atomic_ir.atomic("shared", operation, kind, bits, result=result)
        cluster_helper(w, f"wl.shared.{stem}", bits // 8, text)
