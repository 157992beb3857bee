"""The parser against the machine words and against nvdisasm's text form."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.sass.corpus import CASES, TEXT_CASES, in_turn, kernels, nvdisasm_text
from warplens.errors import SassError
from warplens.isa import families, table
from warplens.lift.decode.binding import BindingError, bind
from warplens.sass.link import Piece, Symbols
from warplens.sass.model import (
    RZ,
    URZ,
    Barrier,
    Const,
    Imm,
    Instruction,
    Label,
    Mem,
    Pred,
    Reg,
    SassKernel,
    Scoreboard,
    Special,
    Token,
    UPred,
    UReg,
)
from warplens.sass.operands import parse_operand
from warplens.sass.parser import parse_instructions
from warplens.toolchain.nvdisasm import ListedInstruction

each_case = pytest.mark.parametrize(("name", "sm"), in_turn(CASES))
each_text_case = pytest.mark.parametrize(("name", "sm"), in_turn(TEXT_CASES))


def all_kernels(name: str, sm: int) -> list[SassKernel]:
    """Every kernel of a corpus file."""
    return list(kernels(name, sm).values())


def all_instructions(name: str, sm: int) -> list[Instruction]:
    """Every instruction of a corpus file."""
    return [i for kernel in all_kernels(name, sm) for i in kernel.instructions]


def bits(word: int, low: int, high: int) -> int:
    """Bits low to high - 1 of a machine word."""
    return word >> low & ((1 << (high - low)) - 1)


def signed(value: int, width: int) -> int:
    """A two's complement number of `width` bits."""
    return value - (1 << width) if value >> (width - 1) else value


@each_case
def test_reuse_flags_equal_the_text(name: str, sm: int) -> None:
    """As many reuse bits are set as the text has `.reuse` marks."""
    for instruction in all_instructions(name, sm):
        assert instruction.text.count(".reuse") == instruction.control.reuse.bit_count()


@each_case
def test_guards_equal_the_encoding(name: str, sm: int) -> None:
    """The printed guard is the one in bits 15:12."""
    for instruction in all_instructions(name, sm):
        guard = instruction.guard
        expected = (7, 0) if guard is None else (guard.index, int(guard.negate))

        word = instruction.encoding
        assert (bits(word, 12, 15), bits(word, 15, 16)) == expected, instruction.text


@each_case
def test_branch_targets_equal_the_encoding(name: str, sm: int) -> None:
    """Labels of branches are what the displacement in the machine word says."""
    for instruction in all_instructions(name, sm):
        label = instruction.operands[-1] if instruction.operands else None
        if instruction.opcode not in ("BRA", "BSSY") or not isinstance(label, Label):
            continue
        word = instruction.encoding
        if instruction.opcode == "BSSY":
            displacement = signed(bits(word, 34, 64), 30)
        elif sm < 90:
            displacement = signed(bits(word, 34, 82), 48)
        else:
            displacement = signed(bits(word, 34, 82) << 8 | bits(word, 16, 24), 56)

        assert label.address == instruction.address + 16 + 4 * displacement, instruction.text


@each_case
def test_calls_reach_functions(name: str, sm: int) -> None:
    """A direct call's label is the start of a device function."""
    for kernel in all_kernels(name, sm):
        for instruction in kernel.instructions:
            if instruction.opcode == "CALL" and isinstance(instruction.operands[0], Label):
                assert instruction.operands[0].address in kernel.functions


@each_case
def test_float_immediates_equal_numpy(name: str, sm: int) -> None:
    """The bits taken from the machine word are those of the printed number."""
    for instruction in all_instructions(name, sm):
        for operand in instruction.operands:
            if not isinstance(operand, Imm) or not operand.is_float:
                continue
            numbers = [part.replace("QNAN", "nan") for part in operand.text.split(",")]
            if len(numbers) == 2:
                assert_halves(operand, numbers, bfloat="BF16_V2" in instruction.modifiers)
            elif instruction.opcode.startswith("D"):
                assert operand.bits == np.float64(numbers[0]).view(np.uint64) >> np.uint64(32)
            elif "nan" in numbers[0]:
                assert operand.bits & 0x7FC00000 == 0x7FC00000
            else:
                assert operand.bits == np.float32(float(numbers[0])).view(np.uint32)


