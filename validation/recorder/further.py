"""Records what further whole Hopper kernels (`further_cases.py`) give, their times and counters,
and what copies in a row cost (`copy_bursts.py`).

`python further.py --build CUBINS` compiles; `python further.py CUBINS OUT` needs a GPU and NumPy.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import copy_bursts
import numpy as np
from cuda_driver import CudaError
from further_cases import large, small
from gemm_times import Bench
from session import Session
from triton_cases import READER

from hopper import build, run

EVERY = 61  # of a result's words, one is kept beside its digest


def kept(array: Any) -> tuple[Any, Any]:
    """Some words of a result, and the digest of all."""
    words = array.view(np.uint32).reshape(-1)
    digest = np.frombuffer(hashlib.sha256(words.tobytes()).digest(), np.uint8)
    return words[::EVERY], digest


def results(bench: Bench) -> dict[str, Any]:
    """What every small launch leaves; those that fail are noted."""
    arrays, failed = {}, []
    for case in small():
        try:
            for i, array in enumerate(run(bench.driver, bench.module(case.unit), case)):
                arrays[f"{case.name}/{i}/some"], arrays[f"{case.name}/{i}/sha256"] = kept(array)
        except CudaError as error:
            failed.append(f"{case.name}: {error}")
            print(failed[-1], flush=True)
    return {"failed": np.array(failed, "U"), **arrays}


def main() -> None:
    """Compiles; or costs, results, then times and counters."""
    if sys.argv[1] == "--build":
        import further_kernels

        build(Path(sys.argv[2]), {**further_kernels.sources(), "bursts": copy_bursts.source(),
                                    "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    session.save("further_sm90", **results(bench))
    session.save_rows("copy_bursts_sm90", copy_bursts.COLUMNS, copy_bursts.record(bench))
    counters, times = None, {}
    if not session.dry_run:
        from counters import Counters

        counters = Counters(bench.driver.context)
    for case in large():
        print(case.name, flush=True)
        times[case.name] = bench.time(case, counters)
        told = {"metadata": session.metadata(), "clocks": session.clocks(), "rows": times}
        (session.out / "further_times_sm90.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
