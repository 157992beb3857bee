"""Factors of dense matrices that NumPy does not give in LAPACK's form."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import Array


def lu(values: Array, *, pivots: bool = True) -> tuple[Array, Array, int]:
    """P A = L U: both factors in one matrix, the rows exchanged (from 1), and LAPACK's info."""
    found = np.array(values, order="F")
    m, n = found.shape
    order = np.arange(1, min(m, n) + 1, dtype=np.int32)
    bad = 0
    for k in range(min(m, n)):
        if pivots:
            row = k + int(np.abs(found[k:, k].real).__add__(np.abs(found[k:, k].imag)).argmax())
            order[k] = row + 1
            if row != k:
                found[[k, row]] = found[[row, k]]
        if found[k, k] == 0:
            bad = bad or k + 1
            continue
        found[k + 1 :, k] /= found[k, k]
        found[k + 1 :, k + 1 :] -= np.outer(found[k + 1 :, k], found[k, k + 1 :])
    return found, order, bad


def exchanged(rows: Array, order: Array | None, *, back: bool = False) -> Array:
    """Rows in the order in which the factors have them, or back again."""
    found = rows.copy()
    if order is None:
        return found
    steps = list(enumerate(int(one) - 1 for one in order))
    for k, row in reversed(steps) if back else steps:
        if row != k:
            found[[k, row]] = found[[row, k]]
    return found


def lu_solve(factors: Array, order: Array | None, right: Array, trans: int = 0) -> Array:
    """Solves op(A) X = B with the factors of A."""
    lower = np.tril(factors, -1) + np.eye(factors.shape[0], dtype=factors.dtype)
    upper = np.triu(factors)
    if not trans:
        found = solved(lower, exchanged(right, order))
        return solved(upper, found)
    if trans == 2:
        lower, upper = lower.conj(), upper.conj()
    found = solved(lower.T, solved(upper.T, right))
    return exchanged(found, order, back=True)


def solved(left: Array, right: Array) -> Array:
    """The solution of a system; NaN where there is none, as no library says so."""
    try:
        return np.linalg.solve(left, right)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan, right.dtype)


def inverse(values: Array) -> tuple[Array, int]:
    """The inverse, and 1 if there is none."""
    try:
        return np.linalg.inv(values), 0
    except np.linalg.LinAlgError:
        return np.full_like(values, np.nan), 1


def householder(values: Array) -> tuple[Array, Array]:
    """Q R as LAPACK keeps it: R and the reflectors in one matrix, and their factors tau."""
    found = np.array(values, order="F")
    m, n = found.shape
    taus = np.zeros(min(m, n), found.dtype)
    for k in range(min(m, n)):
        head, tail = found[k, k], found[k + 1 :, k]
        rest: Any = np.linalg.norm(tail)
        if rest == 0 and np.imag(head) == 0:
            continue
        size = np.hypot(abs(head), rest)
        beta = -size if np.real(head) >= 0 else size
        taus[k] = (beta - head) / beta
        tail /= head - beta
        found[k, k] = beta
        reflector = np.concatenate([np.ones(1, found.dtype), tail])
        right = found[k:, k + 1 :]
        right -= np.conj(taus[k]) * np.outer(reflector, reflector.conj() @ right)
    return found, taus


def reflected(
    reflectors: Array, taus: Array, target: Array, *, is_adjoint: bool, from_right: bool
) -> Array:
    """Q C, Q^H C, C Q or C Q^H for the Q of such reflectors."""
    m = reflectors.shape[0]
    q = np.eye(m, dtype=reflectors.dtype)
    for k in range(len(taus)):
        v = np.zeros(m, reflectors.dtype)
        v[k], v[k + 1 :] = 1, reflectors[k + 1 :, k]
        q -= taus[k] * np.outer(q @ v, v.conj())
    q = q.T.conj() if is_adjoint else q
    return target @ q if from_right else q @ target
