"""Records what NANOSLEEP takes: single sleeps by lane, and whole launches with counters.

`python sleeps.py CUBINS OUT`: CUBINS holds sleeps.cubin (kernels/sleeps.cu) with a manifest, and
counters.so if stalls shall be counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from build import patched
from cuda_driver import Array
from session import Session

from counters import Counters

ALL = 0xFFFFFFFF
FORMS = {"": 0, "syncs": 1, "warp": 2, "warp_syncs": 3, "rand": 4, "rand_warp": 6}
_SLEEP, _OPCODE, _MODIFIERS = 0x35D, 0xFFF, (84, 3)
TIMES = (0, 1, 2, 5, 10, 20, 31, 32, 33, 50, 64, 80, 100, 128, 150, 200, 255, 256, 257, 300, 400,
         500, 511, 512, 700, 800, 1000, 1023, 1024, 1025, 1500, 2000, 2048, 3000, 4096, 5000, 8192,
         10000, 16384, 20000, 32768, 50000, 65536, 100000, 131072, 200000, 262144, 500000, 524288,
         1000000, 1000001, 1048576, 2000000)  # fmt: skip
IMMEDIATE = (0, 1, 100, 1000, 10000, 100000, 1000000)
STALLS = ("selected", "not_selected", "wait", "long_scoreboard", "short_scoreboard", "barrier",
          "membar", "lg_throttle", "mio_throttle", "math_pipe_throttle", "no_instruction",
          "branch_resolving", "dispatch_stall", "imc_miss", "drain", "sleeping", "tex_throttle",
          "gmma", "misc")  # fmt: skip
METRICS = ("gpu__time_duration.sum", "sm__cycles_active.max", "sm__cycles_active.sum",
           "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "smsp__inst_issued.sum",
           "smsp__warps_active.sum", "smsp__warps_eligible.sum", "sm__inst_executed_pipe_cbu.sum",
           "sm__inst_executed_pipe_adu.sum", "smsp__inst_executed_op_branch.sum",
           *(f"smsp__warps_issue_stalled_{name}.sum" for name in STALLS))  # fmt: skip


@dataclass
class Sleep:
    """Many sleeps: `times` by lane; lanes that take part, lanes that are noted."""

    name: str
    times: tuple[int, ...]
    kernel: str = "sleep_lanes"
    form: str = ""
    blocks: int = 1
    threads: int = 32
    turns: int = 0
    kept: int = 32
    active: int = ALL
    noted: int = 1
    extra: dict[str, Any] = field(default_factory=dict)


def turns_of(times: tuple[int, ...], most: int = 64) -> int:
    """So many that a launch takes some 20 ms at most."""
    longest = min(max(times), 1_100_000)
    return int(np.clip(10_000_000 // max(longest, 500), 8, most))


def sleeps() -> Iterator[Sleep]:
    """All of them."""
    for ns in TIMES:
        same = (ns,) * 32
        yield Sleep(f"one/{ns}", same)
        yield Sleep(f"timer/{ns}", same, kernel="sleep_timer")
        yield Sleep(f"four/{ns}", same, threads=128)
        yield Sleep(f"many/{ns}", same, threads=1024, turns=turns_of(same, 24))
        yield Sleep(f"chip/{ns}", same, blocks=264, threads=1024, turns=8, kept=8)
    for ns in IMMEDIATE:
        yield Sleep(f"immediate/{ns}", (ns,) * 32, kernel=f"sleep_{ns}")
    for form in FORMS:
        for ns in (0, 100, 500, 1000, 4096, 10000, 100000):
            if form:
                yield Sleep(f"form/{form}/{ns}", (ns,) * 32, form=form)
                yield Sleep(f"form/{form}/lanes/{ns}", tuple(ns * (k % 4) for k in range(32)),
                            form=form, noted=ALL, turns=12)  # fmt: skip
    for ns in (0, 100, 1000, 10000, 100000):
        yield Sleep(f"phase/{ns}", (ns,) * 32, kernel="sleep_phase", turns=16)
    r = np.random.default_rng(20)
    lanes = {
        "two": [100 if k < 16 else 10000 for k in range(32)],
        "odd": [10000 if k % 2 else 100 for k in range(32)],
        "last": [100] * 31 + [50000],
        "first": [50000] + [100] * 31,
        "rising": [200 * k for k in range(32)],
        "falling": [200 * (31 - k) for k in range(32)],
        "random": r.integers(0, 20000, 32).tolist(),
        "wide": (10 ** r.uniform(1, 5, 32)).astype(int).tolist(),
    }
    for name, times in lanes.items():
        for threads in (32, 256):
            yield Sleep(f"lanes/{name}/{threads}", tuple(times), threads=threads, noted=ALL,
                        turns=12, kept=2)  # fmt: skip
    for active in (1, 2, 0x80000000, 0xFF, 0x55555555, 0x10001):
        yield Sleep(f"active/{active:x}", (1000,) * 32, active=active, noted=active, turns=16)
        yield Sleep(f"active/{active:x}/own", tuple(500 * k for k in range(32)), active=active,
                    noted=active, turns=16)  # fmt: skip
    yield Sleep("one/100000000", (100_000_000,) * 32, turns=2)
    yield Sleep("speed", (0,) * 32, kernel="timer", turns=4000)


def launches() -> Iterator[tuple[str, str, int, int, tuple[int, ...]]]:
    """Whole launches: name, kernel, blocks, threads, arguments behind the buffers."""
    for blocks, threads, ns in ((1, 32, 0), (1, 32, 1000), (1, 32, 20000), (132, 32, 1000),
                                (132, 256, 100), (132, 256, 5000), (528, 512, 1000),
                                (1056, 128, 300)):  # fmt: skip
        yield f"nap/{blocks}/{threads}/{ns}", "nap", blocks, threads, (20, ns)
    for ns, work in ((100, 2000), (1000, 5000), (5000, 10000)):
        yield f"nap_and_work/{ns}/{work}", "nap_and_work", 132, 512, (20, ns, work)
    for blocks, first, most in ((2, 8, 256), (8, 8, 256), (32, 8, 256), (132, 8, 256),
                                (32, 100, 100), (132, 200, 3200), (132, 2000, 2000)):  # fmt: skip
        yield f"lock/{blocks}/{first}/{most}", "lock_backoff", blocks, 32, (8, first, most)
    for blocks, work, ns in ((2, 5000, 20), (132, 5000, 100), (132, 20000, 1000),
                             (132, 20000, 10000), (264, 50000, 4000)):  # fmt: skip
        yield f"flag/{blocks}/{work}/{ns}", "flag_wait", blocks, 32, (work, ns)


def record_sleeps(session: Session) -> tuple[dict[str, Array], list[dict[str, Any]]]:
    """Begin and end of each sleep."""
    driver = session.driver
    plain = session.cubin("sleeps")
    modules = {}
    for form, bits in FORMS.items():
        field_of = (*_MODIFIERS, bits)
        cubin = patched(plain, "sleep_lanes", _SLEEP, _OPCODE, field_of) if bits else plain
        modules[form] = driver.load(cubin)
    out = driver.alloc(8 << 20)
    arrays, rows = {}, []
    for case in sleeps():
        turns = case.turns or turns_of(case.times)
        warps = min(case.kept, case.blocks * case.threads // 32)
        count = turns * warps * bin(case.noted).count("1")
        driver.fill(out, 0, 8 * count)
        times = driver.upload(np.array(case.times, np.uint32))
        function = driver.function(modules[case.form], case.kernel)
        given = (times, out, np.int32(turns), np.int32(case.kept), np.uint32(case.active),
                 np.uint32(case.noted))  # fmt: skip
        for _ in range(2):  # the first one brings the code
            driver.launch(function, (case.blocks,), (case.threads,), given)
        driver.synchronize()
        found = driver.download(out, 2 * count, np.uint32)
        arrays[case.name] = found.reshape(warps, turns, -1, 2)
        rows.append({"name": case.name, "kernel": case.kernel, "form": case.form,
                     "times": case.times if case.noted != 1 else case.times[:1],
                     "blocks": case.blocks, "threads": case.threads, "turns": turns,
                     "active": case.active, "noted": case.noted})  # fmt: skip
    return arrays, rows


def record_launches(session: Session) -> list[dict[str, Any]]:
    """Counters and times of whole launches; what they count (tries, looks) as well."""
    driver = session.driver
    module = driver.load(session.cubin("sleeps"))
    first, second = driver.alloc(1 << 20), driver.alloc(1 << 20)
    library = session.cubins / "counters.so"
    counters = None if session.dry_run else Counters(
        driver.context, str(library) if library.exists() else None)  # fmt: skip
    if counters:
        counters.configure(METRICS)
    start, stop = driver.event(), driver.event()
    rows = []
    for name, kernel, blocks, threads, given in launches():
        function = driver.function(module, kernel)
        buffers = (first, second) if kernel in ("lock_backoff", "flag_wait") else (first,)
        arguments = (*buffers, *(np.uint32(a) for a in given))

        def prepare() -> None:
            driver.fill(first, 0, 64)
            driver.fill(second, 0, 64)

        def launch(f: Any = function, a: Any = arguments, shape: Any = (blocks, threads)) -> None:
            driver.launch(f, shape[:1], shape[1:], a)

        events, counts = [], []
        for _ in range(9):
            prepare()
            driver.synchronize()
            driver.record(start)
            launch()
            driver.record(stop)
            events.append(1000 * driver.elapsed_ms(start, stop))
            counts.append(driver.download(second, 4, np.int32).tolist())
        row = {"name": name, "events_us": events, "counts": counts}
        if counters:
            row["counters"] = counters.measure(launch, prepare, driver.synchronize)
        rows.append(row)
    if counters:
        counters.close()
    return rows


def main() -> None:
    """Records everything."""
    session = Session.of_command_line(__doc__)
    started = time.time()
    arrays, rows = record_sleeps(session)
    found = {"cases": rows, "clocks": session.clocks()}
    session.save("sleeps_sm90", described=np.array(json.dumps(found)), **arrays)
    print(len(rows), "cases of sleeps,", round(time.time() - started, 1), "s")
    whole = {"metadata": session.metadata(), "clocks": session.clocks(), "metrics": METRICS,
             "launches": record_launches(session)}  # fmt: skip
    (session.out / "sleep_launches_sm90.json").write_text(json.dumps(whole))
    print(len(whole["launches"]), "launches,", round(time.time() - started, 1), "s")


if __name__ == "__main__":
    main()
