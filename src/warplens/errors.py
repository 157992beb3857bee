"""Every error a user can meet. Each says what happened, where, and what to do next."""

from __future__ import annotations


class WarplensError(Exception):
    """Base of all errors that warplens raises on purpose.

    Args:
        message: what happened and where.
        hint: what the user can do about it (printed on its own line).
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint


class ToolchainError(WarplensError):
    """A needed NVIDIA package is missing or unusable."""


class CompileError(WarplensError):
    """NVRTC refused the source; `log` holds its output."""

    def __init__(self, message: str, *, log: str = "", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.log = log


class CubinError(WarplensError):
    """A cubin cannot be read: truncated, foreign, or for another architecture."""


class SassError(WarplensError):
    """A disassembly listing cannot be understood."""


class Unsupported(WarplensError):
    """A kernel needs something that warplens does not do; nothing was run."""


class UnknownGpu(WarplensError):
    """No GPU of that name."""


class UnknownKernel(WarplensError):
    """No kernel of that name in the module."""


class UnknownMetric(WarplensError):
    """No metric or section of that name."""


class ArgumentError(WarplensError):
    """A launch argument does not fit the kernel's parameter."""


class LaunchError(WarplensError):
    """A launch configuration that the GPU would refuse."""


class ExecutionFault(WarplensError):
    """A kernel did something illegal while running; the launch was stopped."""


class MemoryFault(ExecutionFault):
    """An access outside its allocation, misaligned, freed or in the wrong space."""


class KernelTrap(ExecutionFault):
    """The kernel stopped itself: `__trap()` or a failed `assert`."""


class Deadlock(ExecutionFault):
    """No warp can go on: a barrier that not all threads reach, or similar."""


class EndlessWait(Deadlock):
    """Threads go round in loops for ever, waiting for what no thread will write."""


class LimitExceeded(ExecutionFault):
    """A step or time limit stopped the launch."""


class InputError(WarplensError):
    """A value given by the user is out of range or malformed."""


class ReportError(WarplensError):
    """A result file cannot be read or written."""


class TimingUnavailable(WarplensError):
    """A time was asked of a launch that kept no trace for the timing model."""
