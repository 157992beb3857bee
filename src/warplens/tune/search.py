"""Which configurations are predicted next: all, at random, what a study of Optuna proposes, or what
a surrogate holds for the best."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any, Protocol

from warplens.errors import InputError
from warplens.tune.space import Configuration, name_of
from warplens.tune.surrogate import Floats, Surrogate

STRATEGIES = ("exhaustive", "random", "tpe", "evolutionary", "surrogate")
_PACKAGES = {"tpe": ("optuna", "Optuna"), "evolutionary": ("optuna", "Optuna"),
             "surrogate": ("sklearn", "scikit-learn")}  # fmt: skip
_STUDIED, _LISTED = 16, 256  # proposed at once by a study, and where the order is fixed

Bounds = tuple[Sequence[float] | None, Sequence[float] | None]


class Strategy(Protocol):
    """Proposes configurations and learns what they cost.

    Attributes:
        batch: how many it is asked for at once; the number of workers has no part in it, so that
            the search is the same on any machine.
        ahead: how many rounds it proposes before it has learned from the one before them.
    """

    batch: int
    ahead: int

    def propose(self, most: int) -> list[Configuration]:
        """Up to `most` configurations that were not proposed before; none: the search is over."""

    def learn(self, configuration: Configuration, cost: float | None) -> None:
        """The cost of a configuration; None where it has none."""


class InOrder:
    """All configurations, in the order given."""

    batch, ahead = _LISTED, 1

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        self._rest: Iterator[Configuration] = iter(configurations)

    def propose(self, most: int) -> list[Configuration]:
        """The next ones."""
        return list(islice(self._rest, most))

    def learn(self, configuration: Configuration, cost: float | None) -> None:
        """Nothing: the order is fixed."""


class Study:
    """Optuna's samplers over the positions of the values, restricted to what is allowed."""

    batch, ahead = _STUDIED, 0

    def __init__(self, configurations: Sequence[Configuration], kind: str, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler: Any = (
            optuna.samplers.TPESampler(seed=seed, multivariate=True) if kind == "tpe"
            else optuna.samplers.NSGAIISampler(seed=seed)
        )  # fmt: skip
        self._study: Any = optuna.create_study(sampler=sampler)
        self._open = {name_of(one): one for one in configurations}
        self._values = {
            name: list(dict.fromkeys(one[name] for one in configurations))
            for name in (configurations[0] if configurations else {})
        }
        self._trials: dict[str, Any] = {}
        self._random = random.Random(seed)

    def propose(self, most: int) -> list[Configuration]:
        """What the sampler asks for; what is not allowed or known is told back as costly."""
        found: list[Configuration] = []
        misses = 0
        while self._open and len(found) < most:
            trial: Any = self._study.ask()
            one = {
                name: values[trial.suggest_int(name, 0, len(values) - 1)]
                for name, values in self._values.items()
            }
            key = name_of(one)
            if key not in self._open:
                misses += 1
                self._study.tell(trial, state=_failed())
                if misses < 100:
                    continue
                key = self._random.choice(sorted(self._open))
                trial = None
            misses = 0
            found.append(self._open.pop(key))
            if trial is not None:
                self._trials[key] = trial
        return found

    def learn(self, configuration: Configuration, cost: float | None) -> None:
        """Tells the study."""
        trial = self._trials.pop(name_of(configuration), None)
        if trial is None:
            return
        if cost is None:
            self._study.tell(trial, state=_failed())
        else:
            self._study.tell(trial, cost)


def _failed() -> Any:
    import optuna

    return optuna.trial.TrialState.FAIL


def check_strategy(name: str) -> None:
    """Before anything is compiled for it.

    Raises:
        InputError: there is none of that name, or its package is not installed.
    """
    if name not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise InputError(f"there is no strategy {name!r}", hint=f"It is one of {known}.")
    needed, told = _PACKAGES.get(name, ("random", ""))
    if find_spec(needed) is None:
        raise InputError(f"strategy {name!r} needs {told}", hint="pip install 'warplens[tune]'")


def strategy_of(
    name: str, configurations: Sequence[Configuration], features: Callable[[], Floats], seed: int,
    most: int | None = None, bounds: Callable[[], Bounds] = lambda: (None, None),
) -> Strategy:  # fmt: skip
    """The strategy of that name, one of STRATEGIES.

    Args:
        features: gives a row of numbers for each configuration, for those that learn from them.
        most: how many configurations it may propose at all.
        bounds: gives what each configuration takes at least, by its code and by its warps' ways as
            far as these are known, for those that begin with the least.
    """
    if name == "exhaustive":
        return InOrder(configurations)
    if name == "random":
        mixed = list(configurations)
        random.Random(seed).shuffle(mixed)
        return InOrder(mixed)
    if name == "surrogate":
        return Surrogate(configurations, features(), seed, most, *bounds())
    return Study(configurations, name, seed)