def assert_halves(operand: Imm, numbers: list[str], *, bfloat: bool) -> None:
    """The first printed half is the high one."""
    for number, half in zip(numbers, (operand.bits >> 16, operand.bits & 0xFFFF), strict=True):
        value = np.float32(float(number))
        expected = int(value.view(np.uint32)) >> 16 if bfloat else int(np.float16(value).view("u2"))
        assert half == expected, operand


@each_case
def test_integer_immediates_equal_the_encoding(name: str, sm: int) -> None:
    """A 32-bit immediate of an arithmetic instruction stands in bits 63:32."""
    arithmetic = {"MOV", "IADD3", "LOP3", "ISETP", "IMAD", "VIADD", "IADD", "SEL"}
    for instruction in all_instructions(name, sm):
        if instruction.opcode not in arithmetic or "64" in instruction.modifiers:
            continue
        if bits(instruction.encoding, 9, 12) not in (2, 4):
            continue
        found = [o.bits for o in instruction.operands if isinstance(o, Imm)]

        expected = bits(instruction.encoding, 32, 64)
        assert expected in [value & 0xFFFFFFFF for value in found], instruction.text


@each_case
def test_constants_equal_the_encoding(name: str, sm: int) -> None:
    """Bank and offset of an arithmetic constant operand stand in bits 58:38."""
    for instruction in all_instructions(name, sm):
        if instruction.opcode not in ("IMAD", "IADD3", "FFMA", "FADD", "ISETP", "MOV"):
            continue
        for operand in instruction.operands:
            if isinstance(operand, Const) and operand.base is None:
                word = instruction.encoding
                assert (operand.bank, operand.offset) == (bits(word, 54, 59), bits(word, 38, 54))


@each_case
def test_memory_operands_equal_the_encoding(name: str, sm: int) -> None:
    """Base register and offset of loads and stores are those of the machine word."""
    for instruction in all_instructions(name, sm):
        if instruction.opcode not in ("LDG", "STG", "LDS", "STS", "LDL", "STL"):
            continue
        (memory,) = (o for o in instruction.operands if isinstance(o, Mem))
        word = instruction.encoding
        base = RZ if memory.base is None else memory.base.index

        assert (bits(word, 24, 32), signed(bits(word, 40, 64), 24)) == (base, memory.offset)
        assert memory.wide == (instruction.opcode in ("LDG", "STG") and memory.base is not None)


@each_text_case
def test_text_has_every_instruction_of_nvdisasm(name: str, sm: int) -> None:
    """Address and opcode of each instruction are those of nvdisasm's text form."""
    text = nvdisasm_text(name, sm)
    listed = re.findall(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)", text)
    expected = sorted((int(address, 16), opcode) for address, opcode in listed)

    assert sorted((i.address, i.mnemonic) for i in all_instructions(name, sm)) == expected


