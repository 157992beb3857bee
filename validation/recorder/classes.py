"""Records what the counters count of single kinds of instructions.

    python classes.py CUBINS OUT [--seconds N] [--dry-run]

CUBINS holds classes.cubin, carrier.cubin and carriers.cubin (build.py), counters.so (counters.cpp)
and forms.json (form_corpus.py). `classes_sm90.npz` gets every counter of the launches in
class_cases.py but accesses, the named ones several times, `accesses_sm90.npz` those of accesses;
`class_forms_sm90.npz` for each form of an instruction a warp's counts of COPIES copies of it less
those of none; `form_classes_sm90.npz` the classes of groups of forms.
"""

from __future__ import annotations

import argparse
import ctypes as ct
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import assembler as a
import build
import form_corpus
import numpy as np
import words as w
from class_cases import ACCESSES, CASES, OTHERS
from counter_cases import IN_WORDS, OUT_WORDS, Case
from cuda_driver import CudaError
from session import Session

from counters import Counters

METRICS = Path(__file__).with_name("counter_metrics.txt")
REPEATED = ("stores_off", "sync_loop/7", "meet_nested/24_2_4", "matches/7", "calls/3")
REPEATS = 5
COPIES = 16
BITS, KERNELS = 10, 63
REGISTERS = 168
PIPES = tuple(
    f"smsp__inst_executed_{name}.sum"
    for name in ("pipe_adu", "pipe_alu", "pipe_cbu", "pipe_fma", "pipe_fma_type_fp16", "pipe_fp64",
                 "pipe_lsu", "pipe_tensor", "pipe_tensor_op_dmma", "pipe_tensor_op_hmma",
                 "pipe_tensor_op_imma", "pipe_tex", "pipe_uniform", "pipe_xu", "op_branch")
)  # fmt: skip


FORM_METRICS = ["smsp__inst_executed.sum", *PIPES]


def class_metrics() -> list[str]:
    """The classes of operations, by thread, as patched code counts them."""
    names = METRICS.read_text().split()
    return [m for m in names if m.startswith("smsp__sass_thread_inst_executed")]


class Bench:
    """The kernels and their buffers."""

    def __init__(self, session: Session) -> None:
        self.session, self.driver = session, session.driver
        self.module = self.driver.load(session.cubin("classes"))
        self.source = self.driver.upload(np.arange(IN_WORDS, dtype=np.uint32))
        self.out_bytes = 4 * OUT_WORDS
        self.out = self.driver.alloc(self.out_bytes)
        self.counters = Counters(self.driver.context, str(session.cubins / "counters.so"))

    def launch(self, case: Case) -> None:
        """Launches without waiting."""
        function = self.driver.function(self.module, case.kernel)
        arguments = (self.source, self.out, *(np.uint32(x) for x in case.args))
        self.driver.launch(function, case.grid, case.block, arguments, case.shared)

    def clear(self) -> None:
        """Zeroes what launches write."""
        self.driver.fill(self.out, 0, self.out_bytes)

    def measured(self, case: Case, metrics: list[str]) -> list[float]:
        """One launch's counters."""
        values = self.counters.measure(
            lambda: self.launch(case), self.clear, self.driver.synchronize
        )
        return [values[m] for m in metrics]


def memory_metrics() -> list[str]:
    """What is counted of accesses: all of patched code, requests, sectors, instructions."""
    kept = (
        r"smsp__sass|l1tex__t_(requests|sectors)_pipe_lsu_mem_(global|local)_op_(ld|st|atom|red)\."
    )
    return [m for m in METRICS.read_text().split() if re.match(kept, m)]


def record_cases(session: Session, seconds: float) -> None:
    """Writes every counter of a launch, of accesses those of memory, as far as the time goes."""
    started, bench = time.time(), Bench(session)
    others = [*(name for name in REPEATED for _ in range(REPEATS)), *OTHERS]
    parts = {"classes_sm90": (others, METRICS.read_text().split()),
             "accesses_sm90": (list(ACCESSES), memory_metrics())}  # fmt: skip
    for file, (names, metrics) in parts.items():
        table = np.full((len(names), len(metrics)), np.nan)
        bench.counters.configure(metrics)
        for i, name in enumerate(names):
            if time.time() - started > seconds:
                print("out of time at", name)
                break
            try:
                table[i] = bench.measured(CASES[name], metrics)
            except (RuntimeError, CudaError) as error:
                print(name, error, flush=True)
                bench.counters.configure(metrics)
        print(file, round(time.time() - started, 1), "seconds", flush=True)
        session.save(file, cases=np.array(names), metrics=np.array(metrics), values=table)
    bench.counters.close()


