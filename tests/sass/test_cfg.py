"""Basic blocks against nvdisasm's labels and first principles."""

from __future__ import annotations

import re

import pytest

from tests.sass.corpus import CASES, TEXT_CASES, in_turn, kernels, nvdisasm_text
from warplens.sass.cfg import BLOCK_ENDS, is_conditional
from warplens.sass.model import Label

each_case = pytest.mark.parametrize(("name", "sm"), in_turn(CASES, 2))
each_text_case = pytest.mark.parametrize(("name", "sm"), in_turn(TEXT_CASES, 2, first=1))


@each_case
def test_blocks_partition_the_code(name: str, sm: int) -> None:
    """Every instruction is in exactly one block, and only the last one of a block may branch."""
    for kernel in kernels(name, sm).values():
        covered = [i for block in kernel.blocks for i in range(block.start, block.end)]
        assert covered == list(range(len(kernel.instructions)))
        for block in kernel.blocks:
            body = kernel.instructions[block.start : block.end - 1]
            assert not [i.text for i in body if i.opcode in BLOCK_ENDS]


@each_text_case
def test_labels_of_nvdisasm_start_blocks(name: str, sm: int) -> None:
    """At every label of nvdisasm that an instruction names, a block begins."""
    text = nvdisasm_text(name, sm)
    named = set(re.findall(r"(\.L_\w+)[),]", text))
    kernel, pending = "", False
    labelled: dict[str, set[int]] = {}
    for line in text.splitlines():
        if match := re.match(r"\.text\.(\S+):", line):
            kernel, pending = match[1], False
        elif match := re.match(r"(\.L_\w+):", line):
            pending = pending or match[1] in named
        elif (match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s", line)) and pending:
            labelled.setdefault(kernel, set()).add(int(match[1], 16))
            pending = False
    for found in kernels(name, sm).values():
        starts = {found.instructions[block.start].address for block in found.blocks}
        assert labelled.get(found.name, set()) <= starts


@each_case
def test_successors(name: str, sm: int) -> None:
    """A block goes where its last instruction goes, and on if that may be passed."""
    for kernel in kernels(name, sm).values():
        start_of = {kernel.instructions[b.start].address: b.index for b in kernel.blocks}
        for block in kernel.blocks:
            last = kernel.instructions[block.end - 1]
            following = start_of.get(last.address + 16)
            label = last.operands[-1] if last.operands else None
            if last.opcode == "BRA" and isinstance(label, Label):
                assert start_of[label.address] in block.successors
                assert (following in block.successors) == is_conditional(last) or (
                    start_of[label.address] == following
                )
            elif last.opcode in ("EXIT", "RET"):
                assert block.successors == ((following,) if is_conditional(last) else ())
            elif last.opcode in ("BRX", "BRXU"):
                targets = kernel.branch_targets[last.address]
                assert {start_of[target] for target in targets} <= set(block.successors)
            elif last.opcode not in BLOCK_ENDS and following is not None:
                assert block.successors == (following,)


@pytest.mark.parametrize("sm", [75, 90, 120])
def test_jump_tables_have_targets(sm: int) -> None:
    """Every indirect branch of a switch has its target list."""
    kernel = kernels("control", sm)["_Z10jump_tablePii"]
    found = [i.address for i in kernel.instructions if i.opcode in ("BRX", "BRXU")]

    assert found and found == sorted(kernel.branch_targets)


@pytest.mark.parametrize("sm", [75, 90, 120])
def test_everything_after_a_call_starts_a_block(sm: int) -> None:
    """Return addresses and device functions begin blocks."""
    for kernel in kernels("control", sm).values():
        starts = {kernel.instructions[block.start].address for block in kernel.blocks}
        calls = {i.address + 16 for i in kernel.instructions if i.opcode == "CALL"}
        assert calls <= starts
        assert set(kernel.functions) <= starts
