"""Result codes of the driver API, and which one an error of warplens becomes."""

from __future__ import annotations

from enum import IntEnum

from warplens.errors import (
    CompileError,
    CubinError,
    Deadlock,
    ExecutionFault,
    InputError,
    KernelTrap,
    LaunchError,
    LimitExceeded,
    MemoryFault,
    SassError,
    ToolchainError,
    UnknownKernel,
    Unsupported,
    WarplensError,
)


class Status(IntEnum):
    """The codes that the driver gives; names and numbers are those of CUresult in cuda.h."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_DEINITIALIZED = 4
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221
    CUDA_ERROR_FILE_NOT_FOUND = 301
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_STATE = 401
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_TIMEOUT = 702
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709
    CUDA_ERROR_ASSERT = 710
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713
    CUDA_ERROR_MISALIGNED_ADDRESS = 716
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
    CUDA_ERROR_NOT_SUPPORTED = 801
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905
    CUDA_ERROR_CAPTURED_EVENT = 907
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
    CUDA_ERROR_UNKNOWN = 999


class DriverError(WarplensError):
    """A call that the driver refuses with a code of its own."""

    def __init__(self, status: Status, message: str = "") -> None:
        super().__init__(message or status.name)
        self.status = status


# The first class that fits counts.
_STATUS_OF: tuple[tuple[type[BaseException], Status], ...] = (
    (KernelTrap, Status.CUDA_ERROR_ASSERT),
    (MemoryFault, Status.CUDA_ERROR_ILLEGAL_ADDRESS),
    (Deadlock, Status.CUDA_ERROR_LAUNCH_TIMEOUT),
    (LimitExceeded, Status.CUDA_ERROR_LAUNCH_TIMEOUT),
    (ExecutionFault, Status.CUDA_ERROR_LAUNCH_FAILED),
    (LaunchError, Status.CUDA_ERROR_INVALID_VALUE),
    (InputError, Status.CUDA_ERROR_INVALID_VALUE),
    (UnknownKernel, Status.CUDA_ERROR_NOT_FOUND),
    (Unsupported, Status.CUDA_ERROR_NOT_SUPPORTED),
    (SassError, Status.CUDA_ERROR_NOT_SUPPORTED),
    (CompileError, Status.CUDA_ERROR_INVALID_PTX),
    (CubinError, Status.CUDA_ERROR_INVALID_IMAGE),
    (ToolchainError, Status.CUDA_ERROR_JIT_COMPILER_NOT_FOUND),
    (MemoryError, Status.CUDA_ERROR_OUT_OF_MEMORY),
)


def status_of(error: BaseException) -> Status:
    """The code that a caller in C gets for an error."""
    if isinstance(error, DriverError):
        return error.status
    if isinstance(error, MemoryFault) and error.message.startswith("misaligned"):
        return Status.CUDA_ERROR_MISALIGNED_ADDRESS
    return next(
        (status for kind, status in _STATUS_OF if isinstance(error, kind)),
        Status.CUDA_ERROR_UNKNOWN,
    )


def described(code: int) -> str:
    """A code in words; empty for numbers that are none of the codes above."""
    try:
        name = Status(code).name
    except ValueError:
        return ""
    return name.removeprefix("CUDA_ERROR_").removeprefix("CUDA_").replace("_", " ").lower()
