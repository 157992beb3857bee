"""Turns nvdisasm's listing and the machine code into `Instruction`s."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from warplens.errors import SassError
from warplens.sass.calls import calls_itself
from warplens.sass.cfg import basic_blocks
from warplens.sass.control import CONTROL_SHIFT, decode_control
from warplens.sass.link import (
    ADDRESS_HALF,
    INSTRUCTION_BYTES,
    Piece,
    Symbols,
    padding,
    pieces_of,
    symbols_of,
)
from warplens.sass.model import (
    PT,
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
from warplens.toolchain.cubin import Cubin, CubinKernel, DeviceFunction, read_cubin
from warplens.toolchain.demangle import demangle
from warplens.toolchain.lines import LineRow
from warplens.toolchain.nvdisasm import ListedInstruction, disassemble

_CONTROL_MASK = (1 << 21) - 1
# The last operand is a code address; of BRX and BRXU it is relative to the next instruction.
_LABELLED = frozenset(("BRA", "BSSY", "JMP", "LEPC", "ULEPC", "CALL", "RET", "BRX", "BRXU", "JMXU"))
_RELATIVE = frozenset(("BRX", "BRXU"))
_WORDS = struct.Struct("<QQ")
_TWO_CARRIES = frozenset(("IADD3", "UIADD3"))
_FIRST_CARRY, _SECOND_CARRY = 81, 84  # the lowest of three bits of the encoding
_BETWEEN_COMMAS = re.compile(r"(?:\{[^}]*\}|[^,{])+")  # DEPBAR's {5,4} is one operand


class KernelSet(Mapping[str, SassKernel]):
    """The kernels of a cubin by mangled name, each parsed when first asked for."""

    def __init__(
        self,
        cubin: Cubin,
        *,
        addresses: Mapping[str, int] | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.cubin = cubin
        self._addresses = addresses
        self._cache = cache
        self._listing: dict[str, tuple[ListedInstruction, ...]] | None = None
        self._parsed: dict[str, SassKernel] = {}

    def __getitem__(self, name: str) -> SassKernel:
        kernel = self.cubin.kernels[name]
        if name not in self._parsed:
            if self._listing is None:
                self._listing = disassemble(self.cubin.data, cache=self._cache)
            self._parsed[name] = parse_kernel(self.cubin, kernel, self._listing, self._addresses)
        return self._parsed[name]

    def outline(self, name: str) -> SassKernel:
        """The kernel's resources without its instructions; most cubins need no disassembly."""
        if self.cubin.device_functions:
            return self[name]  # which of them it calls, and their registers, only its code says
        return _kernel(self.cubin, self.cubin.kernels[name], ())

    def __iter__(self) -> Iterator[str]:
        return iter(self.cubin.kernels)

    def __len__(self) -> int:
        return len(self.cubin.kernels)


def load_kernels(
    cubin: bytes | Cubin,
    *,
    addresses: Mapping[str, int] | None = None,
    cache: Cache | None = None,
) -> KernelSet:
    """The kernels of a cubin; disassembles once, parses each kernel when it is asked for.

    Args:
        addresses: device addresses of the module's variables by name. Only debug builds hold them
            in code; others load them from constant bank 4.

    Raises:
        CubinError: the bytes are no usable cubin.
    """
    read = read_cubin(cubin) if isinstance(cubin, bytes) else cubin
    return KernelSet(read, addresses=addresses, cache=cache)


def parse_kernel(
    cubin: Cubin,
    kernel: CubinKernel,
    listing: Mapping[str, Sequence[ListedInstruction]],
    addresses: Mapping[str, int] | None = None,
) -> SassKernel:
    """One kernel's instructions, blocks and resources.

    Args:
        listing: nvdisasm's listing of every function of the cubin.
        addresses: device addresses of the module's variables, which debug builds hold in code.

    Raises:
        SassError: a guard or label is not understood, or listing and code do not fit.
    """
    pieces = pieces_of(cubin, kernel, listing)
    symbols = symbols_of(cubin, kernel, addresses or {})
    instructions: list[Instruction] = []
    for piece in pieces:
        instructions += padding(len(instructions) * INSTRUCTION_BYTES, piece.base)
        instructions += parse_instructions(piece, symbols=symbols, kernel=kernel.demangled)
    others = tuple(cubin.device_functions.values()) if len(pieces) > 1 else ()
    return _kernel(cubin, kernel, instructions, others)


def _kernel(
    cubin: Cubin,
    kernel: CubinKernel,
    instructions: Sequence[Instruction],
    others: Sequence[DeviceFunction] = (),
) -> SassKernel:
    """The kernel with its instructions and the device functions that it may call."""
    functions = dict(kernel.functions)
    functions |= {function.base: demangle(function.name) for function in others}
    return SassKernel(
        name=kernel.name,
        demangled=kernel.demangled,
        sm=cubin.sm,
        instructions=tuple(instructions),
        blocks=basic_blocks(instructions, functions, kernel.branch_targets),
        registers=max((kernel.registers, *(function.registers for function in others))),
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
        blocks_are_clusters=kernel.blocks_are_clusters,
        uses_recursion=kernel.uses_recursion or calls_itself(instructions, functions),
        constants=kernel.constants,
        functions=functions,
        branch_targets=kernel.branch_targets,
        frame_bytes=kernel.frame_bytes,
    )


