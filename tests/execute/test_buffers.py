"""Buffers that are used again."""

from __future__ import annotations

import threading

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
