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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from build import Nvrtc
from launches import REASONS
from session import Session

from counters import Counters
from warplens.session.written_arguments import parse

TIMES = (
    "gpu__time_duration.sum", "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active", "sm__cycles_active.min",
    "sm__cycles_active.max",
)  # fmt: skip
STATES = tuple(f"smsp__warps_issue_stalled_{reason}.sum" for reason in REASONS)
COUNTS = (
    "smsp__inst_executed.sum", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
)  # fmt: skip
FLUSHED_BYTES, REPEATS = 256 << 20, 3
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


class Bench:
    """One launch after another."""

    def __init__(self, session: Session) -> None:
        self.session, self.driver = session, session.driver
        self.filler = self.driver.function(self.driver.load(session.cubin("rounds")), "rounds1")
        self.flushed, self.out = self.driver.alloc(FLUSHED_BYTES), self.driver.alloc(1 << 20)
        self.counters = Counters(self.driver.context)
        self.modules: dict[str, Any] = {}

    def measured(self, case: Case, given: list[Any]) -> dict[str, Any]:
        """Times, states, some counters and digests of the arrays after one launch."""
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
            words = np.uint32(0), np.uint32(FLUSHED_BYTES // 4)
            driver.launch(self.filler, (1056,), (256,), (self.out, self.flushed, self.flushed,
                                                         *words))  # fmt: skip

        def metrics(names: tuple[str, ...], repeats: int) -> dict[str, float]:
            self.counters.configure(names)
            runs = [self.counters.measure(launch, prepare, driver.synchronize)
                    for _ in range(repeats)]  # fmt: skip
            return sorted(runs, key=lambda run: run[names[0]])[repeats // 2]

        prepare()
        launch()
        driver.synchronize()
        left = [hashlib.sha256(driver.download(places[i], one.size, one.dtype).tobytes())
                .hexdigest()[:16] for i, one in arrays.items()]  # fmt: skip
        times, more = metrics(TIMES, REPEATS), metrics((*STATES, *COUNTS), 1)
        stalls = {reason: round(more[name]) for reason, name in zip(REASONS, STATES, strict=True)}
        for place in (*places.values(), *first.values()):
            driver.free(place)
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
    session = Session(Path(sys.argv[1]), Path(sys.argv[2]))
    bench = Bench(session)
    listed = sorted(json.loads((session.cubins / "cases.json").read_text()),
                    key=lambda case: str(case["cubin"]))  # fmt: skip
    found: dict[str, Any] = {}
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        drawn = [pool.submit(lambda texts: [parse(text, seed=i) for i, text in enumerate(texts)],
                             case["arguments"]) for case in listed]  # fmt: skip
        for number, case in enumerate(listed):
            try:
                found[case["key"]] = bench.measured(case, drawn[number].result())
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
