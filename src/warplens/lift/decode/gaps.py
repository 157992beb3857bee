"""Every instruction of a kernel with its table entry, and why some have none."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.errors import Unsupported
from warplens.isa import table
from warplens.isa.refused import feature_of
from warplens.lift.decode.binding import BindingError, Bound, bind
from warplens.lift.decode.recent import Recent
from warplens.sass.model import Instruction, SassKernel
from warplens.wording import count


def describe(kernel: SassKernel, inst: Instruction) -> str:
    """Where an instruction stands: kernel, offset, source line and text."""
    source = f" ({inst.place})" if inst.place else ""
    return f"{kernel.demangled or kernel.name}+{inst.address:#06x}{source}: {inst.text.strip()}"


Binding = tuple[tuple[Bound | None, ...], tuple[tuple[Instruction, str], ...]]


def bind_kernel(kernel: SassKernel) -> Binding:
    """Every instruction with its table entry, and the gaps with their reasons."""
    return _recent.of(kernel.instructions)


def _bind(code: tuple[Instruction, ...]) -> Binding:
    bound: list[Bound | None] = []
    gaps: list[tuple[Instruction, str]] = []
    for inst in code:
        entry = table.find(inst.opcode, inst.modifiers)
        reason = ""
        item: Bound | None = None
        feature = feature_of(inst.opcode, inst.modifiers)
        if entry is None:
            reason = f"unknown opcode {inst.opcode}"
            reason = f"{feature.name} are not supported" if feature else reason
        else:
            unknown = [m for m in inst.modifiers if m not in entry.modifiers]
            if unknown and feature is not None:
                reason = f"{feature.name} are not supported"
            elif unknown:
                reason = f"unknown modifier .{unknown[0]} of {inst.opcode}"
            else:
                try:
                    item = bind(inst, entry)
                except BindingError as error:
                    reason = str(error)
        if reason:
            gaps.append((inst, reason))
        bound.append(item)
    return tuple(bound), tuple(gaps)


_recent = Recent(_bind)


def raise_gaps(kernel: SassKernel, gaps: Sequence[tuple[Instruction, str]]) -> None:
    """Refuses a kernel that has gaps, naming all of them."""
    if not gaps:
        return
    shown = [f"  {describe(kernel, inst)}\n      {reason}" for inst, reason in gaps[:50]]
    if len(gaps) > 50:
        shown.append(f"  … and {len(gaps) - 50} more")
    features = (feature_of(inst.opcode, inst.modifiers) for inst, _ in gaps)
    advice = dict.fromkeys(f.advice for f in features if f is not None)
    see = "nothing was executed; `warplens list opcodes FILE.cu` lists them per architecture"
    raise Unsupported(
        f"{kernel.demangled or kernel.name} (sm_{kernel.sm}) uses "
        f"{count(len(gaps), 'unsupported instruction')}:\n" + "\n".join(shown),
        hint="; ".join((*advice, see)),
    )
