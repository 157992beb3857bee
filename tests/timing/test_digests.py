"""Digests tell contents of arrays apart, where differences are alike or far from each other too."""

from __future__ import annotations

import numpy as np

from warplens.timing.digests import digest


def test_every_byte_counts() -> None:
    """A flipped bit, the same flip twice 64 or 512 bytes apart, two equal stretches exchanged."""
    content = np.random.default_rng(1).integers(0, 256, 1777, dtype=np.uint8)
    found = {digest(content)}
    for place in range(content.size):
        for bit in (1, 16, 128):
            other = content.copy()
            other[place] ^= bit
            found.add(digest(other))
            for apart in (64, 512):
                if place + apart < content.size:
                    twice = other.copy()
                    twice[place + apart] ^= bit
                    found.add(digest(twice))
    for n in (64, 512):
        swapped = content.copy()
        swapped[:n], swapped[n : 2 * n] = content[n : 2 * n], content[:n]
        found.add(digest(swapped))
    assert len(found) == 3 + 3 * content.size + 3 * (2 * content.size - 64 - 512)


def test_lengths_and_places() -> None:
    """Zeroes of different lengths differ; where content lies in memory does not matter."""
    zeros = np.zeros(300, np.uint8)
    assert len({digest(zeros[:n]) for n in range(300)}) == 300
    content = np.arange(4096, dtype=np.int64).view(np.uint8)
    assert digest(content[3:2003]) == digest(content[3:2003].copy())
