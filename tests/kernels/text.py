"""References of text.cu: Python's own hashlib, zlib, base64 and plain loops."""

from __future__ import annotations

import base64
import hashlib
import zlib

import numpy as np

from tests.kernels.model import Problem, case


@case("text.cu", grid=4, block=128)
def string_search(rng: np.random.Generator) -> Problem:
    text = rng.choice(np.frombuffer(b"abr", np.int8), 450)
    word = np.frombuffer(b"abra", np.int8).copy()
    raw, hits = text.tobytes(), np.zeros(450, np.int32)
    for i in range(447):
        hits[i] = raw[i : i + 4] == b"abra"
    return (text, 450, word, 4, np.zeros(450, np.int32)), {4: hits}


@case("text.cu", grid=5, block=96)
def count_words(rng: np.random.Generator) -> Problem:
    text = rng.choice(np.frombuffer(b"ab  ", np.int8), 470)
    words = len(text.tobytes().split())
    return (text, 470, np.zeros(1, np.int32)), {2: np.array([words], np.int32)}


@case("text.cu", grid=2, block=64)
def base64_encode(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 256, 300, dtype=np.uint8)
    expected = np.frombuffer(base64.b64encode(data.tobytes()), np.uint8)
    return (data, np.zeros(400, np.uint8), 100), {1: expected}


@case("text.cu", grid=2, block=40)
def crc32_rows(rng: np.random.Generator) -> Problem:
    data = rng.integers(0, 256, (70, 29), dtype=np.uint8)
    expected = np.array([zlib.crc32(row.tobytes()) for row in data], np.uint32)
    return (data, np.zeros(70, np.uint32), 29, 70), {1: expected}


@case("text.cu", grid=2, block=32)
def sha256_blocks(rng: np.random.Generator) -> Problem:
    blocks = np.zeros((50, 64), np.uint8)
    digests = []
    for block in blocks:
        message = rng.integers(0, 256, 50, dtype=np.uint8)
        block[:50], block[50], block[62] = message, 0x80, 400 >> 8
        block[63] = 400 & 255
        digests.append(np.frombuffer(hashlib.sha256(message.tobytes()).digest(), np.uint32))
    return (blocks, np.zeros((50, 8), np.uint32), 50), {1: np.array(digests)}


@case("text.cu", grid=3, block=64)
def run_lengths(rng: np.random.Generator) -> Problem:
    data = np.repeat(rng.integers(0, 3, 60, dtype=np.uint8), rng.integers(1, 6, 60))[:170]
    length = np.zeros(len(data), np.int32)
    starts = np.flatnonzero(np.concatenate([[True], data[1:] != data[:-1]]))
    length[starts] = np.diff([*starts, len(data)])
    return (data, np.zeros(len(data), np.int32), len(data)), {1: length}


@case("text.cu", grid=1, block=45)
def edit_distance(rng: np.random.Generator) -> Problem:
    m, pairs = 12, 40
    words = rng.integers(97, 101, (pairs, 2, m)).astype(np.int8)
    expected = []
    for a, b in words:
        row = list(range(m + 1))
        for i in range(m):
            left = [i + 1]
            for j in range(m):
                left.append(min(row[j + 1] + 1, left[j] + 1, row[j] + int(a[i] != b[j])))
            row = left
        expected.append(row[m])
    return (words, np.zeros(pairs, np.int32), m, pairs), {1: np.array(expected, np.int32)}
