"""Tuning without hardware: a kernel's configurations ranked by predicted time, the best confirmed.

`space` enumerates configurations, `problem` says how one is compiled and launched, `evaluate` does
it in stages (compiled facts, prediction, a full run with the reference), `search` decides which
come next, `record` keeps what is known, `result` tells what was found. The package itself can be
called: `warplens.tune(...)` is `run.tune`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from warplens.tune.problem import Problem
from warplens.tune.result import Tuned
from warplens.tune.rows import Row
from warplens.tune.run import Search, tune
from warplens.tune.space import Space

__all__ = ["Problem", "Row", "Search", "Space", "Tuned", "tune"]


class _Callable(ModuleType):
    """This package, which can be called."""

    def __call__(self, *arguments: Any, **options: Any) -> Tuned:
        return tune(*arguments, **options)


_Callable.__call__.__doc__ = tune.__doc__
sys.modules[__name__].__class__ = _Callable