def parse_instructions(
    piece: Piece, *, symbols: Symbols, kernel: str = ""
) -> tuple[Instruction, ...]:
    """The instructions of one code section, in address order.

    Args:
        kernel: the name for messages.
    """
    listed = piece.listed
    if len(piece.code) != INSTRUCTION_BYTES * len(listed):
        raise SassError(
            f"{kernel}: nvdisasm lists {len(listed)} instructions, the code has "
            f"{len(piece.code) / INSTRUCTION_BYTES:g}"
        )
    parser = _Parser(piece, symbols, kernel)
    places = _places(piece.lines, len(listed))
    return tuple(
        parser.instruction(index * INSTRUCTION_BYTES, entry, high << 64 | low, places[index])
        for index, (entry, (low, high)) in enumerate(
            zip(listed, _WORDS.iter_unpack(piece.code), strict=True)
        )
    )


Place = tuple[str | None, int | None, tuple[tuple[str, int], ...]]


def _places(lines: Sequence[LineRow], count: int) -> list[Place]:
    """File and line of every instruction, and of the calls that inlined it."""
    places: list[Place] = [(None, None, ())] * count
    ends = [row.address // INSTRUCTION_BYTES for row in lines[1:]] + [count]
    for row, row_end in zip(lines, ends, strict=False):
        if row.file is None or row.line <= 0:
            continue
        start, end = row.address // INSTRUCTION_BYTES, min(row_end, count)
        places[start:end] = [(row.file, row.line, row.callers)] * (end - start)
    return places


class _Parser:
    """Parses one code section."""

    def __init__(self, piece: Piece, symbols: Symbols, kernel: str) -> None:
        self._base = piece.base
        self._relocations = piece.relocations
        self._symbols = symbols
        self._kernel = kernel
        self._mnemonics: dict[str, tuple[str, tuple[str, ...]]] = {}

    def instruction(
        self, address: int, listed: ListedInstruction, encoding: int, place: Place
    ) -> Instruction:
        """One instruction of the listing with its machine word; `address` is in its section."""
        split = self._mnemonics.get(listed.opcode)
        if split is None:
            opcode, *modifiers = listed.opcode.split(".")
            split = self._mnemonics[listed.opcode] = (opcode, tuple(modifiers))
        texts = _BETWEEN_COMMAS.findall(listed.operands)
        if split[0] == "LDGSTS" and "][" in texts[0] and texts[0][0] == "[":
            # Up to sm_89 the shared and the global address are printed without a comma.
            first, _, second = texts[0].partition("][")
            texts[:1] = [f"{first}]", f"[{second}"]
        for i, first in enumerate(texts[:-1]):
            if first.endswith("desc") and first != "desc":
                # With a cache policy the comma before the descriptor is printed behind its name.
                texts[i : i + 2] = [first.removesuffix("desc"), f"desc{texts[i + 1]}"]
        predicate = listed.predicate
        if predicate and predicate[0] != "@":  # the JSON form misplaces P2R's second operand
            guards = [text for text in texts if text.startswith("@")]  # it stands where PR belongs
            texts = [text for text in texts if text not in guards]
            texts.insert(1, predicate)
            predicate = guards[0] if guards else ""
        text = f"{predicate} {listed.opcode} {', '.join(texts)}".strip()
        try:
            guard = self._guard(predicate)
            operands = self._operands(address, split, texts, encoding)
        except ValueError as error:
            raise SassError(
                f"{self._kernel}+{self._base + address:#06x}: {error} in `{text}`"
                + (f" ({place[0]}:{place[1]})" if place[0] else ""),
                hint="If the code was compiled with -G, compile without it; else please report "
                     "this instruction.",
            ) from error
        return Instruction(
            self._base + address,
            split[0],
            split[1],
            guard,
            operands,
            decode_control(encoding >> CONTROL_SHIFT & _CONTROL_MASK),
            encoding,
            text,
            place[0],
            place[1],
            place[2],
        )

    def _guard(self, text: str) -> Pred | UPred | None:
        if not text:
            return None
        operand = parse_operand(text[1:])
        if not isinstance(operand, Pred | UPred):
            raise ValueError(f"cannot parse guard {text!r}")
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
                label = self._label(address, mnemonic, text)
                if label is not None:
                    found.append(label)
                    continue
            # The first address of LDGSTS is its shared-memory destination.
            is_wide = wide and not (opcode == "LDGSTS" and position == 0)
            operand = parse_operand(text, is_wide)
            if operand is not None:
                found.append(operand)
            elif ADDRESS_HALF.fullmatch(text) and address in self._relocations:
                bits = self._symbols.relocated(self._relocations[address])
                found.append(Imm(bits, False, text))
            elif is_float(text):
                _add_float(found, text, encoding >> 32 & WORD)
            else:
                found.append(Token(text))  # no rule will read it: the instruction is refused
        if opcode in _TWO_CARRIES and _is_second_carry_only(found, encoding):
            found.insert(1, Pred(PT) if isinstance(found[1], Pred) else UPred(PT))
        return tuple(found)

    def _label(
        self, address: int, mnemonic: tuple[str, tuple[str, ...]], text: str
    ) -> Label | Token | None:
        """The code address that a text means, a runtime function's name; None for a register."""
        opcode, modifiers = mnemonic
        if text in self._symbols.externs:
            return Token(text)
        if text in self._symbols.code:
            return Label(self._symbols.code[text])
        if not text.removeprefix("-").startswith("0x"):
            if opcode in ("CALL", "RET") and parse_operand(text) is None:
                raise ValueError(f"the code has no function {text!r}")
            return None
        value = int(text, 16)
        if opcode in _RELATIVE:
            value += address + INSTRUCTION_BYTES
        return Label(value if "ABS" in modifiers else self._base + value)


def _is_second_carry_only(found: list[Operand], encoding: int) -> bool:
    """Whether the one carry-out that is printed is the second: up to sm_90 PT is left out."""
    first, second = (encoding >> low & 7 for low in (_FIRST_CARRY, _SECOND_CARRY))
    printed = sum(isinstance(operand, Pred | UPred) for operand in found[1:3])
    return printed == 1 and first == PT and second != PT


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
