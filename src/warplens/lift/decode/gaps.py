"""Every instruction of a kernel with its table entry, and why some have none."""

from __future__ import annotations

from warplens.errors import Unsupported
from warplens.isa import table
from warplens.isa.refused import feature_of
from warplens.lift.decode.binding import BindingError, Bound, bind
from warplens.sass.model import Instruction, SassKernel


def describe(kernel: SassKernel, inst: Instruction) -> str:
    """Where an instruction stands: kernel, offset, source line and text."""
    source = f" ({inst.file}:{inst.line})" if inst.line else ""
    return f"{kernel.demangled or kernel.name}+{inst.address:#06x}{source}: {inst.text.strip()}"


def bind_kernel(kernel: SassKernel) -> tuple[list[Bound | None], list[tuple[Instruction, str]]]:
    """Every instruction with its table entry, and the gaps with their reasons."""
    bound: list[Bound | None] = []
    gaps: list[tuple[Instruction, str]] = []
    for inst in kernel.instructions:
        entry = table.find(inst.opcode, inst.modifiers)
        reason = ""
        item: Bound | None = None
        feature = feature_of(inst.opcode, inst.modifiers)
        if entry is None:
            reason = f"opcode {inst.opcode} is not known"
            reason = f"{feature.name} are not executed" if feature else reason
        else:
            unknown = [m for m in inst.modifiers if m not in entry.modifiers]
            if unknown and feature is not None:
                reason = f"{feature.name} are not executed"
            elif unknown:
                reason = f"modifier .{unknown[0]} of {inst.opcode} is not known"
            else:
                try:
                    item = bind(inst, entry)
                except BindingError as error:
                    reason = str(error)
        if reason:
            gaps.append((inst, reason))
        bound.append(item)
    return bound, gaps


def raise_gaps(kernel: SassKernel, gaps: list[tuple[Instruction, str]]) -> None:
    """Refuses a kernel that has gaps, naming all of them."""
    if not gaps:
        return
    shown = [f"  {describe(kernel, inst)}\n      {reason}" for inst, reason in gaps[:50]]
    if len(gaps) > 50:
        shown.append(f"  … and {len(gaps) - 50} more")
    features = (feature_of(inst.opcode, inst.modifiers) for inst, _ in gaps)
    advice = dict.fromkeys(f.advice for f in features if f is not None)
    see = "`warplens list opcodes FILE.cu` shows what is missing where; nothing was run"
    raise Unsupported(
        f"{kernel.demangled or kernel.name} (sm_{kernel.sm}) uses {len(gaps)} instruction(s) that "
        "are not supported:\n" + "\n".join(shown),
        hint="; ".join((*advice, see)),
    )
