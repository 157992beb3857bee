"""Turns nvdisasm's listing and the machine code into `Instruction`s."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from warplens.errors import SassError
from warplens.sass.cfg import basic_blocks
from warplens.sass.control import CONTROL_SHIFT, decode_control
from warplens.sass.model import (
    Imm,
    Instruction,
    Label,
    Operand,
    Pred,
    SassKernel,
    Token,
    UPred,
)
from warplens.sass.operands import WORD, is_float, parse_operand
from warplens.toolchain.cache import Cache
from warplens.toolchain.cubin import Cubin, CubinKernel, read_cubin
from warplens.toolchain.lines import LineRow
from warplens.toolchain.nvdisasm import ListedInstruction, disassemble

INSTRUCTION_BYTES = 16
_CONTROL_MASK = (1 << 21) - 1
# The last operand is a code address; of BRX and BRXU it is relative to the next instruction.
_LABELLED = frozenset(("BRA", "BSSY", "JMP", "LEPC", "ULEPC", "CALL", "RET", "BRX", "BRXU", "JMXU"))
_RELATIVE = frozenset(("BRX", "BRXU"))
_WORDS = struct.Struct("<QQ")
# Half of a code address that the loader fills in, seen with -G: 32@lo((symbol + 0x5b0)).
_ADDRESS_HALF = re.compile(
    r"32@(?P<half>lo|hi)\((?:fun@fdesc)?\(?(?P<symbol>[\w$.]*[A-Za-z_$][\w$.]*(?: \+ )?)?"
    r"(?P<offset>0x[0-9a-f]+)?\)*"
)


class KernelSet(Mapping[str, SassKernel]):
    """The kernels of a cubin by mangled name, each parsed when first asked for."""

    def __init__(self, cubin: Cubin, *, cache: Cache | None = None) -> None:
        self.cubin = cubin
        self._cache = cache
        self._listing: dict[str, tuple[ListedInstruction, ...]] | None = None
        self._parsed: dict[str, SassKernel] = {}

    def __getitem__(self, name: str) -> SassKernel:
        kernel = self.cubin.kernels[name]
        if name not in self._parsed:
            if self._listing is None:
                self._listing = disassemble(self.cubin.data, cache=self._cache)
            listed = self._listing.get(name)
            if listed is None:
                raise SassError(f"nvdisasm lists no code for {kernel.demangled}")
            self._parsed[name] = parse_kernel(self.cubin, kernel, listed)
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cubin.kernels)

    def __len__(self) -> int:
        return len(self.cubin.kernels)


def load_kernels(cubin: bytes | Cubin, *, cache: Cache | None = None) -> KernelSet:
    """The kernels of a cubin; disassembles once, parses each kernel when it is asked for.

    Raises:
        CubinError: the bytes are no usable cubin.
    """
    return KernelSet(read_cubin(cubin) if isinstance(cubin, bytes) else cubin, cache=cache)


def parse_kernel(
    cubin: Cubin, kernel: CubinKernel, listed: Sequence[ListedInstruction]
) -> SassKernel:
    """One kernel's instructions, blocks and resources.

    Raises:
        SassError: an operand is not understood, or listing and code do not fit.
    """
    offsets = {
        name: offset for name, (owner, offset) in cubin.functions.items() if owner == kernel.name
    }
    instructions = parse_instructions(
        listed, kernel.code, kernel.lines, symbols=offsets, kernel=kernel.demangled
    )
    return SassKernel(
        name=kernel.name,
        demangled=kernel.demangled,
        sm=cubin.sm,
        instructions=instructions,
        blocks=basic_blocks(instructions, kernel.functions, kernel.branch_targets),
        registers=kernel.registers,
        static_shared=kernel.static_shared,
        shared_section=kernel.shared_section,
        local_bytes=kernel.local_bytes,
        n_barriers=kernel.n_barriers,
        parameter_base=kernel.parameter_base,
        parameter_bytes=kernel.parameter_bytes,
        parameters=kernel.parameters,
        max_threads=kernel.max_threads,
        required_threads=kernel.required_threads,
        cluster=kernel.cluster,
        uses_recursion=kernel.uses_recursion,
        constants=kernel.constants,
        functions=kernel.functions,
        branch_targets=kernel.branch_targets,
        frame_bytes=kernel.frame_bytes,
    )


def parse_instructions(
    listed: Sequence[ListedInstruction],
    code: bytes,
    lines: Sequence[LineRow] = (),
    *,
    symbols: Mapping[str, int] | None = None,
    kernel: str = "",
) -> tuple[Instruction, ...]:
    """The instructions of one code section, in address order.

    Args:
        lines: source places by address.
        symbols: code offsets of the functions that calls and returns may name.
        kernel: the name for messages.
    """
    if len(code) != INSTRUCTION_BYTES * len(listed):
        raise SassError(
            f"{kernel}: nvdisasm lists {len(listed)} instructions, the code has "
            f"{len(code) / INSTRUCTION_BYTES:g}"
        )
    parser = _Parser(symbols or {}, kernel)
    places = _places(lines, len(listed))
    return tuple(
        parser.instruction(index * INSTRUCTION_BYTES, entry, high << 64 | low, places[index])
        for index, (entry, (low, high)) in enumerate(
            zip(listed, _WORDS.iter_unpack(code), strict=True)
        )
    )


Place = tuple[str | None, int | None]


def _places(lines: Sequence[LineRow], count: int) -> list[Place]:
    """File and line of every instruction."""
    places: list[Place] = [(None, None)] * count
    ends = [row.address // INSTRUCTION_BYTES for row in lines[1:]] + [count]
    for row, row_end in zip(lines, ends, strict=False):
        if row.file is None or row.line <= 0:
            continue
        start, end = row.address // INSTRUCTION_BYTES, min(row_end, count)
        places[start:end] = [(row.file, row.line)] * (end - start)
    return places


class _Parser:
    """Parses one kernel; equal texts are parsed once."""

    def __init__(self, symbols: Mapping[str, int], kernel: str) -> None:
        self._symbols = symbols
        self._kernel = kernel
        self._narrow: dict[str, Operand | None] = {}
        self._wide: dict[str, Operand | None] = {}
        self._mnemonics: dict[str, tuple[str, tuple[str, ...]]] = {}

    def instruction(
        self, address: int, listed: ListedInstruction, encoding: int, place: Place
    ) -> Instruction:
        """One instruction of the listing with its machine word."""
        split = self._mnemonics.get(listed.opcode)
        if split is None:
            opcode, *modifiers = listed.opcode.split(".")
            split = self._mnemonics[listed.opcode] = (opcode, tuple(modifiers))
        texts = listed.operands.split(",") if listed.operands else []
        if split[0] == "LDGSTS" and "][" in texts[0] and texts[0][0] == "[":
            # Up to sm_89 the shared and the global address are printed without a comma.
            first, _, second = texts[0].partition("][")
            texts[:1] = [f"{first}]", f"[{second}"]
        predicate = listed.predicate
        if predicate and predicate[0] != "@":  # the JSON form misplaces P2R's second operand
            texts.insert(1, predicate)
            predicate = ""
        text = f"{predicate} {listed.opcode} {', '.join(texts)}".strip()
        try:
            guard = self._guard(predicate)
            operands = self._operands(address, split, texts, encoding)
        except ValueError as error:
            raise SassError(
                f"{self._kernel}+{address:#06x}: {error} in `{text}`"
                + (f" ({place[0]}:{place[1]})" if place[0] else ""),
                hint="Please report this instruction; warplens/sass/operands.py reads operands.",
            ) from error
        return Instruction(
            address,
            split[0],
            split[1],
            guard,
            operands,
            decode_control(encoding >> CONTROL_SHIFT & _CONTROL_MASK),
            encoding,
            text,
            place[0],
            place[1],
        )

    def _guard(self, text: str) -> Pred | UPred | None:
        if not text:
            return None
        operand = self._plain(text[1:], wide=False)
        if not isinstance(operand, Pred | UPred):
            raise ValueError(f"guard {text!r} is not understood")
        return operand

    def _plain(self, text: str, *, wide: bool) -> Operand | None:
        known = self._wide if wide else self._narrow
        if text in known:
            return known[text]
        operand = known[text] = parse_operand(text, wide=wide)
        return operand

    def _operands(
        self,
        address: int,
        mnemonic: tuple[str, tuple[str, ...]],
        texts: list[str],
        encoding: int,
    ) -> tuple[Operand, ...]:
        opcode, modifiers = mnemonic
        wide = "E" in modifiers
        last = len(texts) - 1
        labelled = opcode in _LABELLED or (opcode == "WARPSYNC" and "COLLECTIVE" in modifiers)
        found: list[Operand] = []
        for position, text in enumerate(texts):
            if labelled and position == last:
                label = self._label(address, opcode, text)
                if label is not None:
                    found.append(label)
                    continue
            # The first address of LDGSTS is its shared-memory destination.
            is_wide = wide and not (opcode == "LDGSTS" and position == 0)
            operand = self._plain(text, wide=is_wide)
            if operand is not None:
                found.append(operand)
            elif text.startswith("32@"):
                found.append(self._address_half(text))
            elif is_float(text):
                _add_float(found, text, encoding >> 32 & WORD)
            else:
                raise ValueError(f"operand {text!r} is not understood")
        return tuple(found)

    def _label(self, address: int, opcode: str, text: str) -> Label | None:
        """The code address that a text means; None for a register."""
        text = text.strip("`()")
        if text in self._symbols:
            return Label(self._symbols[text])
        digits = text.removeprefix("-")
        if not digits.startswith("0x"):
            if digits[:1] in ("_", "$"):
                raise ValueError(f"the code has no function {text!r}")
            return None
        value = int(text, 16)
        return Label(value + address + INSTRUCTION_BYTES if opcode in _RELATIVE else value)

    def _address_half(self, text: str) -> Imm:
        """A code address is its offset in the section, so its high half is zero."""
        match = _ADDRESS_HALF.fullmatch(text)
        symbol = (match["symbol"] or "").removesuffix(" + ") if match is not None else ""
        if match is None or (symbol and symbol not in self._symbols):
            raise ValueError(f"operand {text!r} is not understood")
        address = self._symbols.get(symbol, 0) + int(match["offset"] or "0", 16)
        return Imm(address & WORD if match["half"] == "lo" else address >> 32, False, text)


def _add_float(found: list[Operand], text: str, bits: int) -> None:
    """Adds a floating-point immediate; the two printed halves of a packed pair become one."""
    text = text.strip()
    previous = found[-1] if found else None
    if isinstance(previous, Imm) and previous.is_float:
        found[-1] = Imm(bits, True, f"{previous.text},{text}")
    else:
        found.append(Imm(bits, True, text))


def tokens_of(instruction: Instruction) -> tuple[str, ...]:
    """The texts of an instruction's untyped operands."""
    return tuple(o.text for o in instruction.operands if isinstance(o, Token))
