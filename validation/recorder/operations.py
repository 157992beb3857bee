"""Records the results of every kernel in kernels/operations.cu over edge-biased inputs."""

from __future__ import annotations

import re
from typing import Any

import build
import numpy as np
import numpy.typing as npt
from session import Session

N = 1024
INTEGER_EDGES = [
    0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 24, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 0x7FFF,
    0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFE0,
    0xFFFF0000, 0xAAAAAAAA, 0x55555555, 0x01020304, 0x80808080, 0x7F7F7F7F, 0xFF00FF00,
]  # fmt: skip
FLOAT_EDGES = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
    0xFFC12345, 0x7FFFFFFF, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000,
    0x00400000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800001, 0x3FC00000, 0x40200000,
    0xC0200000, 0x40600000, 0x4B000000, 0x4B000001, 0x4AFFFFFF, 0x4B800000, 0x4F000000, 0x4EFFFFFF,
    0x4F800000, 0xCF000000, 0xCF000001, 0x5F000000, 0xDF000000, 0x5F800000, 0x42B17218, 0xC2AEAC50,
    0x43000000, 0xC3000000, 0xC3150000, 0x477FE000, 0x477FF000, 0x477FEFFF, 0x33800000, 0x38800000,
    0x3EAAAAAB, 0x3F317218, 0x40490FDB, 0x3FC90FDB, 0x47CE4780, 0x34000000, 0x7E800000, 0x01000000,
]  # fmt: skip
HALF_EDGES = [
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFFFF, 0x0001, 0x8001, 0x03FF,
    0x0400, 0x7BFF, 0xFBFF, 0x3800, 0x3BFF, 0x3C01, 0x3E00, 0x4100, 0x3F80, 0x7F80, 0xFF80, 0x7FC0,
    0x007F, 0x0080, 0x7F7F, 0x6400, 0x4248, 0x5640,
]  # fmt: skip
DOUBLE_EDGES = [
    0x0, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x1, 0x000FFFFFFFFFFFFF,
    0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x3FE0000000000000, 0x3FEFFFFFFFFFFFFF,
    0x3FF0000000000001, 0x4004000000000000, 0x41E0000000000000, 0x41DFFFFFFFC00000,
    0x41F0000000000000, 0xC1E0000000000000, 0xC1E0000000200000, 0x43E0000000000000,
    0xC3E0000000000000, 0x43F0000000000000, 0x4330000000000001, 0x36A0000000000000,
    0x3690000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x400921FB54442D18,
    0x40862E42FEFA39EF, 0xC0874910D52D3052, 0xFFFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF,
    0x00000000FFFFFFFF, 10, 0x100000000,
]  # fmt: skip
Words = npt.NDArray[Any]


def _mixed32(rng: np.random.Generator) -> Words:
    """One array of 32-bit words: edges of every kind, random bits, and ordinary numbers."""
    near = (rng.standard_normal(N) * 10.0 ** rng.uniform(-4, 4, N)).astype(np.float32)
    small = rng.integers(-50, 50, N).astype(np.int32).view(np.uint32)
    halves = rng.choice(HALF_EDGES, (N, 2)).astype(np.uint32)
    usual = (rng.standard_normal((N, 2)) * 2.0 ** rng.uniform(-6, 6, (N, 2))).astype(np.float16)
    usual_bits = usual.view(np.uint16).astype(np.uint32)
    kinds = np.stack([
        rng.choice(INTEGER_EDGES, N).astype(np.uint32),
        rng.choice(FLOAT_EDGES, N).astype(np.uint32),
        halves[:, 0] | halves[:, 1] << 16,
        rng.integers(0, 1 << 32, N).astype(np.uint32),
        near.view(np.uint32), near.view(np.uint32), near.view(np.uint32),
        small, usual_bits[:, 0] | usual_bits[:, 1] << 16,
    ])  # fmt: skip
    return kinds[rng.integers(0, len(kinds), N), np.arange(N)]


