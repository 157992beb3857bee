"""References of control.cu in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.kernels.model import Problem, case

Array = npt.NDArray[Any]
M = 0xFFFFFFFF


@case("control.cu", grid=3, block=48)
def collatz(rng: np.random.Generator) -> Problem:
    data = rng.integers(1, 5000, 130, dtype=np.uint32)
    steps = np.zeros(130, np.int32)
    for i, v in enumerate(map(int, data)):
        while v != 1:
            v = 3 * v + 1 if v & 1 else v >> 1
            steps[i] += 1
    return (data, np.zeros(130, np.int32), 130), {1: steps}


def _interpret(code: Array, a: int, b: int) -> int:
    pc = -1
    while (pc := pc + 1) < len(code):
        match int(code[pc]):
            case 0:
                a += b
            case 1:
                a -= 3 * b
            case 2:
                a ^= b << 5
            case 3:
                b = a >> 3
            case 4:
                a *= 2654435761
            case 5:
                b, a = b + 17, ~a
            case 6:
                a = ~a
            case 7:
                pc += a & 1
            case 8:
                a, b = b, a
            case 9:
                a = a.bit_count() + b
            case 10:
                b |= a
            case 11:
                a = a % 1000 + b
            case _:
                return a ^ 0xDEAD
        a, b = a & M, b & M
    return a + b & M


@case("control.cu", grid=2, block=80)
def switch_table(rng: np.random.Generator) -> Problem:
    code = rng.integers(0, 12, (7, 25), dtype=np.uint8)
    code[3, 20], code[5, 9] = 12, 200
    data = rng.integers(-(2**31), 2**31, 150, dtype=np.int32)
    out = [_interpret(code[i % 7], int(v) & M, i) for i, v in enumerate(data)]
    expected = np.array(out, np.uint32).view(np.int32)
    return (code, data, np.zeros(150, np.int32), 25, 150), {2: expected}


def _nested(v: int) -> int:
    count = 0
    for a in range(20):
        for b in range(v % 9):
            if (a + b + v) % 13 == 0:
                continue
            if a * b > v:
                return count
            if a ^ b == v % 17:
                break
            count += 1
        if count > 60:
            return -count
    return count


@case("control.cu", grid=3, block=64)
def nested_exits(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 150, 170, dtype=np.int32)
    expected = np.array([_nested(int(v)) for v in data], np.int32)
    return (data, np.zeros(170, np.int32), 170), {1: expected}


@case("control.cu", grid=1, block=45)
def recursion_fibonacci(rng: np.random.Generator) -> Problem:
    numbers = [0, 1]
    while len(numbers) < 13:
        numbers.append(numbers[-1] + numbers[-2])
    expected = np.array([numbers[i % 13] for i in range(45)], np.int32)
    return (np.zeros(45, np.int32),), {0: expected}


@case("control.cu", grid=1, block=40)
def recursion_ackermann(rng: np.random.Generator) -> Problem:
    formula = (lambda n: n + 1, lambda n: n + 2, lambda n: 2 * n + 3)
    expected = np.array([formula[t % 3](t // 9) for t in range(40)], np.uint32)
    return (np.zeros(40, np.uint32),), {0: expected}


@case("control.cu", grid=1, block=37)
def recursion_quick_sort(rng: np.random.Generator) -> Problem:
    data = rng.integers(-50, 50, (37, 21), dtype=np.int32)
    return (data, 21), {0: np.sort(data, axis=1)}


@case("control.cu", grid=2, block=64)
def function_pointers(rng: np.random.Generator) -> Problem:
    which = rng.integers(0, 3, 100, dtype=np.int32)
    start = rng.integers(0, 2**32, 100, dtype=np.uint32)

    def loop(a: int, b: int) -> int:
        for i in range(b & 7):
            a = a * 5 + i
        return a

    table = (lambda a, b: a + b, lambda a, b: (a ^ b) * 2654435761, loop)
    values = [table[w](i * 77, int(start[i])) & M for i, w in enumerate(which)]
    return (which, start.copy(), 100), {1: np.array(values, np.uint32)}


@case("control.cu", grid=2, block=40)
def virtual_calls(rng: np.random.Generator) -> Problem:
    i = np.arange(70, dtype=np.int32)
    return (np.zeros(70, np.int32), 70), {0: np.where(i % 3 != 0, i * i, i * 3).astype(np.int32)}


@case("control.cu", grid=3, block=40)
def lane_lock(rng: np.random.Generator) -> Problem:
    def check(order: Array) -> None:
        assert sorted(order.tolist()) == list(range(120))

    zero = np.zeros(1, np.int32)
    return (zero, np.zeros(1, np.int32), np.zeros(120, np.int32)), {
        0: np.zeros(1, np.int32),
        1: np.array([120], np.int32),
        2: check,
    }


@case("control.cu", grid=2, block=33)
def lane_lock_naive(rng: np.random.Generator) -> Problem:
    return (np.zeros(1, np.int32), np.zeros(1, np.int32)), {1: np.array([198], np.int32)}


@case("control.cu", grid=1, block=64)
def lane_chain(rng: np.random.Generator) -> Problem:
    squares = np.arange(64, dtype=np.int32) ** 2
    return (np.zeros(1, np.int32), np.zeros(64, np.int32)), {1: squares}


@case("control.cu", grid=3, block=32)
def ticket_lock(rng: np.random.Generator) -> Problem:
    value = 0.0
    for _ in range(96):
        value = value * 1.0001 + 1.0
    zeros = np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(1)
    return zeros, {2: np.array([value])}


@case("control.cu", grid=2, block=50)
def short_circuit(rng: np.random.Generator) -> Problem:
    p = np.maximum(rng.integers(-20, 90, 90), -1).astype(np.int32)
    # Chains must not cycle: every step goes up or ends.
    p = np.where(p <= np.arange(90), np.int32(-1), p).astype(np.int32)
    out = np.zeros(90, np.int32)
    for i in range(90):
        v = i
        while 0 <= v < 90 and p[v] != i and p[v] >= 0:
            v = int(p[v]) + (v & 1)
        out[i] = v
    return (p, np.zeros(90, np.int32), 90), {1: out}


@case("control.cu", grid=5, block=64)
def sieve(rng: np.random.Generator) -> Problem:
    composite = np.array([p > 3 and any(p % d == 0 for d in range(2, p)) for p in range(300)])
    return (np.zeros(300, np.uint8), 300), {0: composite.astype(np.uint8)}


@case("control.cu", grid=1, block=32)
def queens(rng: np.random.Generator) -> Problem:
    return (np.zeros(1, np.uint64), 7), {0: np.array([40], np.uint64)}
