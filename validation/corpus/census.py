"""Compiles the corpus for every architecture at little cost: which forms each of them makes.

`python validation/corpus/census.py OUT --sm 86 87 ...` needs nvcc; then `lift.py OUT --sm 86 ...`
lifts what came out. A unit is brought to PTX once for each virtual architecture (most of the time
goes there) and assembled for every real one. Of PTX entries that are the same but for names one is
assembled. With `--cover N` only those are that have some PTX instruction (opcode, modifiers, kinds
of operands) which fewer than N kernels before them had. What is there already is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from build import REPOSITORIES, Unit, own_units, public_units

# What each real architecture's code is made of: units whose text asks for single architectures'
# instructions, and all others.
SPECIAL = {75: "75", 80: "80", 86: "86", 87: "86", 88: "86", 89: "89", 90: "90a", 100: "100f",
           103: "100f", 110: "110f", 120: "120f", 121: "120f"}  # fmt: skip
COMMON = {sm: "75" if sm < 80 else "80" if sm < 90 else "90" if sm < 100 else "100"
          for sm in SPECIAL}  # fmt: skip
SPECIAL_UNITS = ("intrinsics", "matrices")
_ENTRY = re.compile(r"^\.(?:visible|weak) \.entry (\S+?)\(", re.MULTILINE)
_BRACE = re.compile("[{}]")
_NAMES = re.compile(r"[$_A-Za-z][\w$]*_\d+|_Z\w+|\$L\w+|__\w+")
_REGISTER = re.compile(r"%([a-z]+)\d+")
_NUMBER = re.compile(r"\b(?:0[fdxX][0-9A-Fa-f]+|\d+)\b")


def ptx_of(unit: Unit, virtual: str, out: Path, include: tuple[str, ...]) -> str:
    """Compiles one unit to PTX unless it is there; the first error, or nothing."""
    target = out / "ptx" / f"compute_{virtual}" / f"{unit.name}.ptx"
    if target.exists():
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    command = ["nvcc", "-ptx", f"-arch=compute_{virtual}", "-std=c++17", "-w",
               "--expt-relaxed-constexpr", "--extended-lambda", *unit.options,
               *(f"-I{folder}" for folder in include), "-o", f"{target}.tmp",
               str(unit.source)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [x for x in (done.stderr + done.stdout).splitlines() if "error" in x.lower()]
        return (lines or ["failed"])[0][:200]
    os.replace(f"{target}.tmp", target)
    return ""


def entries(text: str) -> Iterator[tuple[int, int]]:
    """Where each kernel of a PTX text begins and ends."""
    for found in _ENTRY.finditer(text):
        depth, end = 0, found.start()
        for brace in _BRACE.finditer(text, found.start()):
            depth += 1 if brace.group() == "{" else -1
            end = brace.end()
            if depth == 0:
                break
        yield found.start(), end


def digest(body: str) -> bytes:
    """The same for kernels that differ in names only."""
    return hashlib.sha256(_NAMES.sub("name", body).encode()).digest()


def ptx_forms(body: str) -> set[str]:
    """Its instructions without names, registers' numbers and constants."""
    plain = _NUMBER.sub("imm", _REGISTER.sub(r"%\1", _NAMES.sub("name", body)))
    lines = (line.strip() for line in plain.splitlines())
    return {re.sub(r"^@!?%p\s+", "", line) for line in lines if line.endswith(";")}


class Choice:
    """Which kernels of the PTX texts, one after another, are assembled."""

    def __init__(self, cover: int) -> None:
        self.cover = cover
        self.seen: set[bytes] = set()
        self.count: Counter[str] = Counter()
        self.entries = 0

    def kept(self, text: str) -> tuple[str, int]:
        """The text without the kernels that are not needed, and how many stay."""
        parts, last, n = [], 0, 0
        for start, end in entries(text):
            self.entries += 1
            if not self._takes(text[start:end]):
                parts.append(text[last:start])
                last = end
            else:
                n += 1
        return "".join((*parts, text[last:])), n

    def _takes(self, body: str) -> bool:
        key = digest(body)
        if key in self.seen:
            return False
        self.seen.add(key)
        own = ptx_forms(body)
        if self.cover and all(self.count[form] >= self.cover for form in own):
            return False
        self.count.update(own)
        return True


