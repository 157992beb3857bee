"""cuSOLVER: factors, solves, eigenvalues and singular values of dense matrices; sparse systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplens.driver.cells import put_i32, put_u64
from warplens.programs.libraries.arrays import OF_LETTER, Array, written
from warplens.programs.libraries.blas_matrices import LOWER, symmetric, triangle
from warplens.programs.libraries.blas_vectors import real_of
from warplens.programs.libraries.factors import householder, lu, lu_solve, reflected, solved
from warplens.programs.libraries.sparse import CSR, Description, SparseMatrix
from warplens.programs.libraries.table import NotServed, add, entry
from warplens.programs.libraries.work import Call, Handle, precision_of

CUSOLVER = "cusolver"
_I32 = np.dtype(np.int32)
_ROOM = 16  # elements of a workspace that nobody needs


@entry(CUSOLVER, "cusolverDnCreate cusolverSpCreate", "p")
def create(call: Call, handle: int) -> None:
    """A handle."""
    call.program.context()
    put_u64(handle, call.program.keep(Handle(CUSOLVER)))


@entry(CUSOLVER, "cusolverDnDestroy cusolverSpDestroy cusolverDnDestroySyevjInfo "
       "cusolverDnDestroyGesvdjInfo cusolverDnDestroyParams", "h")  # fmt: skip
def destroy(call: Call, handle: int) -> None:
    """Ends it."""
    if call.program.libraries.pop(handle, None) is None:
        raise call.invalid(f"{handle:#x} is no handle")


@entry(CUSOLVER, "cusolverDnSetStream cusolverSpSetStream", "h p")
def set_stream(call: Call, handle: int, stream: int) -> None:
    """Where work goes from now on."""
    call.program.context()
    call.program.driver.stream(stream)
    call.thing(handle, Handle).stream = stream


@entry(CUSOLVER, "cusolverDnGetStream", "h p")
def get_stream(call: Call, handle: int, stream: int) -> None:
    """Where work goes."""
    put_u64(stream, call.thing(handle, Handle).stream)


@entry(CUSOLVER, "cusolverDnCreateSyevjInfo cusolverDnCreateGesvdjInfo cusolverDnCreateParams",
       "p")  # fmt: skip
def create_options(call: Call, options: int) -> None:
    """Options that change nothing here."""
    put_u64(options, call.program.keep(Description()))


@entry(CUSOLVER, "cusolverDnXsyevjSetMaxSweeps cusolverDnXsyevjSetSortEig "
       "cusolverDnXgesvdjSetMaxSweeps cusolverDnXgesvdjSetSortEig", "h i")  # fmt: skip
def set_option(call: Call, options: int, value: int) -> None:
    """Every result is computed to full precision, and sorted."""
    call.thing(options, Description)


@entry(CUSOLVER, "cusolverDnXsyevjSetTolerance cusolverDnXgesvdjSetTolerance", "h d")
def set_tolerance(call: Call, options: int, value: float) -> None:
    """Every result is computed to full precision."""
    call.thing(options, Description)


def dense(names: str, letters: str, signature: str) -> Callable[[Any], Any]:
    """Declares a function for some types; several names are those of real and complex types.

    The function gets the call, the type and the parameters behind the handle.
    """
    forms = names.split()

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        for letter in letters:
            def served(call: Call, handle: int, *more: Any, letter: str = letter) -> None:
                call.handle = call.thing(handle, Handle)
                function(call, OF_LETTER[letter], *more)

            form = forms[-1] if letter in "CZ" else forms[0]
            add(CUSOLVER, f"cusolverDn{letter}{form}", f"h {signature}", served)
        return function

    return declare


def _room(names: str, signature: str) -> None:
    def size(call: Call, dtype: Any, *more: Any) -> None:
        put_i32(more[-1], _ROOM)

    dense(names, "SDCZ", signature)(size)


for _names, _signature in (
    ("potrf_bufferSize", "i i p i p"), ("potri_bufferSize", "i i p i p"),
    ("getrf_bufferSize", "i i p i p"), ("geqrf_bufferSize", "i i p i p"),
    ("orgqr_bufferSize ungqr_bufferSize", "i i i p i p p"),
    ("ormqr_bufferSize unmqr_bufferSize", "i i i i i p i p p i p"),
    ("syevd_bufferSize heevd_bufferSize", "i i i p i p p"),
    ("gesvd_bufferSize", "i i p"),
):  # fmt: skip
    _room(_names, _signature)


def _size_before_options(call: Call, dtype: Any, *more: Any) -> None:
    put_i32(more[-2], _ROOM)


def _size_of_gesvdj(call: Call, dtype: Any, *more: Any) -> None:
    put_i32(more[-2], _ROOM)


dense("syevj_bufferSize heevj_bufferSize", "SDCZ", "i i i p i p p p")(_size_before_options)
dense("gesvdj_bufferSize", "SDCZ", "i i i i p i p p i p i p p")(_size_of_gesvdj)


def _changes(
    call: Call, dtype: Any, place: tuple[int, int, int, int], operations: float, info: int,
    change: Callable[[Array], int | None],
) -> None:  # fmt: skip
    """Changes a matrix (address, rows, columns, leading dimension) and puts LAPACK's info."""
    address, rows, columns, leading = place

    def compute() -> None:
        found = call.matrix(address, rows, columns, leading, dtype)
        bad = change(found) or 0
        written(call.program, address, leading * (columns - 1) + rows, dtype)
        if info:
            call.gives(info, bad, _I32)

    call.does(compute, operations=operations, moved=2.0 * rows * columns * dtype.itemsize,
              precision=precision_of(dtype))  # fmt: skip


