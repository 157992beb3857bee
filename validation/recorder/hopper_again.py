"""Records durations and active cycles of all whole Hopper kernels on another card than the H200 of
`gemm_times.py`, `further.py`, `held_cases.py`, `fresh_cases.py` and `triton_products.py`: the same
launches of the same machine code, Triton's from what was kept of it.

`python hopper_again.py --build CUBINS` compiles; `python hopper_again.py CUBINS OUT` needs a GPU
and writes OUT/hopper_times_NAME.json, NAME from the card's (`h100`).
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import fresh_cases
import further_cases
import further_kernels
import gemm_cases
import gemm_kernels
import held_cases
import numpy as np
import triton_products
from gemm_times import CACHE_BYTES, Bench
from hopper_cases import Case
from session import Session
from triton_cases import READER

from hopper import arguments_of, build

TIME = "gpu__time_duration.sum"
ACTIVE = ("sm__cycles_active.avg", "sm__cycles_active.max")
REPEATS = 5
KEPT = Path(__file__).parents[1] / "data" / "triton_products_sm90.json.xz"


def cases() -> list[Case]:
    """Every launch but Triton's."""
    return [*gemm_cases.large(), *further_cases.large(), *held_cases.cases(), *fresh_cases.cases()]


def sources() -> dict[str, str]:
    """Translation units by name."""
    return {**gemm_kernels.sources(), **further_kernels.sources(), **held_cases.sources(),
            **fresh_cases.sources(), "reader": READER}  # fmt: skip


def measured(counters: Any, launch: Callable[[], None], prepare: Callable[[], None],
             synchronize: Callable[[], None]) -> dict[str, Any]:  # fmt: skip
    """The medians of several launches behind an emptied L2, and each of their durations."""
    found: dict[str, list[float]] = {}
    for names in ((TIME,), ACTIVE):
        counters.configure(names)
        for _ in range(REPEATS):
            for name, value in counters.measure(launch, prepare, synchronize).items():
                found.setdefault(name, []).append(value)
    return {**{name: median(values) for name, values in found.items()}, "each": found[TIME]}


def whole(bench: Bench, case: Case, counters: Any) -> dict[str, Any]:
    """One launch of `cases`."""
    driver = bench.driver
    arguments, _ = arguments_of(driver, case)
    scratch = driver.alloc(CACHE_BYTES)
    driver.fill(scratch, 0, CACHE_BYTES)
    function = driver.function(bench.module(case.unit), case.kernel)
    driver.set_dynamic_shared(function, max(case.shared, 1024))
    flags = case.arguments[-1] if case.kernel.endswith("_stream") else None

    def launch() -> None:
        driver.launch(function, case.blocks, (case.block,), tuple(arguments), case.shared)

    def prepare() -> None:
        if isinstance(flags, np.ndarray):
            driver.write(arguments[-1], flags)
        bench.clean(scratch)

    found = measured(counters, launch, prepare, driver.synchronize) if counters else {}
    driver.free_all()
    return found


def main() -> None:
    """Compiles; or records every launch, Triton's last."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), sources())
        return
    session = Session.of_command_line(__doc__)
    bench, counters = Bench(session), None
    rows: dict[str, Any] = {}
    told = {"metadata": session.metadata(), "clocks": session.clocks(), "rows": rows}
    if not session.dry_run:
        from counters import Counters

        counters = Counters(bench.driver.context)
    short = re.search(r"[A-Z]+\d+|none", str(told["metadata"]["gpu"]))
    out = session.out / f"hopper_times_{short.group().lower() if short else 'unknown'}.json"
    for case in cases():
        rows[case.name] = whole(bench, case, counters)
        out.write_text(json.dumps(told))
    for one in json.loads(lzma.decompress(KEPT.read_bytes()))["cases"]:
        products = triton_products.Bench(bench.driver, one, session.cubin("reader"))
        if counters:
            given = products.launch, products.cold, bench.driver.synchronize
            rows[one["name"]] = measured(counters, *given)
        bench.driver.free_all()
        out.write_text(json.dumps(told))
    print(len(rows), "launches")


if __name__ == "__main__":
    main()
