"""Records what random programs of machine code (programs.py) do on the GPU.

`fuzz.py CUBINS OUT` needs CUBINS/programs.npz and CUBINS/carrier.cubin; `fuzz.py --make COUNT FORMS
CUBINS` writes the former from the list of forms (form_corpus.py), without a GPU. Each kernel of
sixteen programs runs twice; what differs is marked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import assembler as a
import form_corpus
import isolated
import numpy as np
import slots
import words as w
from cuda_driver import Driver
from session import Session

import programs

SECONDS, COUNTER_SECONDS = 36.0, 9.0
OPCODES = frozenset("""
    IADD3 LOP3 IMAD SHF LEA ISETP FADD FMUL FFMA FSETP FSET SEL FSEL PRMT VIMNMX FMNMX HADD2 HFMA2
    HMUL2 HSETP2 IABS POPC FLO BREV MUFU PLOP3 P2R VIADD MOV SGXT BMSK I2FP F2I I2F FRND VABSDIFF
    IDP R2P VIADDMNMX
""".split())
PIECES_OF_OPCODE = 24
COUNTERS = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum", "smsp__inst_executed_pipe_cbu.sum",
)  # fmt: skip
WITHOUT_PREDICATES = frozenset(("FLO", "VABSDIFF"))  # a second result that is refused here


def pieces(forms: Sequence[tuple[str, slots.Form]]) -> list[programs.Piece]:
    """Forms that read and write 32-bit registers and predicates only."""
    by_opcode: dict[str, list[slots.Form]] = {}
    for name, form in forms:
        opcode, *modifiers = name.split(" ")[0].split(".")
        is_wide = {"WIDE", "64", "F64", "S64", "U64", "HI", "X"} & set(modifiers)
        is_plain = not (form.uniforms or form.has_uniform_predicates or form.zone)
        if opcode in OPCODES and not is_wide and is_plain:
            by_opcode.setdefault(opcode, []).append(form)
    rng = random.Random(18)
    chosen = [f for own in by_opcode.values() for f in
              rng.sample(own, min(len(own), PIECES_OF_OPCODE))]  # fmt: skip
    words = [form.word for form in chosen]
    found = [
        programs.Piece(
            form.word, form.registers,
            tuple(f.low for f in own if f.kind == "P" and w.get(form.word, f.low, 3) != 7),
            form.is_variable,
        )
        for form, own in zip(chosen, w.fields(words, slots.PREDICATES), strict=True)
    ]
    names = [(text or "").split()[0] for text in w.texts(words)]
    return [piece for piece, name in zip(found, names, strict=True)
            if not (piece.predicates and name.split(".")[0] in WITHOUT_PREDICATES)
            and not is_illegal(piece, name)]  # fmt: skip


def is_illegal(piece: programs.Piece, name: str) -> bool:
    """HADD2.F32 with a first operand is an illegal instruction on an H200."""
    return name.startswith("HADD2.F32") and 24 in piece.registers


def made(count: int, known: Sequence[programs.Piece], seed: int = 0) -> dict[str, np.ndarray]:
    """Kernels of sixteen programs each: their words one after another, and their lengths."""
    kernels, seeds, ordered = [], [], []
    for start in range(seed, seed + count, programs.PROGRAMS):
        own = [programs.generated(s, known) for s in range(start, start + programs.PROGRAMS)]
        kernels.append(programs.kernel(own))
        seeds.append(start)
        ordered.append([p.is_ordered for p in own])
    return as_arrays(kernels) | {"seeds": np.array(seeds), "ordered": np.array(ordered, bool)}


def as_arrays(kernels: Sequence[programs.Kernel]) -> dict[str, np.ndarray]:
    """Machine code as two 64-bit halves of every word, and rows of BRX and their targets."""
    mask = (1 << 64) - 1
    halves = np.array([(x & mask, x >> 64) for k in kernels for x in k.code], np.uint64)
    rows = [(i, at, t) for i, k in enumerate(kernels) for at, to in k.targets.items() for t in to]
    return {"lengths": np.array([len(k.code) for k in kernels]), "low": halves[:, 0],
            "high": halves[:, 1], "targets": np.array(rows, np.int32).reshape(-1, 3),
            "counts": np.array([k.count for k in kernels], np.int32)}  # fmt: skip


def as_kernels(data: Any) -> list[programs.Kernel]:
    """The inverse of `as_arrays`."""
    words = [low | high << 64 for low, high in
             zip(data["low"].tolist(), data["high"].tolist(), strict=True)]  # fmt: skip
    ends = np.cumsum(data["lengths"]).tolist()
    found = [programs.Kernel(words[end - n : end]) for end, n in
             zip(ends, data["lengths"].tolist(), strict=True)]  # fmt: skip
    if "counts" in data:
        for kernel, count in zip(found, data["counts"].tolist(), strict=True):
            kernel.count = count
    for i, at, target in data["targets"].tolist():
        found[i].targets.setdefault(at, []).append(target)
    return found


def digests(results: np.ndarray) -> np.ndarray:
    """A 64-bit digest of every row of every program, from [program, row, ...]."""
    rows = results.reshape(results.shape[0] * results.shape[1], -1)
    found = [int.from_bytes(hashlib.sha256(row.tobytes()).digest()[:8], "little") for row in rows]
    return np.array(found, np.uint64).reshape(results.shape[:2])


class Bench:
    """Runs kernels of programs."""

    def __init__(self, driver: Any, carrier: bytes, kernels: list[programs.Kernel],
                 inputs: Any) -> None:  # fmt: skip
        self.driver, self.carrier, self.kernels = driver, carrier, kernels
        self.given = driver.upload(inputs)
        self.count = max(k.count for k in kernels) * programs.ROWS * programs.THREADS * 4
        self.out = driver.alloc(4 * self.count)
        self.constants = slots.constants_cell()

    def launch(self, function: Any, i: int) -> None:
        """One launch of a kernel, not waited for."""
        self.driver.launch(function, (self.kernels[i].count,), (programs.THREADS,),
                           (self.given, self.out, self.out, self.constants))  # fmt: skip

    def clear(self) -> None:
        """Fills the results."""
        self.driver.fill(self.out, 0xEE, 4 * self.count)

    def module(self, i: int) -> Any:
        """Loads a kernel."""
        kernel = self.kernels[i]
        cubin = a.carried(self.carrier, kernel.code, programs.REGISTER_COUNT, kernel.targets)
        return self.driver.load(cubin)

    def results(self, items: list[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Of each kernel: results [program, row, thread, 4] and which programs repeat them."""
        found = {}
        for i in items:
            module = self.module(i)
            function = self.driver.function(module, a.CARRIER)
            runs = []
            for _ in range(3):
                self.clear()
                self.launch(function, i)
                self.driver.synchronize()
                result = self.driver.download(self.out, self.count, np.uint32)
                runs.append(result.reshape(-1, programs.ROWS, programs.THREADS, 4))
            self.driver.unload(module)
            found[i] = runs[0], np.logical_and.reduce(
                [(runs[0] == run).all(axis=(1, 2, 3)) for run in runs[1:]]
            )
        return found


