"""Dumps the multi-function unit's results: whole binades, strided binades and edge inputs."""

from __future__ import annotations

import lzma
import multiprocessing as mp

import build
import numpy as np
import numpy.typing as npt
from session import Session

SELECTOR = {
    "COS": 0, "SIN": 1, "EX2": 2, "LG2": 3, "RCP": 4, "RSQ": 5, "RCP64H": 6, "RSQ64H": 7,
    "SQRT": 8, "TANH": 9,
}  # fmt: skip
# name -> (exponents dumped fully, exponents sampled with an odd stride); sign bit in bit 8
FULL = {
    "RCP": [127], "RSQ": [127, 128], "SQRT": [127, 128], "EX2": [127, 126, 256 + 127],
    "LG2": [127, 126], "SIN": [124, 126], "COS": [124], "TANH": list(range(119, 131)),
}  # fmt: skip
SAMPLED = {
    "EX2": [128, 131, 125, 124, 122, 119, 116, 110, 256 + 126, 256 + 125, 256 + 122, 256 + 130],
    "LG2": [128, 130, 140, 125, 120, 100], "SIN": [127, 128, 125, 123, 122, 120, 117, 256 + 124],
    "COS": [127, 126, 125, 123, 122, 120, 117], "SQRT": [126, 130], "RSQ": [100, 201],
    "TANH": [117, 256 + 126],
}  # fmt: skip
STRIDE = 63
N_SAMPLES = 1 << 17


def pack(values: npt.NDArray[np.uint32]) -> bytes:
    """Second differences, byte planes, xz."""
    second = np.diff(np.diff(values.astype(np.uint32), prepend=np.uint32(0)), prepend=np.uint32(0))
    zigzag = (second << np.uint32(1)) ^ np.where(second >> 31, np.uint32(0xFFFFFFFF), np.uint32(0))
    planes = zigzag.view(np.uint8).reshape(-1, 4).T.copy()
    return lzma.compress(planes.tobytes(), preset=1)


def unpack(data: bytes) -> npt.NDArray[np.uint32]:
    """The inverse of `pack`."""
    planes = np.frombuffer(lzma.decompress(data), np.uint8).reshape(4, -1)
    zigzag = np.ascontiguousarray(planes.T).view(np.uint32).ravel()
    second = (zigzag >> 1) ^ np.where(zigzag & 1, np.uint32(0xFFFFFFFF), np.uint32(0))
    return np.cumsum(np.cumsum(second, dtype=np.uint32), dtype=np.uint32)


def edge_inputs() -> npt.NDArray[np.uint32]:
    """Every sign and exponent with 64 mantissas."""
    rng = np.random.default_rng(7)
    mantissas = np.concatenate([
        np.array([0, 1, 2, 3, 0x200000, 0x400000, 0x600000, 0x7FFFFE, 0x7FFFFF]),
        rng.integers(0, 1 << 23, 55),
    ])  # fmt: skip
    head = np.arange(512, dtype=np.uint32) << np.uint32(23)
    return (head[:, None] | mantissas.astype(np.uint32)[None, :]).ravel().astype(np.uint32)


def main() -> None:
    """Dumps everything into a few files of packed blobs."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    cubin = session.cubin("mufu")
    n_full = 1 << (10 if session.dry_run else 23)
    out = driver.alloc(4 * n_full)
    edges = edge_inputs()
    jobs: dict[str, npt.NDArray[np.uint32]] = {}
    functions = {}
    for name, selector in SELECTOR.items():
        both = build.patched(cubin, "mufu_f32", 0x308, 0xFFF, (74, 4, selector))
        both = build.patched(both, "mufu_list", 0x308, 0xFFF, (74, 4, selector))
        module = driver.load(both)
        functions[name] = driver.function(module, "mufu_f32"), driver.function(module, "mufu_list")

    def dump(name: str, first: int, step: int, count: int) -> npt.NDArray[np.uint32]:
        driver.launch(
            functions[name][0], (count // 256,), (256,), (out, np.uint32(first), np.uint32(step))
        )
        driver.synchronize()
        return driver.download(out, count, np.uint32)

    for name, exponents in FULL.items():
        for e in exponents:
            jobs[f"full_{name}_{e}"] = dump(name, e << 23, 1, n_full)
    for name, exponents in SAMPLED.items():
        for e in exponents:
            jobs[f"sampled_{name}_{e}"] = dump(name, e << 23, STRIDE, min(N_SAMPLES, n_full))
    for name, tops in {"RCP64H": [0x3FF], "RSQ64H": [0x3FF, 0x400]}.items():
        for top in tops:
            jobs[f"full_{name}_{top}"] = dump(name, top << 20, 1, min(1 << 20, n_full))
    source = driver.upload(edges)
    for name in SELECTOR:
        driver.launch(
            functions[name][1], (edges.size // 256,), (256,), (out, source, np.uint32(edges.size))
        )
        driver.synchronize()
        jobs[f"edges_{name}"] = driver.download(out, edges.size, np.uint32)
    halves = np.arange(1 << 16, dtype=np.uint32)
    source = driver.upload(halves)
    module = driver.load(cubin)
    for name in ("ex2_f16", "ex2_bf16", "tanh_f16", "tanh_bf16"):
        driver.launch(driver.function(module, f"mufu_{name}"), (256,), (256,), (out, source))
        driver.synchronize()
        jobs[f"full_{name}"] = driver.download(out, 1 << 16, np.uint32)
    with mp.Pool() as pool:
        blobs = dict(zip(jobs, pool.map(pack, jobs.values(), chunksize=1), strict=True))
    write(session, blobs, edges)


def write(session: Session, blobs: dict[str, bytes], edges: npt.NDArray[np.uint32]) -> None:
    """Groups the blobs into files below 15 MB."""
    groups: list[dict[str, bytes]] = [{}]
    for name, blob in blobs.items():
        if sum(map(len, groups[-1].values())) + len(blob) > 15_000_000:
            groups.append({})
        groups[-1][name] = blob
    for i, group in enumerate(groups):
        arrays = {k: np.frombuffer(v, np.uint8) for k, v in group.items()}
        session.save(f"mufu_{i}", edge_inputs=edges, **arrays)
        print(f"mufu_{i}", {k: len(v) for k, v in group.items()})


if __name__ == "__main__":
    main()
