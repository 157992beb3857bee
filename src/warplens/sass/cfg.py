"""Basic blocks of a kernel's code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from warplens.sass.model import BasicBlock, Imm, Instruction, Label, Pred, UPred

# After these a new block begins. Barriers and WARPSYNC go on with the next instruction.
BLOCK_ENDS = frozenset("BRA BRX BRXU JMP JMX JMXU EXIT RET CALL BSYNC KILL RTT".split())
_NO_FALL_THROUGH = frozenset("BRA BRX BRXU JMP JMX JMXU EXIT RET KILL RTT".split())
_INDIRECT = frozenset("BRX BRXU JMX JMXU".split())
_MOVES = frozenset("MOV IMAD UMOV HFMA2 IADD3 VIADD IADD UIADD3".split())
# Of these branches only some lanes, or none, may go.
_CONDITIONAL_MODIFIERS = frozenset(("DIV", "CONV", "ANY"))
_BYTES = 16


def basic_blocks(
    instructions: Sequence[Instruction],
    functions: Iterable[int] = (),
    branch_targets: Mapping[int, tuple[int, ...]] | None = None,
) -> tuple[BasicBlock, ...]:
    """Splits code into basic blocks.

    Successors: targets of a branch, then the next block where control may fall through. A CALL has
    its callee, if the text names one, and the next block; a RET and an EXIT have none.

    Args:
        functions: code offsets of device functions.
        branch_targets: code offset of an indirect branch -> its targets.
    """
    if not instructions:
        return ()
    targets = branch_targets or {}
    starts = sorted(_leaders(instructions, functions, targets))
    block_of = {start: number for number, start in enumerate(starts)}
    ends = (*starts[1:], len(instructions))
    return tuple(
        BasicBlock(number, start, end, _successors(instructions, end, block_of, targets))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def _leaders(
    instructions: Sequence[Instruction],
    functions: Iterable[int],
    branch_targets: Mapping[int, tuple[int, ...]],
) -> set[int]:
    count = len(instructions)
    addresses = {0, *functions}
    for targets in branch_targets.values():
        addresses.update(targets)
    has_calls = any(instruction.opcode == "CALL" for instruction in instructions)
    leaders = set()
    for index, instruction in enumerate(instructions):
        if instruction.opcode in BLOCK_ENDS:
            leaders.add(index + 1)
        addresses.update(
            operand.address for operand in instruction.operands if isinstance(operand, Label)
        )
        if has_calls and instruction.opcode in _MOVES:
            # Code may load a return address as a number; one block too many does no harm.
            addresses.update(
                operand.bits for operand in instruction.operands if isinstance(operand, Imm)
            )
    leaders.update(address // _BYTES for address in addresses if address % _BYTES == 0)
    return {index for index in leaders if 0 <= index < count}


def is_conditional(instruction: Instruction) -> bool:
    """Whether some lanes may not do what a control-flow instruction says."""
    if instruction.guard is not None or _CONDITIONAL_MODIFIERS.intersection(instruction.modifiers):
        return True
    return any(
        isinstance(operand, Pred | UPred) and (operand.index != 7 or operand.negate)
        for operand in instruction.operands
    )


def _successors(
    instructions: Sequence[Instruction],
    end: int,
    block_of: Mapping[int, int],
    branch_targets: Mapping[int, tuple[int, ...]],
) -> tuple[int, ...]:
    last = instructions[end - 1]
    addresses: list[int] = []
    if last.opcode in _INDIRECT:
        addresses.extend(branch_targets.get(last.address, ()))
    elif last.opcode in BLOCK_ENDS and last.opcode != "RET" and not _is_indirect_call(last):
        addresses.extend(o.address for o in last.operands if isinstance(o, Label))
    if last.opcode not in _NO_FALL_THROUGH or is_conditional(last):
        addresses.append(end * _BYTES)
    found = (block_of.get(address // _BYTES) for address in addresses)
    return tuple(dict.fromkeys(block for block in found if block is not None))


def _is_indirect_call(instruction: Instruction) -> bool:
    """A CALL through a register: its label is only what the register is relative to."""
    return instruction.opcode == "CALL" and len(instruction.operands) > 1
