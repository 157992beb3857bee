"""The GPUs of the process: chosen once, seen through `with` blocks."""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from types import TracebackType

from warplens.driver.machine import Driver
from warplens.errors import InputError, WarplensError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.libcuda import place
from warplens.session.launch import Launch

DEFAULT_GPU = "H200"
_prepared: tuple[str | GpuSpec, ...] = ()  # by a command, for the program that it runs


class Gpu(ContextDecorator):
    """The GPUs of a `with` block: what was launched, and what went wrong last."""

    def __init__(self, driver: Driver, *, timed: bool) -> None:
        self._driver = driver
        self._timed = timed

    @property
    def name(self) -> str:
        """The name of device 0, as programs are told."""
        return self._driver.gpus[0].name

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches since the block was entered, the last 1,000 at most."""
        return tuple(self._driver.launches)

    @property
    def last_error(self) -> WarplensError | None:
        """The last error that a caller in C was told only by a number."""
        return self._driver.last_error

    def recover(self) -> None:
        """Makes the GPUs usable again after a kernel's fault; memory stays as it is."""
        self._driver.recover()

    def __enter__(self) -> Gpu:
        self._driver.launches.clear()
        self._driver.recover()
        if self._timed:
            self._driver.keep_times()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        found = self._driver.last_error
        self._driver.recover()
        if error is not None and found is not None and not isinstance(error, WarplensError):
            raise found from error


class Profile(Gpu):
    """The same, and at the end of the block the launches' details pages are printed."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        for launch in self.launches:
            print(launch)
        super().__exit__(kind, error, traceback)


def choose(
    *gpus: str | GpuSpec, clock: str | float = "base", timed: bool = False, prints: bool = True
) -> Driver:
    """The process's driver, which must have these GPUs."""
    wanted = tuple(find_gpu(name) for name in gpus)
    if wanted or clock != "base":
        place.prefer(lambda: Driver(wanted or usual_gpus(), clock=clock, prints=prints))
    driver = place.driver()
    present = tuple(gpu.spec.name for gpu in driver.gpus)
    if wanted and present != tuple(spec.name for spec in wanted):
        raise InputError(
            f"this process has {', '.join(present)}; a process keeps its GPUs",
            hint="Name several GPUs at once, or use one process for each.",
        )
    driver.prints = prints
    if timed:
        driver.keep_times()
    return driver


def prepare(
    *gpus: str | GpuSpec, clock: str | float, timed: bool, prints: bool
) -> None:
    """The same for a program that may not need a driver: it is made when it does.

    The program has these GPUs as well if it asks for one without naming it.
    """
    global _prepared
    wanted = _prepared = tuple(find_gpu(name) for name in gpus) or usual_gpus()
    if not place.prefer(lambda: Driver(wanted, clock=clock, timed=timed, prints=prints)):
        choose(*gpus, clock=clock, timed=timed, prints=prints)


def simulated(
    *gpus: str | GpuSpec, clock: str | float = "base", timed: bool = True, prints: bool = True
) -> Gpu:
    """The GPUs of this process, simulated; `warplens.cuda(...)` is this function.

    Args:
        gpus: their names, device 0 first; those in place, or an H200, if none is given.
        clock: "base", "boost" or a number of MHz.
        timed: keep what times are modelled from.
        prints: write what kernels print to standard output.

    Raises:
        InputError: this process has other GPUs already.
    """
    return Gpu(choose(*gpus, clock=clock, prints=prints), timed=timed)


def profile(*, gpu: str | GpuSpec | None = None, clock: str | float = "base") -> Profile:
    """Around a function or a block: prints what its launches did, as `warplens profile` does."""
    return Profile(choose(*(() if gpu is None else (gpu,)), clock=clock), timed=True)


def usual_gpus() -> tuple[str | GpuSpec, ...]:
    """What a process has that names no GPU."""
    return _prepared or (os.environ.get("WARPLENS_GPU") or DEFAULT_GPU,)