@each_text_case
def test_lines_equal_nvdisasm(name: str, sm: int) -> None:
    """File and line of each instruction are those that nvdisasm -g prints."""
    text = nvdisasm_text(name, sm)
    expected: dict[str, dict[int, tuple[str, int]]] = {}
    place: tuple[str, int] | None = None
    for line in text.splitlines():
        if match := re.match(r"\.text\.(\S+):", line):
            current = expected.setdefault(match[1], {})
            place = None
        elif match := re.search(r'//## File "([^"]+)", line (\d+)', line):
            place = (match[1], int(match[2]))
        elif (match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s", line)) and place is not None:
            current[int(match[1], 16)] = place
    for kernel in all_kernels(name, sm):
        found = {i.address: (i.file, i.line) for i in kernel.instructions if i.file}
        assert found == expected[kernel.name]


OPERANDS = {
    "R7": Reg(7),
    "RZ": Reg(RZ),
    "-R5.reuse": Reg(5, negate=True, reuse=True),
    "|R4|.reuse": Reg(4, absolute=True, reuse=True),
    "-|R4|": Reg(4, negate=True, absolute=True),
    "~R11": Reg(11, invert=True),
    "R9.reuse.H1_H1": Reg(9, reuse=True, suffixes=("H1_H1",)),
    "UR14": UReg(14),
    "~URZ": UReg(URZ, invert=True),
    "!PT": Pred(7, negate=True),
    "P3": Pred(3),
    "!UP0": UPred(0, negate=True),
    "-0x8": Imm(0xFFFFFFF8, text="-0x8"),
    "0x123456789a": Imm(0x123456789A, text="0x123456789a"),
    "c[0x0][0x168]": Const(0, 0x168),
    "-c[0x0][0x168]": Const(0, 0x168, negate=True),
    "c[0x2][R4+0x1c]": Const(2, 0x1C, base=Reg(4)),
    "c[0x3][UR7+-0x10]": Const(3, -0x10, base=UReg(7)),
    "cx[UR4][0x20]": Const(-1, 0x20, base=UReg(4)),
    "[R16.64]": Mem(base=Reg(16), wide=True),
    "[R4.X4+0x10]": Mem(base=Reg(4), scale=4, offset=0x10),
    "[R3+UR8+-0x1]": Mem(base=Reg(3), uniform=UReg(8), offset=-1),
    "[0xc]": Mem(offset=12),
    "desc[UR4][R16.64+0x8]": Mem(base=Reg(16), wide=True, offset=8, desc=UReg(4)),
    "SR_TID.X": Special("SR_TID.X"),
    "B6": Barrier(6),
    "SB0": Scoreboard(0),
    "PR": Token("PR"),
    "gdesc[UR4]": Token("gdesc[UR4]"),
    "desc[URZ]": Token("desc[URZ]"),
    "{5,4,3,2,1,0}": Token("{5,4,3,2,1,0}"),
}
WIDE_OPERANDS = {
    "[R16]": Mem(base=Reg(16), wide=True),
    "[R2.U32+UR4]": Mem(base=Reg(2), base_u32=True, uniform=UReg(4), uniform_wide=True),
    "[UR4+0x14]": Mem(uniform=UReg(4), uniform_wide=True, offset=0x14),
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operand_forms(text: str) -> None:
    """Each printed form has its typed operand."""
    assert parse_operand(text, wide=False) == OPERANDS[text]


@pytest.mark.parametrize("text", WIDE_OPERANDS)
def test_operand_forms_of_wide_addresses(text: str) -> None:
    """A 64-bit access takes register pairs also where the text does not say so."""
    assert parse_operand(text, wide=True) == WIDE_OPERANDS[text]


@pytest.mark.parametrize("text", ["", "R", "[R4", "c[0x0]", "!R3", "desc[R1][R2]", "[R4.Q2]", "^"])
def test_unknown_operands_are_refused(text: str) -> None:
    """What is not understood is never guessed."""
    assert parse_operand(text, wide=False) is None


NO_SYMBOLS = Symbols(code={}, data={}, externs=frozenset(), unplaced=frozenset())


def piece(listed: list[ListedInstruction], code: bytes) -> Piece:
    """A section without line table and relocations."""
    return Piece(base=0, code=code, listed=listed, lines=(), relocations={})


@pytest.mark.parametrize("text", ["what?", ".nv.unified.texrefDescSize", "[R4.Q2]"])
def test_unknown_operands_stay_as_text(text: str) -> None:
    """An operand that is not understood stops no parser; no rule reads it."""
    listed = [ListedInstruction("@P0", "MOV", f"R1,{text}", {})]
    inst = parse_instructions(piece(listed, bytes(16)), symbols=NO_SYMBOLS, kernel="k")[0]
    assert inst.operands == (Reg(1), Token(text))
    families.load_all()
    entry = table.find("MOV", ())
    assert entry is not None
    with pytest.raises(BindingError, match=re.escape(text)):
        bind(inst, entry)


def test_error_names_kernel_offset_and_text() -> None:
    """A guard that is not understood names where it stands."""
    listed = [ListedInstruction("@PX", "MOV", "R1,what?", {})]
    with pytest.raises(SassError) as caught:
        parse_instructions(piece(listed, bytes(16)), symbols=NO_SYMBOLS, kernel="scale(float*)")

    assert "scale(float*)+0x0000" in str(caught.value)
    assert "@PX MOV R1, what?" in str(caught.value)


def test_listing_must_fit_the_code() -> None:
    """A listing of another length than the code is refused."""
    with pytest.raises(SassError):
        parse_instructions(
            piece([ListedInstruction("", "NOP", "", {})], bytes(32)), symbols=NO_SYMBOLS
        )