def _put(call: Call, address: int, values: Array, dtype: Any) -> None:
    call.elements(address, values.size, dtype)[:] = values
    written(call.program, address, values.size, dtype)


# --- factors and solves --------------------------------------------------------------------------


@dense("potrf", "SDCZ", "i i p i p i p")
def potrf(
    call: Call, dtype: Any, fill: int, n: int, a: int, lda: int, room: int, size: int, info: int
) -> None:
    """Cholesky's factor, in the half that is stored."""

    def change(one: Array) -> int:
        whole = symmetric(one, fill, is_hermitian=True)
        try:
            lower = np.linalg.cholesky(whole)
        except np.linalg.LinAlgError:
            return next(k for k in range(1, n + 1) if _is_bad(whole[:k, :k]))
        if fill == LOWER:
            one[:] = lower + np.triu(one, 1)
        else:
            one[:] = lower.T.conj() + np.tril(one, -1)
        return 0

    _changes(call, dtype, (a, n, n, lda), n**3 / 3, info, change)


def _is_bad(values: Array) -> bool:
    try:
        np.linalg.cholesky(values)
    except np.linalg.LinAlgError:
        return True
    return False


@dense("potrs", "SDCZ", "i i i p i p i p")
def potrs(
    call: Call, dtype: Any, fill: int, n: int, count: int, a: int, lda: int, b: int, ldb: int,
    info: int,
) -> None:  # fmt: skip
    """Solves with Cholesky's factor."""

    def change(right: Array) -> None:
        half = triangle(call.matrix(a, n, n, lda, dtype), fill)
        lower = half if fill == LOWER else half.T.conj()
        right[:] = solved(lower.T.conj(), solved(lower, right))

    _changes(call, dtype, (b, n, count, ldb), 2.0 * n * n * count, info, change)


@dense("potri", "SDCZ", "i i p i p i p")
def potri(
    call: Call, dtype: Any, fill: int, n: int, a: int, lda: int, room: int, size: int, info: int
) -> None:
    """The inverse from Cholesky's factor, in the half that is stored."""

    def change(one: Array) -> None:
        half = triangle(one, fill)
        lower = half if fill == LOWER else half.T.conj()
        found = np.linalg.inv(lower @ lower.T.conj())
        one[:] = np.tril(found) + np.triu(one, 1) if fill == LOWER else (
            np.triu(found) + np.tril(one, -1))  # fmt: skip

    _changes(call, dtype, (a, n, n, lda), 2 * n**3 / 3, info, change)


