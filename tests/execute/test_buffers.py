"""Buffers that are used again."""

from __future__ import annotations

import threading

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
