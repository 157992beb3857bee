"""What a step's matrix instruction or mbarrier works with, in words: descriptors and phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from warplens.isa import tensor_memory, warpgroup
from warplens.sass.model import URZ, Instruction
from warplens.wording import count, number

_OF_HOPPER = ("no swizzle", "swizzle of 128 bytes", "swizzle of 64 bytes", "swizzle of 32 bytes")
_OF_100 = {
    0: "no swizzle", 1: "swizzle of 128 bytes in pieces of 32", 2: "swizzle of 128 bytes",
    4: "swizzle of 64 bytes", 6: "swizzle of 32 bytes",
}  # fmt: skip
_COUNT = (1 << 20) - 1


def matrix_text(descriptor: int, *, is_hopper: bool) -> str:
    """A matrix descriptor: where the matrix begins in shared memory, how it goes on."""
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    layout = descriptor >> 62 & 3 if is_hopper else descriptor >> 61 & 7
    names = dict(enumerate(_OF_HOPPER)) if is_hopper else _OF_100
    text = names.get(layout, f"layout {layout}, which is reserved")
    turn = descriptor >> 49 & 7
    base = f", base offset {turn}" if turn else ""
    return f"shared {start:#x}, leading {leading}, stride {stride} bytes, {text}{base}"


def phase_text(word: int) -> str:
    """An mbarrier's word: the phase that is open, and what it still waits for."""
    expected, arrivals = -(word >> 1) & _COUNT, -(word >> 43) & _COUNT
    signed = (word >> 22 & (1 << 21) - 1) ^ 1 << 20
    missing = signed - (1 << 20)
    parts = [f"{number(arrivals)} of {count(expected, 'arrival')} to come"]
    if missing > 0:
        parts.append(f"{count(missing, 'byte')} to come")
    if missing < 0:
        parts.append(f"{count(-missing, 'byte')} more than expected so far")
    return f"parity {word >> 63} is open, {', '.join(parts)}"


def _wide(uniform: Callable[[int], int], index: int) -> int:
    return uniform(index) | uniform(index + 1) << 32 if index != URZ else 0


def _of_warpgroup(inst: Instruction, uniform: Callable[[int], int]) -> Iterator[str]:
    product = warpgroup.product_of(inst)
    first = product.descriptors
    if first == URZ:
        return
    marks = product.marks
    if product.a_register is None:
        across = ", rows side by side" if "tnspA" in marks else ""
        yield f"A 64 rows: {matrix_text(_wide(uniform, first), is_hopper=True)}{across}"
    across = ", columns side by side" if "tnspB" in marks else ""
    text = matrix_text(_wide(uniform, first + 2), is_hopper=True)
    yield f"B {product.columns} columns: {text}{across}"


def _place(address: int) -> str:
    return f"lane {address >> 16 & 0xFFFF}, column {address & 0xFFFF}"


def _of_tensor_memory(inst: Instruction, uniform: Callable[[int], int]) -> Iterator[str]:
    product = tensor_memory.product_of(inst)
    form = uniform(product.descriptor)
    m, n = (form >> 24 & 31) << 4, (form >> 17 & 63) << 3
    if product.is_a_in_tensor_memory:
        yield f"A {m} rows: tensor memory, {_place(uniform(product.a))}"
    else:
        yield f"A {m} rows: {matrix_text(_wide(uniform, product.a), is_hopper=False)}"
    yield f"B {n} columns: {matrix_text(_wide(uniform, product.b), is_hopper=False)}"
    yield f"D: tensor memory, {_place(uniform(product.d))}"
    if form >> 2 & 1:
        yield f"metadata: {_place(uniform(product.metadata) + (form & 3))}"


def descriptor_texts(inst: Instruction, uniform: Callable[[int], int]) -> list[str]:
    """The matrices of wgmma and tcgen05.mma that descriptors name, one line each.

    Args:
        inst: any instruction.
        uniform: gives a uniform register.
    """
    if inst.opcode in warpgroup.OPCODES:
        return list(_of_warpgroup(inst, uniform))
    if inst.opcode in tensor_memory.PRODUCTS:
        return list(_of_tensor_memory(inst, uniform))
    return []