def assemble(ptx: Path, sm: int, out: Path) -> str:
    """Makes a cubin of a PTX text unless it is there; the first error, or nothing."""
    target = out / f"sm_{sm}" / f"{ptx.stem}.cubin"
    if target.exists() and target.stat().st_mtime >= ptx.stat().st_mtime:
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    suffix = "a" if ptx.parent.name.endswith("a") else ""
    command = ["ptxas", f"-arch=sm_{sm}{suffix}", "-o", f"{target}.tmp", str(ptx)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return (done.stderr or done.stdout)[:200]
    os.replace(f"{target}.tmp", target)
    return ""


def virtual_of(unit: Unit, sm: int) -> str:
    """The virtual architecture that a unit is compiled for on the way to a real one."""
    return (SPECIAL if unit.name in SPECIAL_UNITS else COMMON)[sm]


def make(given: argparse.Namespace, units: list[Unit]) -> dict[str, str]:
    """Compiles and assembles; the errors by architecture and unit."""
    todo = {(virtual_of(unit, sm), unit) for sm in given.sm for unit in units}
    order = sorted(todo, key=lambda t: (units.index(t[1]), t[0]))
    with ThreadPoolExecutor(given.jobs) as pool:
        made = pool.map(lambda t: ptx_of(t[1], t[0], given.out, given.include), order)
        errors = {f"compute_{v} {unit.name}": e for (v, unit), e in zip(order, made, strict=True)}
        if given.ptx_only:
            return {name: e for name, e in errors.items() if e}
        chosen = choose(given, order)
        jobs = [(path, sm) for (virtual, unit), path in chosen.items() for sm in given.sm
                if virtual_of(unit, sm) == virtual]  # fmt: skip
        made = pool.map(lambda t: assemble(t[0], t[1], given.out), jobs)
        errors |= {f"sm_{sm} {path.stem}": e for (path, sm), e in zip(jobs, made, strict=True)}
    return {name: e for name, e in errors.items() if e}


def choose(given: argparse.Namespace, order: list[tuple[str, Unit]]) -> dict[Any, Path]:
    """Writes the kernels that are assembled as PTX, by virtual architecture and unit."""
    choices: dict[str, Choice] = {}
    found = {}
    for virtual, unit in order:
        source = given.out / "ptx" / f"compute_{virtual}" / f"{unit.name}.ptx"
        if not source.exists():
            continue
        choice = choices.setdefault(virtual, Choice(given.cover))
        text, n = choice.kept(source.read_text())
        if n:
            target = given.out / "chosen" / source.parent.name / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_text() != text:
                target.write_text(text)
            found[virtual, unit] = target
    return found


def main() -> None:
    """Makes what is missing and says what was chosen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sm", type=int, nargs="+", default=list(SPECIAL))
    parser.add_argument("--mirror", type=Path, default=Path("mirror"))
    parser.add_argument("--repositories", nargs="*", default=[], choices=list(REPOSITORIES))
    parser.add_argument("--include", nargs="*", default=[], help="folders of newer headers")
    parser.add_argument("--cover", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="a pattern of units' names")
    parser.add_argument("--ptx-only", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    units = [*own_units(), *public_units(given.mirror, given.out / "repos", given.repositories)]
    errors = make(given, [unit for unit in units if re.search(given.only, unit.name)])
    (given.out / "failed.json").write_text(json.dumps(errors, indent=0))
    print(len(errors), "did not compile", *errors.items(), sep="\n")


if __name__ == "__main__":
    main()
