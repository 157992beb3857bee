"""Makes a data file of what `record.py` recorded: times, and what the compiled code says of itself.

    PYTHONPATH=src python validation/tuning/facts.py OUT/spaces.json DATA [--processes N]

Compiles every configuration here, with the recording's NVRTC, and refuses one whose registers
differ from what was recorded. `counted` is None where its warps' ways cannot be followed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "recorder")]

from spaces import SPACES  # noqa: E402

import warplens as wl  # noqa: E402
from warplens.tune.evaluate import COUNTED, Task, answer  # noqa: E402
from warplens.workers import in_order, runner_of  # noqa: E402

KEPT = ("registers", "local_bytes", "shared_bytes", "code_bytes", "instructions", "memory",
        "stalls", "waits")  # fmt: skip
TIMING = (
    "events, median of 9 launches that are queued behind another; an empty kernel takes empty_ns"
)


@lru_cache(maxsize=4)
def _arguments(name: str) -> tuple[Any, ...]:
    return tuple(SPACES[name].arguments())


def facts(place: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    """What a configuration's code says on a GPU."""
    gpu, name, configuration = place
    job = SPACES[name].problem.job(configuration)
    told = {"job": job, "gpu": gpu, "clock": "boost", "metrics": ()}
    found = answer(Task(stage="facts", arguments=(), **told))
    if found.facts is None:
        raise SystemExit(f"{name} {configuration}: {found.problem}")
    ways = answer(Task(stage="count", arguments=_arguments(name), **told)).metrics
    kernel = wl.Device(gpu).compile(job.source, options=job.options)[job.kernel]
    code = kernel.code.cubin.kernels[kernel.sass.name].code
    return {
        **{one: int(found.facts[one]) for one in KEPT},
        "counted": round(ways[COUNTED], 1) if ways else None,
        "code_sha256": hashlib.sha256(code).hexdigest()[:16],
    }


def document_of(recorded: dict[str, Any], spaces: dict[str, Any]) -> dict[str, Any]:
    """The data file's head and its spaces."""
    driver, sm_clock, memory_clock = recorded["state"]
    empty = sorted(recorded["empty_ns"])
    return {
        "gpu": recorded["device"]["gpu"], "driver": driver, "date": recorded["date"],
        "nvrtc": recorded["nvrtc"], "sm_clock_mhz": int(sm_clock),
        "memory_clock_mhz": int(memory_clock), "timing": TIMING,
        "empty_ns": empty[len(empty) // 2], "spaces": spaces,
    }  # fmt: skip


def main() -> None:
    """Writes the data file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recorded", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--processes", type=int, help="default: one per core")
    options = parser.parse_args()
    recorded = json.loads(options.recorded.read_text())
    gpu = next(one for one in ("H200", "H100") if one in recorded["device"]["gpu"])
    runner, spaces = runner_of(None, options.processes), {}
    for name, rows in recorded["rows"].items():
        every = list(SPACES[name].problem.space)
        mine = [rows[str(index)] for index in range(len(every))]
        found = list(in_order(runner.results(facts, [(gpu, name, one) for one in every])))
        for one, row, fact in zip(every, mine, found, strict=True):
            if row["configuration"] != one or not row["right"]:
                raise SystemExit(f"{name} {one}: not what was recorded, or a wrong result")
            if row["registers"] != fact["registers"]:
                raise SystemExit(f"{name} {one}: other code: {fact['registers']} registers")
        times = {key: [row[key] for row in mine] for key in ("ns", "least_ns", "most_ns")}
        spaces[name] = {
            "parameters": list(every[0]), "configurations": [list(one.values()) for one in every],
            **times, **{key: [fact[key] for fact in found] for key in found[0]},
        }  # fmt: skip
        print(name, len(every), flush=True)
    options.data.write_text(json.dumps(document_of(recorded, spaces)))
    runner.close()


if __name__ == "__main__":
    main()
