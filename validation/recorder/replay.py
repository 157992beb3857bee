"""Runs random programs of machine code here and compares with what the GPU did.

`replay.py CUBINS OUT` needs no GPU: it executes every kernel of CUBINS/programs.npz (fuzz.py) and
writes digests of each program's results and the counters of each kernel to replayed.npz.
`replay.py CUBINS OUT --compare RECORDED` prints which programs differ from RECORDED's
programs_digests.npz.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import time
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import assembler as a
import numpy as np
import slots

import fuzz
import programs

COUNTERS = fuzz.COUNTERS
_state: dict[str, Any] = {}


def executed(
    kernel: programs.Kernel, carrier: bytes, inputs: np.ndarray, order: int = 0
) -> tuple[np.ndarray, list[float]]:
    """The results of one kernel of programs, and its counters; `order` draws which part of a warp
    goes on where that is not known of the chip."""
    import warplens as wl
    from warplens.api import LaunchOptions
    from warplens.session import configured

    cubin = a.carried(carrier, kernel.code, programs.REGISTER_COUNT, kernel.targets)
    cubin = a.trimmed(cubin, len(kernel.code))
    module = wl.Device("H200", options=LaunchOptions(timing=False, workers=1)).load(cubin)
    out = np.full((kernel.count, programs.ROWS, programs.THREADS, 4), 0xEEEEEEEE, np.uint32)
    ordered = partial(configured.LaunchConfig, part_order=order)
    with mock.patch.object(configured, "LaunchConfig", ordered):
        launch = module[a.CARRIER][kernel.count, programs.THREADS](
            inputs.copy(), out, np.zeros(4, np.uint32), bytes(slots.constants_cell())
        )
    return out, [float(launch.metric(name)) for name in COUNTERS]


def _begin(cubins: Path, end: float) -> None:
    with np.load(cubins / "programs.npz") as data:
        _state.update(kernels=fuzz.as_kernels(data))
    carrier = (cubins / "carrier.cubin").read_bytes()
    _state.update(carrier=carrier, inputs=slots.pool(), end=end)


def _one(i: int) -> tuple[int, np.ndarray | None, list[float], str]:
    if time.monotonic() > _state["end"]:
        return i, None, [], ""
    try:
        out, counters = executed(_state["kernels"][i], _state["carrier"], _state["inputs"])
    except Exception as error:
        return i, None, [], f"{type(error).__name__}: {error}"[:500]
    return i, fuzz.digests(out), counters, ""


def replay(cubins: Path, out: Path, jobs: int, seconds: float, chosen: list[int] | None) -> None:
    """Executes kernels until the time is up and writes replayed.npz."""
    _begin(cubins, time.monotonic() + seconds)
    count = len(_state["kernels"])
    most = max(k.count for k in _state["kernels"])
    found = np.zeros((count, most, programs.ROWS), np.uint64)
    counters = np.full((count, len(COUNTERS)), np.nan)
    errors: dict[int, str] = {}
    items = chosen if chosen is not None else list(range(count))
    with mp.get_context("fork").Pool(jobs, maxtasksperchild=16) as pool:
        for i, digest, values, error in pool.imap_unordered(_one, items):
            if digest is not None:
                found[i, : len(digest)], counters[i] = digest, values
            elif error:
                errors[i] = error
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / "replayed.npz", digests=found, counters=counters,
                        metrics=np.array(COUNTERS))  # fmt: skip
    (out / "replay_errors.json").write_text(json.dumps(errors, indent=0))
    print(int(np.isfinite(counters[:, 0]).sum()), "of", count, "kernels executed;",
          len(errors), "refused or failed")  # fmt: skip


def compare(out: Path, recorded: Path) -> int:
    """Prints the programs whose results differ, and the kernels whose counters differ."""
    with np.load(out / "replayed.npz") as data:
        digests, counters = data["digests"], data["counters"]
    with np.load(recorded / "programs_digests.npz") as data:
        known, numbers, agree, hardware = (
            data[k] for k in ("digests", "kernels", "agree", "counters")
        )
    both = [n for n, i in enumerate(numbers) if np.isfinite(counters[i, 0])]
    differs = 0
    for n in both:
        rows = (digests[numbers[n]] != known[n]) & agree[n][:, None]
        for program in np.argwhere(rows.any(axis=1)).ravel():
            differs += 1
            own = np.argwhere(rows[program]).ravel()
            print("kernel", numbers[n], "program", program, "rows", own)
        if agree[n].all() and np.isfinite(hardware[n]).all():
            for name, mine, theirs in zip(COUNTERS, counters[numbers[n]], hardware[n], strict=True):
                if mine != theirs:
                    print("kernel", numbers[n], name, mine, "recorded", theirs)
    count = sum(int(agree[n].sum()) for n in both)
    print(count, "repeatable programs compared:", differs, "differ")
    return differs


def main() -> None:
    """Executes or compares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cubins", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--only", type=int, nargs="+")
    given = parser.parse_args()
    if given.compare:
        raise SystemExit(compare(given.out, given.compare) > 0)
    replay(given.cubins, given.out, given.jobs, given.seconds, given.only)


if __name__ == "__main__":
    main()
