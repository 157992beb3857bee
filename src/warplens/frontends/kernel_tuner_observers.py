"""Observers of Kernel Tuner: counters are the simulated GPU's, sensors of cards are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warplens.errors import Unsupported

SENSORS = {
    "kernel_tuner.observers.nvml": ("NVMLObserver", "nvml"),
    "kernel_tuner.observers.pmt": ("PMTObserver",),
    "kernel_tuner.observers.powersensor": ("PowerSensorObserver",),
    "kernel_tuner.observers.tegra": ("TegraObserver",),
}


_READERS = ("get_nvml_pwr_limits", "get_nvml_gr_clocks", "get_nvml_mem_clocks", "get_idle_power")


class Counters:
    """In the place of `nvmetrics`: metrics of the launch that runs between its two calls."""

    def __init__(self) -> None:
        self._names: Sequence[str] | None = None
        self._values: list[float] = []

    @property
    def is_measuring(self) -> bool:
        """Whether the next launch is asked for its counters."""
        return self._names is not None

    def measureMetricsStart(self, names: Sequence[str], device: int = 0) -> None:
        """The next launch is the one."""
        self._names, self._values = list(names), []

    def measureMetricsStop(self) -> list[float]:
        """What it counted."""
        self._names = None
        return self._values

    def take(self, launch: Any) -> None:
        """Keeps a launch's metrics; of an unknown name `metric` tells."""
        self._values = [float(launch.metric(name) or 0.0) for name in self._names or ()]


def refuse_sensors(modules: dict[str, Any]) -> None:
    """Observers of energy, power, temperature and clocks say why they cannot be made, and so does
    what reads the clocks and limits of a card."""
    for module, names in SENSORS.items():
        for name in names:
            getattr(modules[module], name).__init__ = _refusal(name)
    for name in _READERS:
        setattr(modules["kernel_tuner.observers.nvml"], name, _refusal(name))


def _refusal(name: str) -> Any:
    def refused(*arguments: Any, **options: Any) -> None:
        raise Unsupported(
            f"{name} reads the sensors of a real card: energy, power, temperature and clocks are "
            "not modelled, for lack of a source",
            hint="NCUObserver's counters and the modelled time are there.",
        )

    return refused