@dense("getrf", "SDCZ", "i i p i p p p")
def getrf(
    call: Call, dtype: Any, m: int, n: int, a: int, lda: int, room: int, pivots: int, info: int
) -> None:
    """LU factors; without pivots if there is no room for them."""

    def change(one: Array) -> int:
        one[:], order, bad = lu(one, pivots=bool(pivots))
        if pivots:
            _put(call, pivots, order, _I32)
        return bad

    _changes(call, dtype, (a, m, n, lda), 2 * n**3 / 3, info, change)


@dense("getrs", "SDCZ", "i i i p i p p i p")
def getrs(
    call: Call, dtype: Any, trans: int, n: int, count: int, a: int, lda: int, pivots: int, b: int,
    ldb: int, info: int,
) -> None:  # fmt: skip
    """Solves with LU factors."""

    def change(right: Array) -> None:
        order = call.elements(pivots, n, _I32) if pivots else None
        right[:] = lu_solve(call.matrix(a, n, n, lda, dtype), order, right, trans)

    _changes(call, dtype, (b, n, count, ldb), 2.0 * n * n * count, info, change)


@dense("geqrf", "SDCZ", "i i p i p p i p")
def geqrf(
    call: Call, dtype: Any, m: int, n: int, a: int, lda: int, tau: int, room: int, size: int,
    info: int,
) -> None:  # fmt: skip
    """QR factors as reflectors."""

    def change(one: Array) -> None:
        one[:], taus = householder(one)
        _put(call, tau, taus, dtype)

    _changes(call, dtype, (a, m, n, lda), 2.0 * m * n * n, info, change)


@dense("orgqr ungqr", "SDCZ", "i i i p i p p i p")
def orgqr(
    call: Call, dtype: Any, m: int, n: int, k: int, a: int, lda: int, tau: int, room: int,
    size: int, info: int,
) -> None:  # fmt: skip
    """The columns of Q."""

    def change(one: Array) -> None:
        taus, start = call.elements(tau, k, dtype), np.eye(m, n, dtype=dtype)
        one[:] = reflected(one[:, :k].copy(), taus, start, is_adjoint=False, from_right=False)

    _changes(call, dtype, (a, m, n, lda), 2.0 * m * n * k, info, change)


@dense("ormqr unmqr", "SDCZ", "i i i i i p i p p i p i p")
def ormqr(
    call: Call, dtype: Any, side: int, trans: int, m: int, n: int, k: int, a: int, lda: int,
    tau: int, c: int, ldc: int, room: int, size: int, info: int,
) -> None:  # fmt: skip
    """op(Q) C or C op(Q)."""

    def change(target: Array) -> None:
        left = call.matrix(a, n if side else m, k, lda, dtype)
        taus = call.elements(tau, k, dtype)
        target[:] = reflected(left, taus, target, is_adjoint=bool(trans), from_right=bool(side))

    _changes(call, dtype, (c, m, n, ldc), 4.0 * m * n * k, info, change)


# --- eigenvalues and singular values -------------------------------------------------------------


def _eigen(
    call: Call, dtype: Any, is_wanted: int, fill: int, n: int, a: int, lda: int, w: int, info: int
) -> None:
    def change(one: Array) -> None:
        values, vectors = np.linalg.eigh(symmetric(one, fill, is_hermitian=True))
        _put(call, w, values, real_of(dtype))
        if is_wanted:
            one[:] = vectors

    _changes(call, dtype, (a, n, n, lda), 9.0 * n**3, info, change)


@dense("syevd heevd", "SDCZ", "i i i p i p p i p")
def syevd(
    call: Call, dtype: Any, is_wanted: int, fill: int, n: int, a: int, lda: int, w: int, room: int,
    size: int, info: int,
) -> None:  # fmt: skip
    """Eigenvalues, and vectors if asked for."""
    _eigen(call, dtype, is_wanted, fill, n, a, lda, w, info)


