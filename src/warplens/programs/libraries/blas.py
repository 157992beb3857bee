"""cuBLAS: handles, modes, and copies of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.driver.cells import put_i32, put_u64
from warplens.driver.entries import copies
from warplens.programs.libraries.arrays import OF_LETTER
from warplens.programs.libraries.table import add, entry
from warplens.programs.libraries.work import Call, Handle
from warplens.programs.runtime.copies import rows_work

CUBLAS = "cublas"
VERSION = 130_000
_PROPERTIES = {0: 13, 1: 0, 2: 0}


def blas(name: str, letters: str, signature: str) -> Callable[[Any], Any]:
    """Declares a function for some types: `{}` in the name is the type's letter.

    The function gets the call, the type and the parameters behind the handle.
    """

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for letter in letters:
            def served(call: Call, handle: int, *more: Any, letter: str = letter) -> None:
                call.handle = call.thing(handle, Handle)
                function(call, OF_LETTER[letter], *more)

            add(CUBLAS, name.format(letter), f"h {signature}", served, wide=True)
        return function

    return declare


def plain(name: str, signature: str, *, wide: bool = True) -> Callable[[Any], Any]:
    """Declares a function whose types are parameters."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        def served(call: Call, handle: int, *more: Any) -> None:
            call.handle = call.thing(handle, Handle)
            function(call, *more)

        add(CUBLAS, name, f"h {signature}".strip(), served, wide=wide)
        return function

    return declare


@entry(CUBLAS, "cublasCreate_v2", "p")
def create(call: Call, handle: int) -> None:
    """A handle."""
    call.program.context()
    put_u64(handle, call.program.keep(Handle(CUBLAS)))


@entry(CUBLAS, "cublasDestroy_v2", "h")
def destroy(call: Call, handle: int) -> None:
    """Ends it."""
    call.thing(handle, Handle)
    del call.program.libraries[handle]


@plain("cublasSetStream_v2", "p", wide=False)
def set_stream(call: Call, stream: int) -> None:
    """Where work goes from now on."""
    assert call.handle is not None
    call.program.context()
    call.program.driver.stream(stream)
    call.handle.stream = stream


@plain("cublasGetStream_v2", "p", wide=False)
def get_stream(call: Call, stream: int) -> None:
    """Where work goes."""
    assert call.handle is not None
    put_u64(stream, call.handle.stream)


@plain("cublasSetPointerMode_v2", "i", wide=False)
def set_pointer_mode(call: Call, mode: int) -> None:
    """Whether scalars lie on the device."""
    assert call.handle is not None
    call.handle.on_device = mode == 1


@plain("cublasGetPointerMode_v2", "p", wide=False)
def get_pointer_mode(call: Call, mode: int) -> None:
    """Whether scalars lie on the device."""
    assert call.handle is not None
    put_i32(mode, call.handle.on_device)


def _mode(name: str, setter: str, getter: str) -> None:
    """A mode that is only remembered: every result is computed in the type's own precision."""

    def set_mode(call: Call, value: int) -> None:
        assert call.handle is not None
        call.handle.modes[name] = value

    def get_mode(call: Call, value: int) -> None:
        assert call.handle is not None
        put_i32(value, call.handle.modes.get(name, 0))

    plain(setter, "i", wide=False)(set_mode)
    if getter:
        plain(getter, "p", wide=False)(get_mode)


_mode("math", "cublasSetMathMode", "cublasGetMathMode")
_mode("atomics", "cublasSetAtomicsMode", "cublasGetAtomicsMode")
_mode("SMs", "cublasSetSmCountTarget", "cublasGetSmCountTarget")


@plain("cublasSetWorkspace_v2", "p z", wide=False)
def set_workspace(call: Call, workspace: int, nbytes: int) -> None:
    """No workspace is needed."""


@plain("cublasGetVersion_v2", "p", wide=False)
def version(call: Call, number: int) -> None:
    """The version of the API."""
    put_i32(number, VERSION)


@entry(CUBLAS, "cublasGetProperty", "i p")
def library_property(call: Call, kind: int, value: int) -> None:
    """Major, minor, patch level."""
    if kind not in _PROPERTIES:
        raise call.invalid(f"property {kind}")
    put_i32(value, _PROPERTIES[kind])


@entry(CUBLAS, "cublasLoggerConfigure", "i i i p")
def logger(call: Call, is_on: int, out: int, error: int, name: int) -> None:
    """Nothing is logged."""


# --- copies ------------------------------------------------------------------------------------


def _rows(
    call: Call, sides: tuple[int, int], steps: tuple[int, int], width: int, rows: int,
    stream: int,
) -> None:  # fmt: skip
    program = call.program
    program.context()
    if width <= 0 or rows <= 0:
        return
    if rows == 1:
        copies.copy_async(program.driver, *sides, width, stream)
        return
    work = rows_work(program, sides, steps, width, rows)
    program.driver.submit(program.driver.stream(stream), work)


def _copy_vector(
    call: Call, n: int, size: int, source: int, source_step: int, target: int, target_step: int,
    stream: int = 0,
) -> None:  # fmt: skip
    if source_step == target_step == 1:
        _rows(call, (target, source), (n * size, n * size), n * size, 1, stream)
    else:
        _rows(call, (target, source), (target_step * size, source_step * size), size, n, stream)


def _copy_matrix(
    call: Call, rows: int, columns: int, size: int, source: int, source_leading: int, target: int,
    target_leading: int, stream: int = 0,
) -> None:  # fmt: skip
    if rows == source_leading == target_leading:
        nbytes = rows * columns * size
        _rows(call, (target, source), (nbytes, nbytes), nbytes, 1, stream)
        return
    steps = (target_leading * size, source_leading * size)
    _rows(call, (target, source), steps, rows * size, columns, stream)


for _way in ("Set", "Get"):
    add(CUBLAS, f"cublas{_way}Vector", "n n p n p n", _copy_vector, wide=True)
    add(CUBLAS, f"cublas{_way}VectorAsync", "n n p n p n p", _copy_vector, wide=True)
    add(CUBLAS, f"cublas{_way}Matrix", "n n n p n p n", _copy_matrix, wide=True)
    add(CUBLAS, f"cublas{_way}MatrixAsync", "n n n p n p n p", _copy_matrix, wide=True)
