"""Kernels of debug builds, whose functions have sections of their own."""

from __future__ import annotations

from itertools import product

import pytest

from tests.in_turn import one_in
from tests.sass.corpus import compiled, kernels
from warplens.errors import SassError
from warplens.sass.model import Imm, Label, Token
from warplens.sass.parser import KernelSet, load_kernels
from warplens.toolchain.cubin import read_cubin

each_architecture = pytest.mark.parametrize("sm", [75, 80, 90, 100, 120])
VARIABLES = 0x7F0000001000


def debug_kernels(name: str, sm: int) -> KernelSet:
    """A corpus file's kernels compiled with -G, its variables at made-up addresses."""
    cubin = read_cubin(compiled(name, sm, "-G").cubin)
    addresses = {
        symbol.name: VARIABLES + 0x10000 * index + symbol.offset
        for index, symbol in enumerate(cubin.symbols.values())
    }
    return load_kernels(cubin, addresses=addresses)


@pytest.mark.parametrize(("name", "sm"), one_in(
    6, list(product(("arithmetic", "control", "memory", "warp"), (75, 80, 90, 100, 120))),
    lambda case: f"{case[0]}-{case[1]}", several=True,
))
def test_calls_reach_the_functions_named(name: str, sm: int) -> None:
    """Every call's label is the beginning of a function; instructions stand at their address."""
    for kernel in debug_kernels(name, sm).values():
        for index, instruction in enumerate(kernel.instructions):
            assert instruction.address == 16 * index
            target = instruction.operands[-1] if instruction.operands else None
            if instruction.opcode == "CALL" and isinstance(target, Label):
                assert target.address in kernel.functions
            if isinstance(target, Label):
                assert 0 <= target.address < 16 * len(kernel.instructions)


@each_architecture
def test_functions_lie_at_the_same_place_in_all_kernels(sm: int) -> None:
    """A function pointer made by one kernel means the same in another."""
    made = debug_kernels("control", sm)
    fill, call = made["_Z10fill_tablev"], made["_Z10call_tablePii"]
    stored = {o.bits for i in fill.instructions for o in i.operands if isinstance(o, Imm)}
    base = made.cubin.device_functions["_Z5firstiPi"].base

    assert base in stored
    assert call.functions[base] == "first(int, int*)"


@each_architecture
def test_variables_get_their_addresses(sm: int) -> None:
    """Both halves of a variable's address stand in the code."""
    made = debug_kernels("control", sm)
    names = list(made.cubin.symbols)
    address = VARIABLES + 0x10000 * names.index("table") + made.cubin.symbols["table"].offset
    fill = made["_Z10fill_tablev"]
    stored = [o.bits for i in fill.instructions for o in i.operands if isinstance(o, Imm)]

    assert address & 0xFFFFFFFF in stored and address >> 32 in stored


@each_architecture
def test_missing_addresses_are_named(sm: int) -> None:
    """Without addresses, a kernel that holds one in its code is refused, naming the variable."""
    with pytest.raises(SassError, match="table"):
        kernels("control", sm, "-G")["_Z10fill_tablev"]


@each_architecture
def test_runtime_functions_stay_names(sm: int) -> None:
    """Calls of malloc and free name them."""
    kernel = debug_kernels("control", sm)["_Z12virtual_callPii"]
    called = {o.text for i in kernel.instructions for o in i.operands if isinstance(o, Token)}

    assert {"malloc", "free"} <= called


@each_architecture
def test_returns_go_to_absolute_addresses(sm: int) -> None:
    """The base of an absolute return is zero in every section."""
    kernel = debug_kernels("control", sm)["_Z9recursionPi"]
    returns = [i for i in kernel.instructions if i.opcode == "RET"]

    assert returns
    assert all(i.operands[-1] == Label(0) for i in returns)
