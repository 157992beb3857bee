"""Reads cubins: kernels with their resources, module data, relocations and source lines."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from warplens.errors import CubinError
from warplens.toolchain.attributes import Attr, KernelFacts, Parameter, records
from warplens.toolchain.demangle import demangle
from warplens.toolchain.elf import ElfError, ElfFile, ElfRelocation, Section, Symbol
from warplens.toolchain.lines import LineRow, Place, read_lines

ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
RESERVED_SHARED_BYTES = 0x400  # sm_90 and newer: the system's part of every block's shared memory
_MACHINE_CUDA, _EXECUTABLE, _RELOCATABLE = 190, 2, 1
_ABI_OLD = 51
_FUNCTION, _ENTRY = 2, 0x10
_UNBOUNDED = 0xFFFFFFFF
_CODE_ALIGNMENT = 128
_ABSOLUTE_LOW, _ABSOLUTE_HIGH = 56, 57
_RELOCATION_NAMES = {
    1: "R_CUDA_32",
    2: "R_CUDA_64",
    3: "R_CUDA_G32",
    4: "R_CUDA_G64",
    17: "R_CUDA_FUNC_DESC32_HI_32",
    26: "R_CUDA_FUNC_DESC_32",
    27: "R_CUDA_FUNC_DESC_64",
    _ABSOLUTE_LOW: "R_CUDA_ABS32_LO_32",
    _ABSOLUTE_HIGH: "R_CUDA_ABS32_HI_32",
}
_CONSTANT = re.compile(r"\.nv\.constant(\d+)\.(.+)", re.DOTALL)
_MODULE_SECTIONS = (".nv.global", ".nv.global.init", ".nv.constant3", ".nv.constant4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """The value of `symbol` plus `addend` belongs at `offset` of `section`."""

    section: str
    offset: int
    symbol: str
    addend: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalSymbol:
    """A variable of the module: where it lies in its section (.nv.global, .nv.constant3, ...)."""

    name: str
    section: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CubinKernel:
    """One kernel as the cubin describes it; fields as in `sass.model.SassKernel`."""

    name: str
    demangled: str
    section_index: int
    code: bytes
    registers: int
    static_shared: int
    shared_section: int
    local_bytes: int
    frame_bytes: int
    n_barriers: int
    parameter_base: int
    parameter_bytes: int
    parameters: tuple[Parameter, ...]
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    blocks_are_clusters: bool
    uses_recursion: bool
    constants: Mapping[int, bytes]
    functions: Mapping[int, str]
    branch_targets: Mapping[int, tuple[int, ...]]
    externs: tuple[str, ...]
    system_calls: tuple[int, ...]
    lines: tuple[LineRow, ...] = field(repr=False, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFunction:
    """A function with a code section of its own, as debug builds have them.

    Attributes:
        base: where its code lies in the image of every kernel that calls functions; the same in
            all kernels, so that kernels may hand function pointers to each other.
    """

    name: str
    base: int
    code: bytes
    registers: int
    lines: tuple[LineRow, ...] = field(repr=False, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubin:
    """A cubin's content.

    Attributes:
        kernels: by mangled name, in file order.
        global_bytes: size of `.nv.global` (zero-initialised variables).
        global_init: bytes of `.nv.global.init` (initialised variables, strings).
        constant3: bytes of the user's constant memory, bank 3.
        constant4: bytes of bank 4, addresses still to be filled in by `relocations`.
        symbols: variables by name.
        functions: function symbols by name -> (kernel whose code holds it, code offset); kernels
            themselves have offset 0; device functions have kernel "" and their `base`.
        device_functions: functions with a section of their own, by name.
        externs: functions that the runtime provides (vprintf, malloc, free, __assertfail).
        shared_symbols: shared variables by name, offset in their kernel's shared section.
        host_code: bytes of `.nv.host`, an object file for the host's processor.
    """

    sm: int
    kernels: Mapping[str, CubinKernel]
    global_bytes: int
    global_init: bytes
    constant3: bytes
    constant4: bytes
    relocations: tuple[Relocation, ...]
    symbols: Mapping[str, GlobalSymbol]
    functions: Mapping[str, tuple[str, int]]
    device_functions: Mapping[str, DeviceFunction]
    externs: tuple[str, ...]
    shared_symbols: tuple[GlobalSymbol, ...]
    data: bytes = field(repr=False)
    host_code: bytes = field(repr=False, default=b"")

    @property
    def code_names_variables(self) -> bool:
        """Whether code holds addresses of variables, as debug builds do; else bank 4 does."""
        return any(
            relocation.section.startswith(".text.") and relocation.symbol in self.symbols
            for relocation in self.relocations
        )


def read_cubin(data: bytes) -> Cubin:
    """Reads a cubin from memory.

    Raises:
        CubinError: the bytes are no whole executable cubin of a supported architecture.
    """
    refuse_other_formats(data)
    try:
        return _Reading(ElfFile(data), data).cubin()
    except ElfError as error:
        raise CubinError(f"not a usable cubin: {error}") from error
    except (struct.error, ValueError, IndexError, KeyError, OverflowError) as error:
        raise CubinError(
            f"the cubin is damaged: {type(error).__name__}: {error}",
            hint="Compile it again, or compile the source with warplens.",
        ) from error


def refuse_other_formats(data: bytes) -> None:
    """Raises CubinError for what people take for a cubin: fat binaries, PTX, host programs."""
    head = data[:4]
    if head in (b"\x50\xed\x55\xba", b"\xb1\x43\x62\x46"):
        raise CubinError(
            "this is a fat binary, not a cubin",
            hint="Extract the cubin: cuobjdump -xelf all FILE; or compile with nvcc -cubin.",
        )
    if not head:
        raise CubinError("the cubin is empty")
    if b".version" in data[:4096] and b".target" in data[:4096] and head != b"\x7fELF":
        raise CubinError(
            "this is PTX text, not a cubin", hint="Assemble it, for example with ptxas -arch=sm_90."
        )


def architecture_of(elf: ElfFile) -> int:
    """The sm number of a CUDA ELF file.

    Raises:
        CubinError: not a CUDA file, relocatable, or of an architecture outside `ARCHITECTURES`.
    """
    if elf.machine != _MACHINE_CUDA:
        raise CubinError(
            f"the ELF file is not for NVIDIA GPUs (machine {elf.machine})",
            hint="Extract the cubins of a host program: cuobjdump -xelf all FILE.",
        )
    sm = (elf.flags if elf.os_abi == _ABI_OLD else elf.flags >> 8) & 0xFF
    if elf.type == _RELOCATABLE:
        raise CubinError(
            "the cubin is relocatable device code, not yet linked",
            hint="Compile without -rdc=true / -dc.",
        )
    if elf.type != _EXECUTABLE:
        raise CubinError(f"the ELF file has type {elf.type}; it is not an executable")
    if sm not in ARCHITECTURES:
        known = ", ".join(f"sm_{number}" for number in ARCHITECTURES)
        raise CubinError(f"the cubin is for sm_{sm}", hint=f"warplens supports {known}.")
    return sm


@dataclass(slots=True)
class _Functions:
    """What the module-wide `.nv.info` says of functions, by symbol index."""

    registers: dict[int, int] = field(default_factory=dict)
    frames: dict[int, int] = field(default_factory=dict)
    stacks: dict[int, int] = field(default_factory=dict)


class _Reading:
    """One pass over one cubin."""

    def __init__(self, elf: ElfFile, data: bytes) -> None:
        self.elf = elf
        self.data = data
        self.sm = architecture_of(elf)
        self.by_name = {section.name: section for section in elf.sections}
        self.by_section: dict[int, list[tuple[int, Symbol]]] = {}
        for index, symbol in enumerate(elf.symbols):
            self.by_section.setdefault(symbol.section, []).append((index, symbol))
        self.module = self._module_attributes()
        self.lines = self._line_rows()

    def cubin(self) -> Cubin:
        kernels = {}
        for section in self.elf.sections:
            for index, symbol in self.by_section.get(section.index, ()):
                if symbol.type == _FUNCTION and symbol.other & _ENTRY and symbol.value == 0:
                    kernels[symbol.name] = self._kernel(index, symbol, section)
        owners = {kernel.section_index: name for name, kernel in kernels.items()}
        functions = {
            symbol.name: (owners[symbol.section], symbol.value)
            for symbol in self.elf.symbols
            if symbol.type == _FUNCTION and symbol.section in owners
        }
        separate = self._device_functions(kernels)
        functions |= {name: ("", function.base) for name, function in separate.items()}
        variables = tuple(self._variables())
        return Cubin(
            sm=self.sm,
            kernels=kernels,
            global_bytes=self._size(".nv.global"),
            global_init=self._bytes(".nv.global.init"),
            constant3=self._bytes(".nv.constant3"),
            constant4=self._bytes(".nv.constant4"),
            relocations=tuple(self._relocations()),
            symbols={v.name: v for v in variables if v.section in _MODULE_SECTIONS},
            functions=functions,
            device_functions=separate,
            externs=tuple(
                symbol.name
                for symbol in self.elf.symbols
                if symbol.section == 0 and symbol.type == _FUNCTION
            ),
            shared_symbols=tuple(v for v in variables if v.section.startswith(".nv.shared.")),
            data=self.data,
            host_code=self._bytes(".nv.host"),
        )

    def _size(self, name: str) -> int:
        section = self.by_name.get(name)
        return section.size if section is not None else 0

    def _bytes(self, name: str) -> bytes:
        section = self.by_name.get(name)
        return section.data if section is not None else b""

    def _symbol_name(self, index: int) -> str:
        """A symbol's name; a section symbol has its section's."""
        symbol = self.elf.symbols[index]
        if symbol.name or symbol.section >= len(self.elf.sections):
            return symbol.name
        return self.elf.sections[symbol.section].name

    def _variables(self) -> Iterator[GlobalSymbol]:
        for symbol in self.elf.symbols:
            if symbol.type == 1 and 0 < symbol.section < len(self.elf.sections):
                yield GlobalSymbol(
                    name=symbol.name,
                    section=self.elf.sections[symbol.section].name,
                    offset=symbol.value,
                    size=symbol.size,
                )

    def _relocations(self) -> Iterator[Relocation]:
        for entry in self.elf.relocations():
            target = self.elf.sections[entry.target]
            name = target.name
            if not (name in _MODULE_SECTIONS or name.startswith((".text.", ".nv.constant"))):
                continue
            addend = entry.addend
            if addend is None:
                addend = _stored_addend(target, entry)
            yield Relocation(
                section=name,
                offset=entry.offset,
                symbol=self._symbol_name(entry.symbol),
                addend=addend,
                kind=_RELOCATION_NAMES.get(entry.type, f"R_CUDA_{entry.type}"),
            )

    def _device_functions(self, kernels: Mapping[str, CubinKernel]) -> dict[str, DeviceFunction]:
        """Functions outside the kernels' sections, laid out behind the longest kernel."""
        base = max((len(kernel.code) for kernel in kernels.values()), default=0)
        taken = {kernel.section_index for kernel in kernels.values()}
        found = {}
        for index, symbol in enumerate(self.elf.symbols):
            if symbol.type != _FUNCTION or symbol.section in taken or not symbol.section:
                continue
            section = self.elf.sections[symbol.section]
            base += -base % _CODE_ALIGNMENT
            found[symbol.name] = DeviceFunction(
                name=symbol.name,
                base=base,
                code=section.data,
                registers=self.module.registers.get(index, section.info >> 24),
                lines=tuple(self.lines.get(section.index, ())),
            )
            base += len(section.data)
        return found

    def _module_attributes(self) -> _Functions:
        found = _Functions()
        tables = {
            Attr.REGCOUNT: found.registers,
            Attr.FRAME_SIZE: found.frames,
            Attr.MIN_STACK_SIZE: found.stacks,
        }
        for attribute, payload in records(self._bytes(".nv.info")):
            table = tables.get(attribute)
            if table is not None:
                symbol, value = struct.unpack("<II", payload)
                table[symbol] = value
        return found

    def _line_rows(self) -> dict[int, list[LineRow]]:
        section = self.by_name.get(".debug_line")
        if section is None or not section.data:
            return {}
        places: dict[int, Place] = {}
        for entry in self.elf.relocations():
            if entry.target == section.index:
                symbol = self.elf.symbols[entry.symbol]
                addend = entry.addend
                if addend is None:
                    stored = section.data[entry.offset : entry.offset + 8]
                    addend = int.from_bytes(stored, "little")
                places[entry.offset] = (symbol.section, symbol.value + addend)
        return read_lines(section.data, places, self._bytes(".debug_line_str"))

    def _kernel(self, index: int, symbol: Symbol, section: Section) -> CubinKernel:
        facts = KernelFacts()
        for attribute, payload in records(self._bytes(f".nv.info.{symbol.name}")):
            facts.add(attribute, payload)
        inner = [
            (at, other)
            for at, other in self.by_section[section.index]
            if other.type == _FUNCTION and at != index
        ]
        registers = self.module.registers.get(index, section.info >> 24)
        stack = self.module.stacks.get(index, 0)
        frames = [self.module.frames.get(at, 0) for at in (index, *(at for at, _ in inner))]
        shared = self._size(f".nv.shared.{symbol.name}")
        reserved = min(shared, RESERVED_SHARED_BYTES if self.sm >= 90 else 0)
        if not registers or not section.data or len(section.data) % 16:
            raise ValueError(f"kernel {symbol.name} has no code or no register count")
        return CubinKernel(
            name=symbol.name,
            demangled=demangle(symbol.name),
            section_index=section.index,
            code=section.data,
            registers=registers,
            static_shared=shared - reserved,
            shared_section=shared,
            local_bytes=sum(frames) if stack == _UNBOUNDED else stack,
            frame_bytes=frames[0],
            n_barriers=facts.n_barriers,
            parameter_base=facts.parameter_base,
            parameter_bytes=facts.parameter_bytes,
            parameters=tuple(sorted(facts.parameters, key=lambda p: p.ordinal)),
            max_threads=facts.triples.get(Attr.MAX_THREADS),
            required_threads=facts.triples.get(Attr.REQNTID),
            cluster=facts.triples.get(Attr.CTA_PER_CLUSTER),
            blocks_are_clusters=facts.blocks_are_clusters,
            uses_recursion=stack == _UNBOUNDED,
            constants=self._constants(symbol.name),
            functions={other.value: _function_name(other.name) for _, other in inner},
            branch_targets=facts.branch_targets,
            externs=tuple(self._symbol_name(at) for at in facts.externs),
            system_calls=facts.system_calls,
            lines=tuple(self.lines.get(section.index, ())),
        )

    def _constants(self, kernel: str) -> dict[int, bytes]:
        found = {}
        for section in self.elf.sections:
            match = _CONSTANT.fullmatch(section.name)
            if match is not None and match[2] == kernel:
                found[int(match[1])] = section.data
        return found


def _stored_addend(target: Section, entry: ElfRelocation) -> int:
    """The addend that a relocation keeps in the place it changes."""
    if target.name.startswith(".text."):
        if entry.type not in (_ABSOLUTE_LOW, _ABSOLUTE_HIGH):
            return 0
        immediate = target.data[entry.offset + 4 : entry.offset + 8]
        return int.from_bytes(immediate, "little")
    return int.from_bytes(target.data[entry.offset : entry.offset + 8], "little")


def _function_name(symbol: str) -> str:
    """The readable name of a device function: ptxas prefixes it with its kernel."""
    return demangle(symbol.rpartition("$")[2] or symbol)
