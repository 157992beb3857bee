"""What is executed and what is refused: opcode by opcode, and instruction by instruction."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.errors import Unsupported
from warplens.isa import existing, families, refused, table
from warplens.lift.decode.binding import Bound
from warplens.lift.decode.gaps import bind_kernel
from warplens.lift.engines.host import host_features
from warplens.lift.regions.kernel_writer import KernelWriter
from warplens.lift.roles import ROLES
from warplens.sass.model import Instruction, SassKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One instruction that is refused."""

    kernel: str
    sm: int
    offset: int
    file: str
    line: int
    sass: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One opcode: where it exists, whether it is executed, and what of it is refused."""

    opcode: str
    architectures: frozenset[int]
    is_supported: bool
    pipe: str
    category: str
    modifiers: tuple[str, ...]
    meaning: str  # of what is executed; else the feature
    refused: tuple[str, ...]  # forms that are refused


def coverage() -> tuple[Coverage, ...]:
    """Every opcode of every architecture, from the registry and nvdisasm's own list."""
    families.load_all()
    entries: dict[str, list[table.Op]] = {}
    for entry in table.all_ops():
        if entry.role == "value" or entry.role in ROLES:
            entries.setdefault(entry.opcode, []).append(entry)
    return tuple(
        _covered(name, where, entries.get(name, []))
        for name, where in sorted(existing.existing().items())
    )


def _covered(name: str, where: frozenset[int], entries: list[table.Op]) -> Coverage:
    first = entries[0] if entries else None
    feature = refused.feature_of(name)
    meaning = first.doc.partition("\n")[0] if first else (feature.name if feature else "")
    return Coverage(
        opcode=name,
        architectures=where,
        is_supported=first is not None,
        pipe=first.pipe if first else "",
        category=first.category if first else "",
        modifiers=tuple(sorted(frozenset().union(*(entry.modifiers for entry in entries)))),
        meaning=meaning,
        refused=tuple(f.name for f in refused.refused_forms(name)) if first else (),
    )


def gaps_of(kernel: SassKernel, unknown_functions: tuple[str, ...] = ()) -> tuple[Gap, ...]:
    """Every instruction of a kernel that is refused; nothing is compiled or run.

    `unknown_functions` are device functions that it calls and nobody provides.
    """
    bound, gaps = bind_kernel(kernel)
    known = [_nothing(inst) if b is None else b
             for b, inst in zip(bound, kernel.instructions, strict=True)]  # fmt: skip
    writer = KernelWriter(kernel, known, host_features(), tier=0)
    try:
        writer.write()
    except Unsupported:
        gaps = tuple(sorted([*gaps, *writer.gaps], key=lambda gap: gap[0].address))
    calls = [
        Gap(kernel=kernel.demangled or kernel.name, sm=kernel.sm, offset=0, file="", line=0,
            sass=f"call of {name}", reason="this device function is not supported", advice="")
        for name in unknown_functions
    ]  # fmt: skip
    return (*(_gap(kernel, inst, reason) for inst, reason in gaps), *calls)


def _nothing(inst: Instruction) -> Bound:
    """A refused instruction as one without effect, so that those behind it are looked at too."""
    entry = table.find("NOP", ())
    assert entry is not None
    return Bound(inst, entry, (), (), frozenset(), frozenset())


def _gap(kernel: SassKernel, inst: Instruction, reason: str) -> Gap:
    feature = refused.feature_of(inst.opcode, inst.modifiers)
    return Gap(
        kernel=kernel.demangled or kernel.name,
        sm=kernel.sm,
        offset=inst.address,
        file=inst.file or "",
        line=inst.line or 0,
        sass=inst.text.strip(),
        reason=reason,
        advice=feature.advice if feature else "",
    )
