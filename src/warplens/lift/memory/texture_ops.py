"""Code for textures and surfaces: operands go to the warp's scratch area, a unit does the rest."""

from __future__ import annotations

from warplens.isa.texture import COMPONENTS, Sample, components_of
from warplens.lift import layout as at
from warplens.lift.decode.binding import SAMPLING, BindingError, Bound, access_bytes, sample
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import get_scratch, put_scratch
from warplens.lift.memory.sites import call_unit, slow_down
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import RZ, Instruction, Operand

_ACTIONS = {"TEX": at.UNIT_TEX, "TLD": at.UNIT_TLD, "TLD4": at.UNIT_GATHER,
            "TXD": at.UNIT_GRADIENT, "TXQ": at.UNIT_QUERY, "SULD": at.UNIT_READ,
            "SUST": at.UNIT_WRITE, "SURED": at.UNIT_REDUCE}  # fmt: skip


def _form(inst: Instruction, found: Sample) -> int:
    """What the unit is asked for, as bits."""
    named = inst.modifiers
    form = _ACTIONS[inst.opcode] | found.rank << at.UNIT_RANK
    form |= found.is_layered << at.UNIT_LAYERED | found.is_cube << at.UNIT_CUBE
    form |= (found.level is not None) << at.UNIT_LEVEL
    if inst.opcode == "TLD4":
        wanted = [COMPONENTS.index(m) for m in named if m in COMPONENTS]
        if len(wanted) != 1:
            raise BindingError(f"component of {inst.mnemonic}")
        form |= wanted[0] << at.UNIT_COMPONENT
    if inst.opcode in ("SULD", "SUST", "SURED"):
        boundary = at.BOUNDARY_CLAMP
        if "TRAP" in named or "IGN" in named:
            boundary = at.BOUNDARY_TRAP if "TRAP" in named else at.BOUNDARY_ZERO
        form |= (access_bytes(inst).bit_length() - 1) << at.UNIT_WIDTH
        form |= boundary << at.UNIT_BOUNDARY | components_of(inst) << at.UNIT_COMPONENTS
        form |= ("BA" not in named) << at.UNIT_TEXELS
    if inst.opcode == "SURED":
        wanted = [at.UNIT_OPERATIONS.index(m) for m in named if m in at.UNIT_OPERATIONS]
        if len(wanted) != 1:
            raise BindingError(f"operation of {inst.mnemonic}")
        form |= wanted[0] << at.UNIT_OPERATION | bool({"S32", "S64"} & set(named)) << at.UNIT_SIGNED
    return form


def _counters(w: RegionWriter) -> int:
    """Reserves what the unit counts; the first one's slot."""
    first = w.counter("tex_requests", w.index, w.index + 1)
    for column in ("tex_sectors", "tex_lines", "tex_written", "tex_passes"):
        w.counter(column, w.index, w.index + 1)
    return first


def _put_operands(w: RegionWriter, found: Sample) -> None:
    """Hands everything that the instruction reads to the unit."""
    def word(operand: Operand) -> Value:
        return w.operands.bits_word(operand, 0, False)

    first = at.UNIT_PLACES if found.is_layered or not found.rank else at.UNIT_PLACES + 1
    for k, register in enumerate(found.coordinates):
        put_scratch(w, first + k, word(register))
    if found.level is not None:
        put_scratch(w, at.UNIT_VALUES, word(found.level))
    for k, register in enumerate(found.values):
        put_scratch(w, at.UNIT_VALUES + k, word(register))
    for k, register in enumerate(found.gradients):
        put_scratch(w, at.UNIT_GRADIENTS + k, word(register))
    put_scratch(w, at.UNIT_HANDLE, word(found.handle))


@role(*sorted(SAMPLING))
def texture(w: RegionWriter, item: Bound) -> None:
    """TEX, TLD, TLD4, TXD, TXQ, SULD, SUST, SURED."""
    found = sample(item.inst, item.op.role)
    form = _form(item.inst, found) | _counters(w) << at.UNIT_COUNTERS
    form |= w.watch.checks << at.UNIT_CHECKED | w.watch.accesses << at.UNIT_SHOWN
    _put_operands(w, found)
    if item.op.role.startswith("surface"):
        slow_down(w, item)
    call_unit(w, at.ENV_TEXTURE_UNIT, form, w.lanes_mask())
    components = [k for k in range(4) if found.mask >> k & 1]
    for component, index in zip(components, found.results, strict=False):
        if index != RZ:
            value = Value("u32", get_scratch(w, at.UNIT_RESULTS + component))
            w.operands.write_word(index, value, w.guard)
