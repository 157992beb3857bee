"""Which kernels of the corpus are lifted, and which instruction forms are refused.

`python validation/corpus/lift.py OUT --sm 90 75 ...` reads the cubins that build.py made. Every
instruction of every kernel is disassembled and reduced to its form (opcode, modifiers, kinds of
operands). Of each architecture the smallest kernels that together hold every form are lifted whole;
a kernel counts as lifted if none of its forms is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing as mp
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from build import text_sections

from warplens.execute.program import unknown_functions
from warplens.lift.coverage import gaps_of
from warplens.sass.parser import load_kernels
from warplens.toolchain.cubin import read_cubin
from warplens.toolchain.nvdisasm import disassemble

_NUMBER = re.compile(r"-?0x[0-9a-f]+|[+-]?\d+\.?\d*(?:e[+-]?\d+)?(?![\w.])|[+-](?:INF|QNAN|SNAN)")
_REGISTER = re.compile(r"\b(U?[RPB]|SB|UP)(\d+)\b")
_LABEL = re.compile(r"`\([^)]*\)")


def form(opcode: str, operands: str) -> str:
    """The instruction without its numbers and registers."""
    text = _LABEL.sub("label", operands)
    text = _REGISTER.sub(r"\1", text.replace(".reuse", ""))
    return f"{opcode} {_NUMBER.sub('imm', text)}".strip()


def read(path: Path) -> list[tuple[str, str, str, int, frozenset[str]]]:
    """Of each kernel: cubin, name, digest of its code, instructions, forms."""
    data = path.read_bytes()
    codes = text_sections(data)
    return [
        (str(path), name, hashlib.sha256(codes[name]).hexdigest(), len(listed),
         frozenset(form(i.opcode, i.operands) for i in listed))
        for name, listed in disassemble(data).items() if name in codes
    ]  # fmt: skip


def gaps(work: tuple[str, tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """Of some kernels of a cubin: name, refused instruction's form, and the reason."""
    path, names = work
    data = Path(path).read_bytes()
    kernels, listings = load_kernels(read_cubin(data)), disassemble(data)
    found = []
    for name in names:
        if name not in kernels:
            continue
        try:
            kernel = kernels[name]
            for gap in gaps_of(kernel, unknown_functions(kernel, kernels.cubin)):
                listed = listings[name][gap.offset // 16]
                own = gap.sass if gap.sass.startswith("call of") else ""
                found.append((name, own or form(listed.opcode, listed.operands), gap.reason))
        except Exception as error:
            found.append((name, f"{name}: {type(error).__name__}: {error}"[:300], "error"))
    return found


def covering(kernels: list[Any]) -> dict[str, list[str]]:
    """By cubin, kernels that together hold every form, small ones first."""
    seen: set[str] = set()
    chosen: dict[str, list[str]] = {}
    for path, name, _, _, forms in sorted(kernels, key=lambda kernel: kernel[3]):
        if not forms <= seen:
            seen |= forms
            chosen.setdefault(path, []).append(name)
    return chosen


def lifted(pool: Any, folder: Path) -> dict[str, Any]:
    """The row of one architecture."""
    paths = sorted(folder.glob("*.cubin"), key=lambda path: -path.stat().st_size)
    every = [kernel for part in pool.imap_unordered(read, paths) for kernel in part]
    kernels = list({kernel[2]: kernel for kernel in every}.values())
    chosen = covering(kernels)
    work = [(path, tuple(names[i : i + 40])) for path, names in chosen.items()
            for i in range(0, len(names), 40)]  # fmt: skip
    reasons: dict[str, str] = {}
    for part in pool.imap_unordered(gaps, work):
        reasons |= {refused: reason for _, refused, reason in part}
    in_kernels = Counter(f for kernel in kernels for f in kernel[4] if f in reasons)
    return {
        "kernels": len(every), "distinct": len(kernels),
        "instructions": sum(kernel[3] for kernel in kernels),
        "forms": len({f for kernel in kernels for f in kernel[4]}),
        "lifted_whole": sum(map(len, chosen.values())),
        "with_refused_forms": sum(not kernel[4].isdisjoint(reasons) for kernel in kernels),
        "refused": {f: [in_kernels[f], reason] for f, reason in sorted(reasons.items())},
    }  # fmt: skip


def main() -> None:
    """Writes lifted.json, a row for each architecture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sm", type=int, nargs="+", default=[90])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    target = given.out / "lifted.json"
    with mp.get_context("fork").Pool(given.jobs, maxtasksperchild=20) as pool:
        for sm in given.sm:
            rows = json.loads(target.read_text()) if target.exists() else {}
            rows[f"sm_{sm}"] = lifted(pool, given.out / f"sm_{sm}")
            target.write_text(json.dumps(rows, indent=1))
            print(f"sm_{sm}", {k: v for k, v in rows[f"sm_{sm}"].items() if k != "refused"},
                  len(rows[f"sm_{sm}"]["refused"]), "refused forms", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
