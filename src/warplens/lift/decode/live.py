"""How many registers hold a value that is still needed, instruction by instruction."""

from __future__ import annotations

from warplens.lift.decode.binding import KEY_PREDICATE, bits
from warplens.lift.decode.blocks import lay_out
from warplens.lift.decode.gaps import bind_kernel
from warplens.sass.model import SassKernel

_REGISTERS = (1 << KEY_PREDICATE) - 1


def live_registers(kernel: SassKernel) -> tuple[int, ...]:
    """Per instruction, the vector registers alive at it: read by it or later, or written by it.

    Behind an indirect call or jump every register counts as read; instructions that are not
    understood read and write nothing.
    """
    bound, _ = bind_kernel(kernel)
    layout = lay_out(kernel, list(bound))
    counts = [0] * len(kernel.instructions)
    for block in layout.blocks:
        live = 0
        for successor in block.successors:
            live |= layout.blocks[successor].live_in
        if block.indirect and not block.successors:
            live = _REGISTERS >> 1
        for index in range(block.end - 1, block.start - 1, -1):
            item = bound[index]
            if item is None:
                counts[index] = (live & _REGISTERS).bit_count()
                continue
            reads, written = bits(item.reads), bits(item.writes)
            around = (live | reads | written) & _REGISTERS
            counts[index] = around.bit_count()
            live = (live & ~written if item.inst.is_unguarded else live) | reads
    return tuple(counts)

