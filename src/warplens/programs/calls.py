"""What the numbers in messages mean: the runtime's functions, then the driver's."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache

from warplens.driver.entries import served as driver_served
from warplens.driver.entries.table import Entry
from warplens.errors import ExecutionFault
from warplens.programs.libraries import served as libraries_served
from warplens.programs.libraries.calls import library_call
from warplens.programs.program import Program, RuntimeFault
from warplens.programs.runtime import served as runtime_served
from warplens.programs.runtime.table import SHAPES, RuntimeEntry
from warplens.programs.wire import GONE, Request

Call = Callable[[Program, Request], int]
DRIVER_SLOTS, LIBRARY_SLOTS = 10_000, 20_000
# The driver's functions that are done in a stream's order, and those that wait for it.
_DRIVER_WORK = ("cuLaunch", "cuGraphLaunch")
_DRIVER_WAITING = ("cuCtxSynchronize", "cuStreamSynchronize", "cuStreamQuery", "cuEventSynchronize",
                   "cuEventQuery", "cuMemcpy", "cuMemFree", "cuCtxDestroy")  # fmt: skip


@lru_cache(maxsize=1)
def runtime_slots() -> Mapping[str, int]:
    """The runtime's functions by name."""
    return {name: slot for slot, name in enumerate(runtime_served())}


@lru_cache(maxsize=1)
def driver_slots() -> Mapping[str, int]:
    """The driver's functions by name."""
    return {name: DRIVER_SLOTS + slot for slot, name in enumerate(driver_served())}


@lru_cache(maxsize=1)
def library_slots() -> Mapping[str, int]:
    """The host libraries' functions by name."""
    return {name: LIBRARY_SLOTS + slot for slot, name in enumerate(libraries_served())}


def calls() -> Mapping[int, Call]:
    """What serves each number."""
    table: dict[int, Call] = {}
    for name, entry in runtime_served().items():
        table[runtime_slots()[name]] = _runtime_call(entry)
    for name, driver_entry in driver_served().items():
        table[driver_slots()[name]] = _driver_call(driver_entry)
    for name, library_entry in libraries_served().items():
        table[library_slots()[name]] = library_call(library_entry)
    return table


def _runtime_call(entry: RuntimeEntry) -> Call:
    layout, waits, is_work = entry.layout, entry.kind == "waits", entry.kind == "work"

    def call(program: Program, request: Request) -> int:
        arguments = layout.unpack_from(request.words)
        more = (request.data,) if entry.takes_data else ()
        try:
            with program.driver.lock:
                program.entered(request.host_ns)
                if waits:
                    program.wait()
                elif is_work and program.has_fault():
                    return 0  # a GPU does nothing after a fault; a call that waits tells of it
                try:
                    entry.function(program, *arguments, *more)
                except ExecutionFault as fault:
                    if not is_work:
                        raise
                    program.defer(fault)
                finally:
                    program.took()
                    program.left(entry.name, arguments)
        except RuntimeFault as refusal:
            return refusal.code
        except GONE:
            raise
        except BaseException as error:
            return program.driver.failed(entry.name, error)
        return 0

    return call


def _driver_call(entry: Entry) -> Call:
    layout = struct.Struct("<" + "".join(SHAPES[kind][1] for kind in entry.types))
    base = entry.name.removesuffix("_v2")
    is_work = base.startswith(_DRIVER_WORK) or base.endswith("Async")
    waits = not is_work and entry.name.startswith(_DRIVER_WAITING)

    def call(program: Program, request: Request) -> int:
        arguments = layout.unpack_from(request.words)
        with program.driver.lock:
            try:
                if waits:
                    program.wait()
                elif is_work and program.has_fault():
                    return 0  # as in the runtime: a call that waits tells of it
                entry.function(program.driver, *arguments)
            except GONE:
                raise
            except BaseException as error:
                if not (is_work and isinstance(error, ExecutionFault)):
                    return program.driver.failed(entry.name, error)
                program.defer(error)
            finally:
                program.took()
            if waits:
                program.print()
        return 0

    return call