def record_forms(session: Session, first: int, seconds: float) -> None:
    """Appends the counts of each form from number `first` on to forms.jsonl."""
    started, driver = time.time(), session.driver
    rows = json.loads((session.cubins / "forms.json").read_text())
    carrier = session.cubin("carrier")
    counters = Counters(driver.context, str(session.cubins / "counters.so"))
    counters.configure(FORM_METRICS)
    output = driver.alloc(1 << 20)
    cell = (ct.c_uint32 * 64)()

    def counts(word: int | None, variable: bool) -> list[float]:
        own = w.controlled(word, write=1 if variable else w.NO_SCOREBOARD) if word else None
        code = [a.descriptor(), *([own] * COPIES if own else []), a.nop(), a.nop(), a.leave()]
        module = driver.load(a.carried(carrier, code, REGISTERS))
        function = driver.function(module, a.CARRIER)
        run = lambda: driver.launch(function, (1,), (32,), (output, output, output, cell))  # noqa: E731
        values = counters.measure(run, lambda: None, driver.synchronize)
        driver.unload(module)
        return [values[m] for m in FORM_METRICS]

    base = counts(None, False)
    with (session.out / "forms.jsonl").open("a") as file:
        for i, (name, word, *_, variable, _zone) in enumerate(rows[first:], first):
            if time.time() - started > seconds:
                return
            file.write(json.dumps({"number": i}) + "\n")
            file.flush()
            found = counts(int(word, 16), bool(variable))
            row = [x - y for x, y in zip(found, base, strict=True)]
            file.write(json.dumps({"number": i, "form": name, "counts": row}) + "\n")


def _controlled(row: list[Any]) -> int:
    """The word of a form as it is recorded, with a scoreboard where it needs one."""
    return w.controlled(int(row[1], 16), write=1 if row[6] else w.NO_SCOREBOARD)


def record_classes(session: Session) -> None:
    """Writes the classes of the forms of mnemonics: a kernel has 2**i copies of its i-th form."""
    driver, metrics = session.driver, class_metrics()
    rows = json.loads((session.cubins / "forms.json").read_text())
    chosen = list({row[0].split(" ")[0]: row for row in reversed(rows)}.values())
    groups = [chosen[i : i + BITS] for i in range(0, len(chosen), BITS)][:KERNELS]
    cubin = a.with_registers(session.cubin("carriers"), REGISTERS)
    for n, group in enumerate([[], *groups]):
        copies = [_controlled(row) for i, row in enumerate(group) for _ in range(2**i)]
        code = [a.descriptor(), *copies, a.nop(), a.nop(), a.leave()]
        kernel = f"carrier{n // 8}{n % 8}"
        room = build.text_section(cubin, kernel)[1] // 16
        cubin = build.with_words(cubin, kernel, code + [a.nop()] * (room - len(code)))
    counters = Counters(driver.context, str(session.cubins / "counters.so"))
    counters.configure(metrics)
    module, output, cell = driver.load(cubin), driver.alloc(1 << 20), (ct.c_uint32 * 64)()
    table = np.zeros((len(groups) + 1, len(metrics)))
    for n in range(len(groups) + 1):
        function = driver.function(module, f"carrier{n // 8}{n % 8}")
        run = lambda f=function: driver.launch(f, (1,), (32,), (output, output, output, cell))  # noqa: E731
        values = counters.measure(run, lambda: None, driver.synchronize)
        table[n] = [values[m] for m in metrics]
    counters.close()
    names = np.array([[row[0] for row in g] + [""] * (BITS - len(g)) for g in groups])
    session.save(
        "form_classes_sm90", forms=names, metrics=np.array(metrics), values=table[1:] - table[0]
    )
    print(len(groups), "groups of forms")


def all_forms(session: Session, seconds: float) -> None:
    """Records the forms in processes of their own: one that fails ends the context."""
    started, target = time.time(), session.out / "forms.jsonl"
    total = len(json.loads((session.cubins / "forms.json").read_text()))
    first = 0
    while first < total and time.time() - started < seconds:
        left = seconds - (time.time() - started)
        command = [sys.executable, __file__, str(session.cubins), str(session.out), "--from"]
        subprocess.run([*command, str(first), "--seconds", str(left)], check=False)
        lines = target.read_text().splitlines() if target.exists() else []
        if not lines:
            break
        first = max(json.loads(line)["number"] for line in lines) + 1
    done = [row for row in map(json.loads, target.read_text().splitlines()) if "form" in row]
    session.save(
        "class_forms_sm90",
        forms=np.array([row["form"] for row in done]),
        metrics=np.array(FORM_METRICS),
        values=np.array([row["counts"] for row in done]),
    )
    print(len(done), "of", total, "forms")


def main() -> None:
    """Records everything, or the forms from a number on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cubins", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=90.0, help="for launches, and for forms")
    parser.add_argument("--from", type=int, dest="first", help="record forms from this one on")
    parser.add_argument("--what", default="cases,classes,forms")
    parser.add_argument("--dry-run", action="store_true")
    given: Any = parser.parse_args()
    session = Session(given.cubins, given.out, given.dry_run)
    if given.dry_run:
        module = session.driver.load(session.cubin("classes"))
        for case in CASES.values():
            session.driver.function(module, case.kernel)
        rows = form_corpus.from_rows(json.loads((session.cubins / "forms.json").read_text()))
        print(len(CASES), "launches,", len(rows), "forms")
    elif given.first is not None:
        record_forms(session, given.first, given.seconds)
    else:
        if "classes" in given.what:
            record_classes(session)
        if "cases" in given.what:
            record_cases(session, given.seconds)
        if "forms" in given.what:
            all_forms(session, given.seconds)


if __name__ == "__main__":
    main()
