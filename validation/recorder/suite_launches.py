"""Measures the launches of a folder of suites (`../suites_time.py` says what a suite is).

    python suite_launches.py --build SUITES MIRROR CUBINS    compiles them; no GPU is needed
    python suite_launches.py CUBINS OUT                      OUT/recorded_GPU.json

Each launch finds its arrays as they were first, and L2 full of clean lines of another array. Times
are those of the middle one of three launches, states of one more.
"""

from __future__ import annotations

import ctypes as ct
import hashlib
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from build import Nvrtc
from cuda_driver import Array
from kinds import Bench
from launches import REASONS, STATES
from session import Session

from warplens.session.written_arguments import parse

TIMES = (
    "gpu__time_duration.sum", "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active", "sm__cycles_active.min",
    "sm__cycles_active.max",
)  # fmt: skip
COUNTS = (
    "smsp__inst_executed.sum", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
)  # fmt: skip
REPEATS = 3
Case = dict[str, Any]


def build(suites: Path, mirror: Path, out: Path) -> None:
    """Cubins of all sources, and a list of the launches."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from suites_time import cases, modules

    out.mkdir(parents=True, exist_ok=True)
    known, listed, digests = cases(suites), [], {}
    for module, case in modules(suites, mirror, "H200", set(known)):
        name = f"{case['key'].partition(':')[0]}.{case['source']}"
        templates = {one["kernel"] for one in known.values() if one["source"] == case["source"]}
        code = module.unit.compiled(tuple(sorted(one for one in templates if "<" in one))).cubin
        (out / f"{name}.cubin").write_bytes(code)
        digests[name] = hashlib.sha256(code).hexdigest()
        listed.append({**case, "cubin": name, "symbol": module._find(case["kernel"])[1]})
    compiler = Nvrtc()
    filler = Path(__file__).with_name("kernels") / "rounds.cu"
    code = compiler.compile(filler.read_text(), "rounds.cu", ("-arch=sm_90", "-std=c++17"))
    (out / "rounds.cubin").write_bytes(code)
    (out / "cases.json").write_text(json.dumps(listed))
    manifest = {"nvrtc": compiler.version, "arch": "sm_90", "sha256": digests}
    (out / "manifest.json").write_text(json.dumps(manifest))
    print(len(listed), "launches")


def _structure(value: bytes | np.void) -> Any:
    """A parameter of so many bytes."""
    text = value if isinstance(value, bytes) else value.tobytes()
    return (ct.c_ubyte * len(text)).from_buffer_copy(text)


class Placed(NamedTuple):
    """A launch, what puts its arrays back as they were first, what it left in them, their end."""

    launch: Callable[[], None]
    prepare: Callable[[], None]
    left: Callable[[], list[Array]]
    free: Callable[[], None]


class Launches(Bench):
    """One launch after another."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "rounds")
        self.session = session
        self.modules: dict[str, Any] = {}

    def placed(self, case: Case, given: list[Any]) -> Placed:
        """A launch on its arrays."""
        driver = self.driver
        if case["cubin"] not in self.modules:
            self.modules[case["cubin"]] = driver.load(self.session.cubin(case["cubin"]))
        function = driver.function(self.modules[case["cubin"]], case["symbol"])
        if case.get("shared", 0) > 48 << 10:
            driver.set_dynamic_shared(function, case["shared"])
        arrays = {i: one for i, one in enumerate(given) if isinstance(one, np.ndarray) and one.ndim}
        places = {i: driver.upload(one) for i, one in arrays.items()}
        first = {i: driver.upload(one) for i, one in arrays.items()}
        passed = [places.get(i, one) for i, one in enumerate(given)]
        passed = [_structure(one) if isinstance(one, bytes | np.void) else one for one in passed]
        shape = tuple(case["grid"]), tuple(case["block"]), tuple(passed), case.get("shared", 0)

        def launch() -> None:
            driver.launch(function, *shape)

        def prepare() -> None:
            for i, one in arrays.items():
                driver.copy(places[i], first[i], one.nbytes)
            self.flush()

        def left() -> list[Array]:
            return [driver.download(places[i], one.size, one.dtype) for i, one in arrays.items()]

        def free() -> None:
            for place in (*places.values(), *first.values()):
                driver.free(place)

        return Placed(launch, prepare, left, free)

    def told(self, case: Case, given: list[Any]) -> dict[str, Any]:
        """Times, states, some counters and digests of the arrays after one launch."""
        placed = self.placed(case, given)
        placed.prepare()
        placed.launch()
        self.driver.synchronize()
        left = [hashlib.sha256(one.tobytes()).hexdigest()[:16] for one in placed.left()]
        times = self.middle(placed.launch, placed.prepare, TIMES, REPEATS)
        more = self.middle(placed.launch, placed.prepare, (*STATES, *COUNTS), 1)
        stalls = {reason: round(more[name]) for reason, name in zip(REASONS, STATES, strict=True)}
        placed.free()
        return {
            "stall": max(stalls, key=lambda reason: stalls[reason]),
            "stalls": {reason: cycles for reason, cycles in stalls.items() if cycles},
            "arrays": left,
            "metrics": {name: round(value, 3)
                        for name, value in (*times.items(), *((n, more[n]) for n in COUNTS))},
        }  # fmt: skip


def main() -> None:
    """Compiles, or measures."""
    if sys.argv[1] == "--build":
        build(*map(Path, sys.argv[2:5]))
        return
    session = Session.of_command_line(__doc__)
    bench = Launches(session)
    listed = sorted(json.loads((session.cubins / "cases.json").read_text()),
                    key=lambda case: str(case["cubin"]))  # fmt: skip
    found: dict[str, Any] = {}
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        drawn = [pool.submit(lambda texts: [parse(text, seed=i) for i, text in enumerate(texts)],
                             case["arguments"]) for case in listed]  # fmt: skip
        for number, case in enumerate(listed):
            try:
                found[case["key"]] = bench.told(case, drawn[number].result())
            except Exception as problem:  # one launch must not end the others
                found[case["key"]] = {"problem": f"{type(problem).__name__}: {problem}"[:300]}
                print(case["key"], found[case["key"]])
            drawn[number] = None  # type: ignore[call-overload]
    metadata = session.metadata()
    name = "h200" if "H200" in metadata["gpu"] else "h100"
    (session.out / f"recorded_{name}.json").write_text(
        json.dumps({"gpu": metadata["gpu"], "metadata": metadata, "cases": found})
    )
    print(len(found), "launches", round(time.monotonic() - began), "s")


if __name__ == "__main__":
    main()