def _mixed64(rng: np.random.Generator) -> Words:
    near = rng.standard_normal(N) * 10.0 ** rng.uniform(-5, 5, N)
    kinds = np.stack([
        rng.choice(np.array(DOUBLE_EDGES, np.uint64), N),
        rng.integers(0, 1 << 64, N, np.uint64),
        near.view(np.uint64), near.view(np.uint64),
        rng.integers(-1000, 1000, N).astype(np.int64).view(np.uint64),
        rng.integers(0, 1 << 32, N, np.uint64),
    ])  # fmt: skip
    return kinds[rng.integers(0, len(kinds), N), np.arange(N)]


def inputs() -> dict[str, Words]:
    """The six input arrays; a quarter of the second and third operands are close relatives."""
    rng = np.random.default_rng(20261120)
    a, b, c = (_mixed32(rng) for _ in range(3))
    x, y, z = (_mixed64(rng) for _ in range(3))
    pick = rng.integers(0, 16, N)
    for first, second in ((a, b), (x, y)):
        one = first.dtype.type(1)
        top = first.dtype.type(1 << (first.itemsize * 8 - 1))
        second[pick == 0] = first[pick == 0]
        second[pick == 1] = first[pick == 1] ^ top
        second[pick == 2] = (first[pick == 2] ^ top) + one
        second[pick == 3] = first[pick == 3] + one
    return {"A": a, "B": b, "C": c, "X": x, "Y": y, "Z": z}


RESULT_BYTES = {"OP64": 8, "SHIFT64": 8, "ASMD": 8}


def kernels() -> dict[str, int]:
    """Name of every kernel in the source, with the bytes of one result."""
    text = (build.KERNELS / "operations.cu").read_text()
    body = text.split("// --- integers", 1)[1]
    found: dict[str, int] = {}
    plain = r"^(OP32|OP64|ASM32|ASMF|ASMH|ASMD|SHIFT64|PACK8|PACK|SHUFFLE)\((\w+)"
    for macro, name in re.findall(plain, body, re.M):
        if name != "name":
            found[name] = RESULT_BYTES.get(macro, 4)
    for name in re.findall(r"\bM1\((\w+)\)", body):
        if name != "name":
            found[f"math_{name}"] = 4
    for name in re.findall(r"^ATOMIC\((\w+)", body, re.M):
        found[f"{name}_shared"] = found[f"{name}_global"] = 8
    for bits, name in re.findall(r"OP(32|64)\((cvt_\w+_)##kind", body):
        for kind in ("rn", "rz", "rd", "ru"):
            found[name + kind] = int(bits) // 8
    for name in re.findall(r"OP32\(prefix##(\w+)", body):
        found[f"f16{name}"] = found[f"bf16{name}"] = 4
    return found


def main() -> None:
    """Runs every kernel with blocks of one warp."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("operations"))
    given = inputs()
    pointers = tuple(driver.upload(v) for v in given.values())
    out = driver.alloc(N * 16 + N // 32 * 64)
    arrays = {f"input_{k}": v for k, v in given.items()}
    for name, size in kernels().items():
        driver.fill(out, 0xEE, N * 16)
        driver.launch(driver.function(module, name), (N // 32,), (32,), (*pointers, out))
        driver.synchronize()
        arrays[name] = driver.download(out, N, np.uint32 if size == 4 else np.uint64)
    for family in FAMILIES:
        chosen = {k: v for k, v in arrays.items() if _family(k) == family}
        shared = {k: v for k, v in arrays.items() if k.startswith("input_")}
        session.save(f"operations_{family}", **shared, **chosen)
        print(family, len(chosen))


FAMILIES = ("integer", "float", "double", "half", "convert", "lanes")


def _family(name: str) -> str:
    """The file a kernel's results go to."""
    head = name.split("_")[0]
    table = {"f32": "float", "math": "float", "fast": "float", "f64": "double", "f16": "half",
             "bf16": "half", "cvt": "convert", "lane": "lanes", "atom": "lanes",
             "input": ""}  # fmt: skip
    return table.get(head, "integer")


if __name__ == "__main__":
    main()
