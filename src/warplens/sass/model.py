"""The SASS model: operands, instructions, basic blocks and kernels as plain immutable data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warplens.toolchain.attributes import Parameter

RZ = 255
URZ = 255  # normalised: every architecture's URZ is stored as 255
PT = 7


@dataclass(frozen=True, slots=True)
class Reg:
    """A vector register; `index` 255 is RZ. `suffixes` holds what follows it: H0_H0, 64, X4."""

    index: int
    negate: bool = False
    absolute: bool = False
    invert: bool = False
    reuse: bool = False
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UReg:
    """A uniform register; `index` 255 is URZ."""

    index: int
    negate: bool = False
    absolute: bool = False
    invert: bool = False
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pred:
    """A predicate register; `index` 7 is PT."""

    index: int
    negate: bool = False


@dataclass(frozen=True, slots=True)
class UPred:
    """A uniform predicate register; `index` 7 is UPT."""

    index: int
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Imm:
    """An immediate. `bits` is the 32-bit pattern of the encoding (FP64: the high word; halves: the
    packed pair) or, for integers wider in text, the value modulo 2**64. `is_float` tells the text's
    form."""

    bits: int
    is_float: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Const:
    """A constant-bank operand c[bank][register + offset] (bank -1: bindless, cx[UR][...])."""

    bank: int
    offset: int
    base: Reg | UReg | None = None
    negate: bool = False
    absolute: bool = False
    invert: bool = False
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mem:
    """A memory operand desc[URd][base + uniform + offset]; `wide` if the base is a 64-bit pair."""

    base: Reg | None = None
    wide: bool = False
    uniform: UReg | None = None
    offset: int = 0
    scale: int = 1
    base_u32: bool = False
    uniform_wide: bool = False
    desc: UReg | None = None


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as SR_TID.X."""

    name: str


@dataclass(frozen=True, slots=True)
class Label:
    """A code address (byte offset in the kernel's section)."""

    address: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """A convergence-barrier register B0 to B15."""

    index: int


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """A scoreboard SB0 to SB5."""

    index: int


@dataclass(frozen=True, slots=True)
class Token:
    """Any other operand, kept as text (PR, gsb0, tmem[...])."""

    text: str


Operand = (
    Reg | UReg | Pred | UPred | Imm | Const | Mem | Special | Label | Barrier | Scoreboard | Token
)


@dataclass(frozen=True, slots=True)
class Control:
    """The scheduling code of one instruction (bits 125:105); 7 means no barrier."""

    stall: int
    keep: bool
    write_barrier: int
    read_barrier: int
    wait_mask: int
    reuse: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction. `address` is its byte offset in the kernel's section."""

    address: int
    opcode: str
    modifiers: tuple[str, ...]
    guard: Pred | UPred | None
    operands: tuple[Operand, ...]
    control: Control
    encoding: int
    text: str
    file: str | None = None
    line: int | None = None
    callers: tuple[tuple[str, int], ...] = ()  # of inlined code: the calls, the nearest first

    @property
    def place(self) -> str:
        """Where it comes from: `file.cu:12`, and the calls that inlined it; empty if unknown."""
        if not self.line:
            return ""
        calls = (f", inlined at {file}:{line}" for file, line in self.callers)
        return f"{self.file}:{self.line}{''.join(calls)}"

    @property
    def is_unguarded(self) -> bool:
        """Whether all lanes that come here execute it: it has no guard, or PT."""
        guard = self.guard
        return guard is None or (guard.index == PT and not guard.negate)

    @property
    def mnemonic(self) -> str:
        """The opcode with its modifiers, as nvdisasm prints it."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions [start, end) by index; control enters at `start` and leaves after `end - 1`."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SassKernel:
    """One kernel of a cubin: its code and all that a launch needs to know of it."""

    name: str
    demangled: str
    sm: int
    instructions: tuple[Instruction, ...]
    blocks: tuple[BasicBlock, ...]
    registers: int
    static_shared: int  # bytes the programmer declared, without the reserved part
    shared_section: int  # bytes of the shared section as in the cubin (reserved part included)
    local_bytes: int
    n_barriers: int
    parameter_base: int
    parameter_bytes: int
    parameters: tuple[Parameter, ...]
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    uses_recursion: bool
    constants: Mapping[int, bytes] = field(default_factory=dict)  # bank 0 template and bank 2
    functions: Mapping[int, str] = field(default_factory=dict)  # code offset -> device function
    branch_targets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # BRX pc -> targets
    frame_bytes: int = 0
    blocks_are_clusters: bool = False  # a launch's grid counts clusters

    @property
    def cluster_shape(self) -> tuple[int, int, int]:
        """Blocks of a cluster along x, y, z; (1, 1, 1) without clusters."""
        x, y, z = self.cluster or (1, 1, 1)
        return max(1, x), max(1, y), max(1, z)

    @property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster; 1 without clusters."""
        x, y, z = self.cluster_shape
        return x * y * z
