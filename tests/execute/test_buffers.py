"""Buffers that are used again."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path

import numpy as np
import pytest

from warplens.execute import buffers


def test_a_collection_may_give_a_buffer_back_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer that runs while a buffer is being taken does not wait for that."""
    monkeypatch.setattr(buffers, "_spare", [])

    def collected() -> None:
        with buffers._lock:
            buffers.give_back(buffers.take(4096))

    thread = threading.Thread(target=collected, daemon=True)
    thread.start()
    thread.join(10)

    assert not thread.is_alive()
    assert len(buffers.take(2000)) == 4096


@pytest.mark.parametrize("size", [1, 8, 2**18, 2**18 + 3, 2**20])
@pytest.mark.parametrize("is_large", [False, True])
def test_copies_put_back_what_was_there(
    size: int, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros or not, and wherever something was written since, its last bytes included."""
    monkeypatch.setattr(buffers, "_SPARE_BYTES", 0 if is_large else 1 << 30)
    monkeypatch.setattr(buffers, "_spare", [np.full(size, 7, np.uint8)])
    data = np.zeros(size, np.uint8)
    data[size // 2 :] = np.arange(size - size // 2)
    before = data.copy()

    buffer = buffers.copy_of(data)
    data[:: max(1, size // 5)] = 99
    data[-1] = 98
    buffers.put_back(data, buffer[:size])
    np.testing.assert_array_equal(data, before)


def test_zeros_of_which_few_are_written_take_few_pages() -> None:
    """As pages of 2 MB each of these would take all of its memory."""
    before = _resident_bytes()
    found = buffers.sparse((64, 1 << 20), np.uint8)
    found[:, 7] = 1

    assert _resident_bytes() - before < 4 << 20
    assert found.sum() == 64
    again = buffers.sparse_copy(found.ravel())
    assert _resident_bytes() - before < 8 << 20
    np.testing.assert_array_equal(again, found.ravel())


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("only Linux tells it")
    return int(statm.read_text().split()[1]) * mmap.PAGESIZE


def test_copies_of_zeros_are_kept_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_spare", [])
    data = np.zeros(16 << 20, np.uint8)
    zeros = buffers.copy_of(data)
    buffers.give_back(zeros)
    assert not zeros.any() and buffers._spare == []

    data[-1] = 1
    buffers.give_back(buffers.copy_of(data))
    assert [len(one) for one in buffers._spare] == [len(data)]