@dense("syevj heevj", "SDCZ", "i i i p i p p i p p")
def syevj(
    call: Call, dtype: Any, is_wanted: int, fill: int, n: int, a: int, lda: int, w: int, room: int,
    size: int, info: int, options: int,
) -> None:  # fmt: skip
    """The same."""
    _eigen(call, dtype, is_wanted, fill, n, a, lda, w, info)


@dense("gesvd", "SDCZ", "i i i i p i p p i p i p i p p")
def gesvd(
    call: Call, dtype: Any, left: int, right: int, m: int, n: int, a: int, lda: int, s: int, u: int,
    ldu: int, vt: int, ldvt: int, room: int, size: int, rest: int, info: int,
) -> None:  # fmt: skip
    """Singular values, U and V^H: all of them ('A'), the first ('S'), none ('N')."""
    ways = [chr(way & 0xFF) for way in (left, right)]
    if "O" in ways:
        raise NotServed("singular vectors that replace the matrix")

    def change(one: Array) -> None:
        found_u, values, found_vt = np.linalg.svd(one, full_matrices="A" in ways)
        _put(call, s, values, real_of(dtype))
        k = min(m, n)
        if ways[0] != "N":
            _matrix(call, u, found_u[:, : m if ways[0] == "A" else k], ldu, dtype)
        if ways[1] != "N":
            _matrix(call, vt, found_vt[: n if ways[1] == "A" else k], ldvt, dtype)

    _changes(call, dtype, (a, m, n, lda), 14.0 * m * n * n, info, change)


@dense("gesvdj", "SDCZ", "i i i i p i p p i p i p i p p")
def gesvdj(
    call: Call, dtype: Any, is_wanted: int, is_small: int, m: int, n: int, a: int, lda: int, s: int,
    u: int, ldu: int, v: int, ldv: int, room: int, size: int, info: int, options: int,
) -> None:  # fmt: skip
    """Singular values, U and V."""

    def change(one: Array) -> None:
        found_u, values, found_vt = np.linalg.svd(one, full_matrices=not is_small)
        _put(call, s, values, real_of(dtype))
        if is_wanted:
            _matrix(call, u, found_u, ldu, dtype)
            _matrix(call, v, found_vt.T.conj(), ldv, dtype)

    _changes(call, dtype, (a, m, n, lda), 14.0 * m * n * n, info, change)


def _matrix(call: Call, address: int, values: Array, leading: int, dtype: Any) -> None:
    rows, columns = values.shape
    call.matrix(address, rows, columns, leading, dtype)[:] = values
    written(call.program, address, leading * (columns - 1) + rows, dtype)


# --- sparse systems ------------------------------------------------------------------------------


def _solves_sparse(name: str, dtype: Any, letter: str) -> None:
    def function(
        call: Call, handle: int, n: int, count: int, description: int, values: int, offsets: int,
        columns: int, b: int, tolerance: float, reorder: int, x: int, singularity: int,
    ) -> None:  # fmt: skip
        call.handle = call.thing(handle, Handle)
        found = call.program.libraries.get(description)
        base = found.values.get("IndexBase", 0) if isinstance(found, Description) else 0
        left = SparseMatrix(CSR, n, n, count, [offsets, columns, values], (2, 2), base, dtype)

        def compute() -> None:
            call.elements(x, n, dtype)[:] = solved(
                left.dense(call), call.elements(b, n, dtype)
            )
            written(call.program, x, n, dtype)
            put_i32(singularity, -1)

        call.does(compute, operations=4.0 * count * n, moved=24.0 * count,
                  precision=precision_of(dtype))  # fmt: skip
        call.waits()

    add(CUSOLVER, name, f"h i i p p p p p {letter} i p p", function)


for _way in ("qr", "chol"):
    _solves_sparse(f"cusolverSpScsrlsv{_way}", OF_LETTER["S"], "f")
    _solves_sparse(f"cusolverSpDcsrlsv{_way}", OF_LETTER["D"], "d")
