"""Predicts Triton's products and attention (`recorder/triton_products.py`), beside an H200 or
an H100.

    python validation/triton_times.py [RECORDED.json.xz] [--gpu H100] [--out FILE] [--part I/N]
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import sys
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "recorder"))

import hopper_times  # noqa: E402
import triton_products  # noqa: E402

import warplens as wl  # noqa: E402

TIME = "gpu__time_duration.sum"


def predict(case: dict[str, Any], gpu: str = "H200") -> dict[str, float]:
    """Modelled duration in us, and the seconds that it took."""
    module = wl.Device(gpu, clock=1980.0).load(base64.b64decode(case["cubin"]))
    values = triton_products.values_of(case)
    count = 3 if case["kernel"] == "matmul" else 4
    scale = [] if case["kernel"] == "matmul" else [np.float32(0.18)]
    sizes = [np.int32(n) for n in case["sizes"]]
    arrays = [values, *(values.copy() for _ in range(count - 1))]
    started = time.perf_counter()
    launch = module[case["symbol"]].predict[tuple(case["grid"]), case["block"], 0, case["shared"]](
        *arrays, *scale, *sizes, np.uint64(0), np.uint64(0)
    )
    found = {"us": float(launch.metric(TIME)) / 1000.0, "seconds": 0.0}
    found["active"] = float(launch.metric("sm__cycles_active.avg"))
    found["instructions"] = float(launch.metric("smsp__inst_executed.sum"))
    found["seconds"] = time.perf_counter() - started
    return found


def known_us(case: dict[str, Any], gpu: str) -> float:
    """The recorded duration; 0 if there is none. An H100's stand beside the other kernels'."""
    if gpu != "H200":
        row = hopper_times.recorded(gpu).get(case["name"], {})
        return float(row.get(TIME, 0.0)) / 1000.0
    return median(one[TIME] for one in case["cold"]) / 1000.0 if case.get("cold") else 0.0


def main() -> None:
    """Every case, or every N-th."""
    parser = argparse.ArgumentParser(description=__doc__)
    usual = HERE / "data" / "triton_products_sm90.json.xz"
    parser.add_argument("recorded", type=Path, nargs="?", default=usual)
    parser.add_argument("--gpu", default="H200", help="H200 or H100")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", default="0/1")
    given = parser.parse_args()
    first, step = map(int, given.part.split("/"))
    kept, errors = {}, []
    for case in json.loads(lzma.decompress(given.recorded.read_bytes()))["cases"][first::step]:
        found = kept[case["name"]] = predict(case, given.gpu)
        line = f"{case['name']:48} {found['us']:9.1f}"
        if known := known_us(case, given.gpu):
            errors.append(abs(found["us"] / known - 1))
            line += f" {known:9.1f} {100 * (found['us'] / known - 1):+6.1f} %"
        print(line, f"({found['seconds']:.1f} s)", flush=True)
        if given.out:
            given.out.write_text(json.dumps(kept))
    if errors:
        print(len(errors), f"cases, mean {100 * mean(errors):.1f} %,",
              f"largest {100 * max(errors):.1f} %")  # fmt: skip


if __name__ == "__main__":
    main()
