"""Which GPU for a program: cards ranked by the predicted time of the launches of a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from warplens.errors import InputError, UnknownGpu
from warplens.gpus.find import find_gpu
from warplens.result import LaunchResult, Result

POWER = "board.power_watts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A GPU and what the launches take on it.

    Attributes:
        nanoseconds: the sum over all launches; low, high: nine of ten lie between.
        watts: the board's power limit, 0 if its file has none; price: 0 if none was given.
    """

    gpu: str
    nanoseconds: float
    low: float
    high: float
    watts: float
    price: float

    @property
    def joules(self) -> float:
        """Time at the board's power limit: an upper bound, no prediction of energy."""
        return self.nanoseconds * self.watts / 1e9

    @property
    def price_seconds(self) -> float:
        """Time times price: half of it is twice the work for the money."""
        return self.nanoseconds * self.price / 1e9


def ranked(result: Result, prices: Mapping[str, float] | None = None) -> tuple[Card, ...]:
    """The GPUs of a result, the fastest first.

    Args:
        result: of a profile on several GPUs; every GPU must have the same launches.
        prices: GPU's name or alias -> price, in any currency.

    Raises:
        InputError: a launch has no predicted time, GPUs have different launches, or a price is
            none or of a GPU that the result does not have.
    """
    by_gpu: dict[str, list[LaunchResult]] = {}
    for launch in result.launches:
        by_gpu.setdefault(launch.gpu, []).append(launch)
    if not by_gpu:
        raise InputError("the result has no launches")
    _check_same(by_gpu)
    named = _prices(prices or {}, by_gpu)
    cards = [_card(gpu, launches, named.get(gpu, 0.0)) for gpu, launches in by_gpu.items()]
    return tuple(sorted(cards, key=lambda card: (card.nanoseconds, card.gpu)))


def _check_same(by_gpu: Mapping[str, list[LaunchResult]]) -> None:
    """Times of different work cannot be compared."""
    done = {
        gpu: Counter((one.function_name, one.grid, one.block) for one in launches)
        for gpu, launches in by_gpu.items()
    }
    first, *others = done
    for other in others:
        missing = (done[first] - done[other]) or (done[other] - done[first])
        if missing:
            name, grid, block = next(iter(missing))
            raise InputError(
                f"{first} and {other} have different launches: {name} {grid} x {block}",
                hint="Profile with --gpu given once for each card.",
            )


def _prices(prices: Mapping[str, float], by_gpu: Mapping[str, object]) -> dict[str, float]:
    found = {}
    for name, price in prices.items():
        try:
            gpu = find_gpu(name).name
        except UnknownGpu:
            gpu = name
        if gpu not in by_gpu:
            raise InputError(f"there is a price for {name}, but no launch on it",
                             hint=f"The result has: {', '.join(by_gpu)}.")  # fmt: skip
        if not price > 0:
            raise InputError(f"the price of {name}, {price}, is not above zero")
        found[gpu] = price
    return found


def _card(gpu: str, launches: list[LaunchResult], price: float) -> Card:
    time = low = high = 0.0
    for launch in launches:
        known = launch.properties
        if "predicted_ns" not in known:
            raise InputError(f"{launch.function_name} on {gpu} has no predicted time",
                             hint="Profile without --timing off.")  # fmt: skip
        one, factor = float(known["predicted_ns"]), 1 + float(known["error_percent"]) / 100
        time, low, high = time + one, low + one / factor, high + one * factor
    try:
        watts = float(find_gpu(gpu).value(POWER, 0.0))
    except UnknownGpu:
        watts = 0.0
    return Card(gpu=gpu, nanoseconds=time, low=low, high=high, watts=watts, price=price)