def counted(
    driver: Any, bench: Bench, library: str, items: list[int], seconds: float
) -> np.ndarray:
    """Hardware counters of kernels that run to their end, until the time is up."""
    from counters import Counters

    found = np.full((len(items), len(COUNTERS)), np.nan)
    counters = Counters(driver.context, library)
    counters.configure(COUNTERS)
    end = time.monotonic() + seconds
    for n, i in enumerate(items):
        if time.monotonic() > end:
            break
        module = bench.module(i)
        function = driver.function(module, a.CARRIER)
        values = counters.measure(
            lambda f=function, i=i: bench.launch(f, i), bench.clear, driver.synchronize
        )
        found[n] = [values[name] for name in COUNTERS]
        driver.unload(module)
    counters.close()
    return found


def record(session: Session) -> None:
    """Writes programs_results.npz and, smaller, programs_digests.npz."""
    with np.load(session.cubins / "programs.npz") as data:
        kernels = as_kernels(data)
    carrier, inputs = session.cubin("carrier"), slots.pool()
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    errors: dict[int, str] = {}
    if session.dry_run:
        found = Bench(session.driver, carrier, kernels, inputs).results(list(range(4)))
    else:
        crew = isolated.Crew(
            lambda: Bench(Driver(), carrier, kernels, inputs).results, found.update, SECONDS
        )
        errors = crew.run([[i] for i in range(len(kernels))])
    numbers = sorted(found)
    agree = np.stack([found[i][1] for i in numbers])
    whole = np.full((len(numbers), len(COUNTERS)), np.nan)
    kept = {"kernels": np.array(numbers), "agree": agree}
    own = np.stack([digests(found[i][0]) for i in numbers])
    session.save("programs_digests", **kept, digests=own, counters=whole)
    print(len(numbers), "kernels recorded,", len(errors), "failed,",
          int((~agree).sum()), "programs not repeatable", flush=True)  # fmt: skip
    (session.out / "programs_errors.json").write_text(json.dumps(errors, indent=0))
    np.save(session.out / "programs_results.npy", np.stack([found[i][0] for i in numbers]))
    if not session.dry_run:
        driver = Driver()
        bench = Bench(driver, carrier, kernels, inputs)
        library = str(session.cubins / "counters.so")
        whole = counted(driver, bench, library, numbers, COUNTER_SECONDS)
        session.save("programs_digests", **kept, digests=own, counters=whole)
        print(int(np.isfinite(whole[:, 0]).sum()), "kernels counted", flush=True)


def main() -> None:
    """Makes programs, or records them."""
    if "--make" not in sys.argv:
        record(Session.of_command_line(__doc__))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--make", type=int)
    parser.add_argument("forms", type=Path)
    parser.add_argument("cubins", type=Path)
    given = parser.parse_args()
    known = pieces(form_corpus.from_rows(json.loads(given.forms.read_text())))
    np.savez_compressed(given.cubins / "programs.npz", **made(given.make, known))


if __name__ == "__main__":
    main()
