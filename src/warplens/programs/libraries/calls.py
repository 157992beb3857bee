"""What serves a host library's function: its errors are the library's codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable

from warplens.driver.status import DriverError, Status
from warplens.errors import WarplensError
from warplens.programs.libraries.table import LibraryEntry, LibraryFault, NotServed
from warplens.programs.libraries.work import Call
from warplens.programs.program import Program
from warplens.programs.wire import GONE, Request


def library_call(entry: LibraryEntry) -> Callable[[Program, Request], int]:
    """Serves one function."""
    layout = entry.layout

    def call(program: Program, request: Request) -> int:
        arguments = layout.unpack_from(request.words)
        with program.driver.lock:
            program.entered(request.host_ns)
            try:
                if program.has_fault():
                    return entry.library.failed  # a GPU does nothing after a fault
                entry.function(Call(program, entry), *arguments)
            except GONE:
                raise
            except Exception as error:
                return _code(program, entry, error)
            finally:
                program.took()
                program.left(entry.name, arguments, is_listed=False)
        return 0

    return call


def _code(program: Program, entry: LibraryEntry, error: Exception) -> int:
    library = entry.library
    if isinstance(error, LibraryFault):
        return error.code
    if isinstance(error, NotServed):
        program.tell_once(f"{entry.name}: {error} is not supported by the simulated GPU")
        return library.not_supported
    if isinstance(error, DriverError):
        if error.status is Status.CUDA_ERROR_NOT_SUPPORTED:
            return library.not_supported
        # A bad pointer is a kernel's fault on a GPU; what is wrong is said here.
        print(f"warplens: {entry.name}: {error}", file=sys.stderr)
        return library.failed
    if isinstance(error, WarplensError):
        print(f"warplens: {entry.name}: {error}", file=sys.stderr)
    else:
        print(f"warplens: {entry.name} failed:", file=sys.stderr)
        traceback.print_exception(error)
    return library.failed
