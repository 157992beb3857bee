"""Compiled functions give what Python gives for the same function."""

from __future__ import annotations

import ast
import ctypes
import importlib
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import warplens
from warplens.compiled import NotCompilable, carray, cfunc, native, record_at, types
from warplens.compiled.build import files_of
from warplens.compiled.entry import CFunction, Function

CELL = np.dtype([("count", "i4"), ("small", "u1"), ("time", "f8"), ("part", "f4"),
                 ("table", "i8", (4,))])  # fmt: skip
STEP = 3


class Pair(NamedTuple):
    """Two arrays under names."""

    left: Any
    right: Any


WINDOW = np.dtype([("first", "i4"), ("last", "i8")])
HEAD = np.dtype([("n", "i8"), ("cells", "i8"), ("most", "u2"), ("own", WINDOW), ("other", WINDOW)])


@native
def integers(a: int, b: int) -> Any:
    """Every operator, with Python's rounding and signs."""
    shift = b & 31
    total = a + b - 3 * a
    total ^= (a // b) << 1
    total += a % b - (a // 8) + a % 16 + -a
    logic = (a & b) | (a ^ ~b)
    return total, logic, a >> shift, min(a, b, 7), max(a, b), abs(a), a // -7, a % -7


@native
def floats(a: float, b: float, n: int) -> Any:
    """Mixed arithmetic: integers become floats where they meet one."""
    low = min(a, n)
    ratio = (a + n) / b
    root = math.sqrt(a * a + n * n)
    return low, ratio, max(a * b, 1), float(n) / 2, int(ratio), -a, a // b, n / 4, root


@native
def conditions(a: int, b: int, x: float) -> Any:
    """Comparisons, their chains, short circuits and membership."""
    inside = -5 < a < 10 <= b or x > 0.5
    safe = b != 0 and a // b > 1
    kind = 2 if a in (1, 2, STEP) else 3 if a not in (4, 5) else 4
    return inside, safe, kind, not inside, a == b, bool(a), inside & safe


@native
def loops(n: int, step: int) -> Any:
    """Loops with breaks, a variable that becomes a float, and one that a branch leaves alone."""
    total, last = 0, -1
    for i in range(n, -n, -3):
        if i % step == 0:
            continue
        total += i
        if total > 100:
            break
        last = i
    mean = 0
    k = 0
    while True:
        k += 1
        for _ in range(k):
            mean = (mean + k) / 2
        if k > n:
            break
    return total, last, k, mean


@native
def helper(cell: Any, values: Any, at: int) -> Any:
    """Changes a record and tells two values."""
    cell.count += at
    cell.table[at & 3] = cell.count * STEP
    cell.time = max(cell.time, values[at]) + 0.25
    return cell.time, cell.table[at & 3]


@native
def memory(cells: Any, pair: Pair, grid: Any) -> Any:
    """Records, rows, named tuples and calls."""
    whole = 0.0
    for i in range(cells.size):
        cell = cells[i]
        time, entry = helper(cell, pair.left, i)
        whole += time * entry
        row = grid[i % grid.shape[0]]
        row[1], row[0] = row[0] + 1, row[1] - i
        grid[0, i & 1] -= pair.right[i]
        cell.small += 100
        cell.part = cell.time / 3
    return whole, len(pair.left), grid.size


@native
def histogram(values: Any, seed: int) -> int:
    """Scratch arrays that start empty in every call."""
    counts = np.zeros(16, np.int64)
    for i in range(values.size):
        counts[(values[i] + seed) & 15] += 1
    best = 0
    for i in range(16):
        best = max(best, counts[i])
    return best


def _cases(seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(-(1 << 40), 1 << 40, (30, 2)).tolist()
    small = [(a, b) for a in (-9, -8, -1, 0, 1, 5, 12) for b in (-4, -3, -1, 1, 2, 16)]
    return [*((a, b or 1) for a, b in pairs), *small]


def test_integers() -> None:
    for a, b in _cases(1):
        assert integers(a, b) == integers.py_func(a, b), (a, b)


def test_floats() -> None:
    rng = np.random.default_rng(2)
    for a, b in rng.standard_normal((30, 2)).tolist():
        for n in (-3, 0, 7):
            assert floats(a, b, n) == floats.py_func(a, b, n)


def test_conditions() -> None:
    for a, b in _cases(3):
        for x in (0.0, 1.0):
            assert conditions(a, b, x) == conditions.py_func(a, b, x), (a, b, x)


def test_loops() -> None:
    for n in (0, 1, 4, 9, 30):
        assert loops(n, 4) == loops.py_func(n, 4)


def _memory() -> tuple[Any, ...]:
    rng = np.random.default_rng(4)
    cells = np.zeros(7, CELL)
    cells["count"] = rng.integers(-9, 9, 7)
    cells["small"] = 10
    pair = Pair(rng.standard_normal(7), np.arange(7, dtype=np.uint8))
    return cells, pair, rng.integers(-9, 9, (3, 2)).astype(np.int32)


def test_memory() -> None:
    compiled, expected = _memory(), _memory()
    records = expected[0].view(np.recarray)
    assert memory(*compiled) == memory.py_func(records, *expected[1:])
    assert (compiled[0] == expected[0]).all()
    assert (compiled[2] == expected[2]).all()


def test_scratch_arrays() -> None:
    values = np.random.default_rng(5).integers(0, 99, 50)
    for seed in (0, 3):
        assert histogram(values, seed) == histogram.py_func(values, seed)


def test_c_functions() -> None:
    @cfunc(types.int32(types.pointer, types.int64, types.int32))
    def total(place: int, n: int, sign: int) -> Any:
        values = carray(place, (n,), np.int64)
        found = 0
        for i in range(n):
            found += values[i]
        return found * sign

    numbers = np.arange(10)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
    assert call(total.address)(numbers.ctypes.data, 10, -2) == -90


@native
def _append(head: Any, window: Any, count: int) -> int:
    """Puts a row into the table that a record points to, if it is within the record's window."""
    if head.n >= head.most or not window.first <= count < window.last:
        return -1
    cell = carray(head.cells, (head.n + 1,), CELL)[head.n]
    cell.count, cell.table[1] = count, -count
    head.n += 1
    return int(cell.count)


@native
def _append_at(address: int, count: int) -> tuple[int, int]:
    head = record_at(address, HEAD)
    window = head.own if count & 1 else head.other
    return _append(head, window, count), head.n


def test_records_at_addresses() -> None:
    """A header that C code hands over, with a record in it and a table that it points to."""
    cells, head = np.zeros(4, CELL), np.zeros((), HEAD)
    head["cells"], head["most"] = cells.ctypes.data, 3
    head["own"], head["other"] = (-2, 9), (4, 1 << 40)
    found = [_append_at(head.ctypes.data, n) for n in (-1, 2, 7, 9, 6, 8)]
    assert found == [(-1, 1), (-1, 1), (7, 2), (-1, 2), (6, 3), (-1, 3)]
    assert cells["count"].tolist() == [-1, 7, 6, 0]
    assert cells["table"][:, 1].tolist() == [1, -7, -6, 0]
    assert head["own"].item() == (-2, 9)


def test_records_need_a_structured_type() -> None:
    @native
    def wrong(address: int) -> Any:
        return record_at(address, np.int64)

    with pytest.raises(NotCompilable, match="structured type"):
        wrong(0)


def test_what_cannot_be_compiled_is_named_with_its_line() -> None:
    @native
    def wrong(n: int) -> Any:
        total = n
        return [total]

    with pytest.raises(NotCompilable, match=r"test_compiled\.py:\d+: wrong: List"):
        wrong(1)


def test_arrays_of_other_types_compile_anew() -> None:
    assert histogram(np.arange(5, dtype=np.int16), 0) == 1
    with pytest.raises(NotCompilable, match="contiguous"):
        histogram(np.arange(10)[::2], 0)


def _read_by(module: Any) -> set[str]:
    """The modules of warplens whose names a module's compiled functions read."""
    functions = [
        f.py_func for f in vars(module).values()
        if isinstance(f, (Function, CFunction)) and f.py_func.__module__ == module.__name__
    ]  # fmt: skip
    used = {name for f in functions for name in f.__code__.co_names}
    found = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if (alias.asname or alias.name) in used and node.module:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in sys.modules else node.module)
    return {name for name in found if name.startswith("warplens.")}


@pytest.mark.parametrize("package", ["execute", "timing", "sanitize"])
def test_machine_code_is_kept_under_all_that_it_is_made_from(package: str) -> None:
    """A constant or function of another file that a compiled function reads is in its digest."""
    known = {str(path) for path in files_of(package)}
    modules = [
        importlib.import_module(f"warplens.{package}.{path.stem}")
        for path in Path(warplens.__file__).parent.glob(f"{package}/*.py")
    ]
    read = {name for module in modules for name in _read_by(module)}

    assert read
    assert not [name for name in read if str(sys.modules[name].__file__) not in known]


def test_processes_share_one_cache(tmp_path: Any) -> None:
    """Four that start at once with an empty cache all get a right answer; nothing is left over."""
    code = (
        "import numpy as np; from warplens.timing import l2_answer as l2;"
        "from warplens.execute.trace import ACCESS;"
        "from warplens.timing.sharing import Sharing;"
        "from warplens.timing.touched import Touched;"
        "print(l2.answer(Touched.of(np.zeros(0, ACCESS), np.zeros(0, np.int64)), 1, 4096, 1,"
        "Sharing()).footprint,"
        "l2._walk(np.ones(1, ACCESS), np.array([1]), np.array([0, 35]), np.array([0, 1]),"
        "np.array([0]), np.array([1]),"
        "np.zeros(2, np.uint8), np.zeros((2, 2), np.int32), np.zeros(3, np.int64),"
        "np.zeros((4, 16), np.int32), np.zeros(4, np.uint8), np.zeros(3, np.int32),"
        "np.zeros(3, l2._PLACE), np.zeros(3, np.int64), 1, np.zeros(1, np.int64),"
        "np.zeros(1, np.uint8)))"
    )
    environment = {**os.environ, "WARPLENS_CACHE_DIR": str(tmp_path), "WARPLENS_SHIPPED": "off"}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [process.communicate()[0].split() for process in running] == [[b"0", b"2"]] * 4
    files = [one for one in (tmp_path / "compiled").rglob("*") if one.is_file()]
    # `_walk`, what spreads accesses, finds first ones, notes whose they are, and puts them in order
    assert len(files) == 5
