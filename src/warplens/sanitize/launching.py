"""`kernel.sanitize[grid, block](*arguments)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warplens.sanitize.finding import TOOLS
from warplens.sanitize.report import Report
from warplens.sanitize.session import SanitizeOptions, Session, chosen_tools

if TYPE_CHECKING:
    from warplens.kernel import Kernel, LaunchShape


class Sanitizing:
    """A kernel about to be launched under the sanitizers; index it with grid and block."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __getitem__(self, configuration: Any) -> SanitizedLaunch:
        configured = self._kernel[configuration]
        return SanitizedLaunch(configured.kernel, configured.shape)


class SanitizedLaunch:
    """A launch shape under the sanitizers; call it with the arguments."""

    def __init__(self, kernel: Kernel, shape: LaunchShape) -> None:
        self._kernel = kernel
        self._shape = shape

    def __call__(
        self,
        *arguments: Any,
        tools: Sequence[str] = TOOLS,
        schedules: int = 0,
        seed: int = 1,
        lane_blocks: int = 128,
    ) -> Report:
        """Runs the kernel and returns what was found.

        Args:
            tools: out of memcheck, racecheck, initcheck, synccheck; or "all".
            schedules: further runs in other orders of warps and blocks, to show that a race
                changes the result; seed: of the first of them.
            lane_blocks: how many blocks run unoptimised for the checks inside warps.
        """
        options = SanitizeOptions(
            tools=chosen_tools(tools), schedules=schedules, seed=seed, lane_blocks=lane_blocks
        )
        return Session(self._kernel, self._shape, options).run(arguments)
