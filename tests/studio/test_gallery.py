"""The gallery: every exercise compiles, is not solved to begin with, and can be solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.in_turn import one_in
from warplens.studio.gallery import Exercise, exercises
from warplens.studio.requests import LaunchRequest
from warplens.studio.running import Runner

# What a user may change: (text, in place of it); block and grid where they are what changes.
SOLUTIONS: dict[str, list[tuple[str, str]]] = {
    "warps": [("threadIdx.x % 2", "threadIdx.x / 32 % 2")],
    "latency": [],
    "occupancy": [
        ("    __shared__ float window[256 * 40];\n", ""),
        ("    for (int k = 0; k < 40; k++) window[k * 256 + t] = in[(first + k) % 4096];\n", ""),
        ("window[k * 256 + t]", "in[(first + k) % 4096]"),
    ],
    "coalescing": [("threadIdx.x * part + i", "i * 32 + threadIdx.x")],
    "transpose": [("void naive(", "void was_naive("), ("void padded(", "void naive(")],
    "banks": [("tile[32][32]", "tile[32][33]")],
    "race": [("        if (t < s) part[t] += part[t + s];",
              "    { if (t < s) part[t] += part[t + s]; __syncthreads(); }")],
    "reduction": [("for (int s = 1; s < blockDim.x; s *= 2)",
                   "for (int s = blockDim.x / 2; s; s /= 2)"),
                  ("t % (2 * s) == 0", "t < s")],
    "matmul": [
        ("    float sum = 0;\n",
         "    __shared__ float ta[8][32], tb[32][32];\n    float sum = 0;\n"),
        ("    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];\n",
         "    int tx = threadIdx.x, ty = threadIdx.y;\n    for (int k = 0; k < n; k += 32) {\n"
         "        ta[ty][tx] = a[y * n + k + tx];\n"
         "        for (int i = ty; i < 32; i += 8) tb[i][tx] = b[(k + i) * n + x];\n"
         "        __syncthreads();\n"
         "        for (int j = 0; j < 32; j++) sum += ta[ty][j] * tb[j][tx];\n"
         "        __syncthreads();\n    }\n"),
    ],
    "roofline": [("y[i] = 2.0f * x[i] + y[i];", "y[i] = 3.0f * (2.0f * x[i] + y[i]);"),
                 ("    if (i < n) again[i] = 3.0f * again[i];\n", "")],
}  # fmt: skip
SHAPES = {"latency": ((1056,), (256,))}


def asked(exercise: Exercise, source: str, shape: tuple[tuple[int, ...], ...]) -> LaunchRequest:
    """The launch that the page asks for."""
    return LaunchRequest(
        file=exercise.file, source=source, kernel=exercise.kernel, gpu="H200", grid=shape[0],
        block=shape[1], arguments=exercise.arguments,
    )  # fmt: skip


@pytest.mark.parametrize("name", one_in(10, list(exercises()), str, first=6))
def test_an_exercise_is_one(name: str, tmp_path: Path) -> None:
    """The kernel to begin with misses a goal; the change that the steps speak of reaches all."""
    exercise = exercises()[name]
    runner = Runner(tmp_path, None)
    shape = (exercise.grid, exercise.block)
    first = runner.run(asked(exercise, exercise.source, shape), "r1", name)["exercise"]
    source = exercise.source
    for old, new in SOLUTIONS[name]:
        assert old in source
        source = source.replace(old, new)
    second = runner.run(asked(exercise, source, SHAPES.get(name, shape)), "r2", name)["exercise"]

    assert not first["solved"]
    assert second["solved"], second


def test_every_exercise_has_a_solution() -> None:
    """No exercise is left out above, and each says in steps what to do."""
    assert set(SOLUTIONS) == set(exercises())
    assert all(len(one.steps) == 3 and one.goals for one in exercises().values())
