"""Whether a run reaches an exercise's goals: its metrics, and the arrays that it must leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from warplens.session.launch import Launch
from warplens.session.written_arguments import parse
from warplens.studio.compiling import module_of
from warplens.studio.gallery import Exercise
from warplens.studio.requests import LaunchRequest


def checked(
    exercise: Exercise, request: LaunchRequest, launch: Launch, kernel: Any, values: Sequence[Any]
) -> dict[str, Any]:
    """Each goal with its value, whether the arrays are right, and whether all of it holds."""
    goals = []
    for goal in exercise.goals:
        if goal.metric == "findings":
            value: float | None = _findings(kernel, request)
        else:
            number = launch.metric(goal.metric)
            value = float(number) if isinstance(number, int | float) else None
        goals.append({"metric": goal.metric, "comparison": goal.comparison, "number": goal.number,
                      "value": value, "holds": goal.holds(value)})  # fmt: skip
    same = _is_same(exercise, request, values) if exercise.same else None
    return {"goals": goals, "same": same,
            "solved": all(one["holds"] for one in goals) and same is not False}  # fmt: skip


def _findings(kernel: Any, request: LaunchRequest) -> float:
    values = [parse(text, seed=index) for index, text in enumerate(request.arguments)]
    shape = (request.grid, request.block, 0, request.shared)
    return float(len(kernel.sanitize[shape](*values, tools="all").findings))


def _is_same(exercise: Exercise, request: LaunchRequest, values: Sequence[Any]) -> bool:
    """Whether the arrays hold what a right kernel leaves in them."""
    if request.arguments != exercise.arguments:
        return False
    own = replace(
        request, file=exercise.file, source=exercise.reference or exercise.source,
        kernel=exercise.kernel, cap=0,
    )  # fmt: skip
    expected = [parse(text, seed=index) for index, text in enumerate(exercise.arguments)]
    module_of(own, None)[exercise.kernel][exercise.grid, exercise.block](*expected)
    return all(
        np.allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-6)
        for found, wanted in zip(values, expected, strict=True)
    )
