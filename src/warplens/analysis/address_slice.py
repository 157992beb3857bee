"""Which instructions of a block do nothing but make addresses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from warplens.analysis.local_slice import ADDRESS_MAKERS
from warplens.lift.decode.binding import KEY_PREDICATE
from warplens.lift.decode.blocks import lay_out
from warplens.lift.decode.gaps import bind_kernel
from warplens.sass.model import RZ, Instruction, Mem, Reg, SassKernel

_SPACES = frozenset({"LD", "LDG", "LDS", "ST", "STG", "STS", "ATOM", "ATOMG", "ATOMS", "RED",
                     "LDGSTS"})  # fmt: skip
_STORES = ("ST", "RED")
Registers = frozenset[int]
Places = defaultdict[int, list[int]]  # register: instructions, in their order


def address_instructions(
    kernel: SassKernel, wanted: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Arithmetic of the wanted instructions whose results only addresses are made of.

    Pointers that advance are not in it, since a loop over memory needs one.
    """
    found = np.zeros(len(kernel.instructions), bool)
    bound, _ = bind_kernel(kernel)
    layout = lay_out(kernel, list(bound))
    nothing: Registers = frozenset()
    reads = [nothing if one is None else _vector(one.reads) for one in bound]
    writes = [nothing if one is None else _vector(one.writes) for one in bound]
    for block in layout.blocks:
        if wanted[block.start : block.end].any() and not block.indirect:
            live = 0
            for successor in block.successors:
                live |= layout.blocks[successor].live_in
            part = _Slice(kernel, range(block.start, block.end), reads, writes, live)
            for index in part.made():
                found[index] = wanted[index] and not part.advances(index)
    return found


def _vector(keys: Registers) -> Registers:
    """The vector registers among the keys of what an instruction reads or writes."""
    return frozenset(key for key in keys if key < KEY_PREDICATE)


class _Slice:
    """The instructions behind the addresses of one block, from its end to its start."""

    def __init__(
        self, kernel: SassKernel, block: range, reads: list[Registers], writes: list[Registers],
        live: int,
    ) -> None:  # fmt: skip
        self._code, self._block, self._live = kernel.instructions, block, live
        self._reads, self._writes = reads, writes
        self._readers: Places = defaultdict(list)
        self._writers: Places = defaultdict(list)
        for index in block:
            for register in reads[index]:
                self._readers[register].append(index)
            for register in writes[index]:
                self._writers[register].append(index)
        self._found: set[int] = set()

    def made(self) -> set[int]:
        """All of them."""
        for index in reversed(self._block):
            if self._code[index].opcode in _SPACES:
                for register in _addresses(self._code[index]):
                    self._add(index, register)
            elif index in self._found:
                for register in self._reads[index]:
                    self._add(index, register)
        return self._found

    def advances(self, index: int) -> bool:
        """Whether an instruction makes a register out of what the last round left in it."""
        both = self._reads[index] & self._writes[index]
        return any(self._writers[register][0] == index for register in both)

    def _add(self, index: int, register: int) -> None:
        """Adds the instruction that makes a register, if only addresses and the slice read it."""
        writers = self._writers[register]
        place = bisect_left(writers, index) - 1
        if place < 0 or self._code[writers[place]].opcode not in ADDRESS_MAKERS:
            return
        writer = writers[place]
        if all(self._is_only_for_addresses(writer, mine) for mine in self._writes[writer]):
            self._found.add(writer)

    def _is_only_for_addresses(self, writer: int, register: int) -> bool:
        writers, readers = self._writers[register], self._readers[register]
        after = bisect_right(writers, writer)
        end = writers[after] if after < len(writers) else self._block.stop
        if after == len(writers) and self._live >> register & 1:
            return False  # another block reads it
        mine = readers[bisect_right(readers, writer) : bisect_right(readers, end)]
        return all(self._takes_as_address(reader, register) for reader in mine)

    def _takes_as_address(self, index: int, register: int) -> bool:
        """Whether an instruction is of the slice, or an access with it in its address alone."""
        one = self._code[index]
        return index in self._found or (one.opcode in _SPACES and register not in _values(one))


def _addresses(one: Instruction) -> tuple[int, ...]:
    """Registers of an access' address."""
    found: list[int] = []
    for operand in one.operands:
        if isinstance(operand, Mem) and operand.base is not None and operand.base.index != RZ:
            found += range(operand.base.index, operand.base.index + 1 + operand.wide)
    return tuple(found)


def _values(one: Instruction) -> set[int]:
    """Registers that an access reads beside its address: what it stores."""
    read = one.operands if one.opcode.startswith(_STORES) else one.operands[1:]
    return {r for o in read if isinstance(o, Reg) for r in range(o.index, o.index + 4)}
