"""The kernels of the tests, with their arguments: what `kernels_record.py` runs on a GPU.

`python validation/recorder/kernel_cases.py OUT` compiles them for sm_90; it needs the package and
no GPU. Some are compiled a second time for debugging (-G), which leads to other instructions.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import tests.breadth.every  # noqa: E402
import tests.kernels.every  # noqa: E402, F401
from tests.breadth.model import FEATURES  # noqa: E402
from tests.kernels.model import CASES, Case, Problem  # noqa: E402

SM = 90
FOLDERS = ("kernels", "breadth")
UNOPTIMISED = frozenset(("kernels/ladder.cu", "kernels/warp.cu", "kernels/scaled.cu"))
DEBUG = "-G"
TRAPPED = "breadth/forms:trapped"  # ends with an error
COOPERATIVE = frozenset(("grid_sync",))


def cases() -> dict[str, Case]:
    """Every case that sm_90 runs, by the folder, file and name; sources relative to tests/."""
    own = [replace(c, source=f"kernels/{c.source}") for c in CASES]
    own += [f.case for f in FEATURES if f.first <= SM <= f.last]
    found = {}
    for case in own:
        if case.source.split("/")[0] in FOLDERS:
            name = f"{case.source.removesuffix('.cu')}:{case.name}"
            found[name] = case
            if case.source in UNOPTIMISED:
                found[f"{name} {DEBUG}"] = replace(case, options=(*case.options, DEBUG))
    return found | {TRAPPED: replace(found["breadth/forms:slept"], name="trapped",
                                     kernel="trapped", block=96, make=_trapped)}  # fmt: skip


def _trapped(rng: np.random.Generator) -> Problem:
    return (np.zeros(96, np.int32),), {}


def unit(case: Case) -> str:
    """The name of a case's translation unit."""
    marks = "".join(f" {option}" for option in case.options)
    return (case.source.removesuffix(".cu").replace("/", ".") + marks).replace(" ", "_")


def digests(case: Case, arguments: Sequence[Any], expected: dict[int, Any]) -> list[str]:
    """What stands for the bits of each array that a reference is given for."""
    return [hashlib.sha256(np.ascontiguousarray(arguments[i]).tobytes()).hexdigest()[:16]
            for i in sorted(expected)]  # fmt: skip


def write(folder: Path) -> None:
    """Compiles each translation unit once."""
    from warplens.toolchain.nvrtc import compile_source

    folder.mkdir(parents=True, exist_ok=True)
    every = cases().values()
    for case in {unit(c): c for c in every}.values():
        names = sorted({c.kernel for c in every if unit(c) == unit(case) and "<" in c.kernel})
        text = (ROOT / "tests" / case.source).read_text()
        made = compile_source(text, name=Path(case.source).name, sm=SM, options=case.options,
                              name_expressions=names)  # fmt: skip
        (folder / f"{unit(case)}.cubin").write_bytes(made.cubin)
        (folder / f"{unit(case)}.json").write_text(json.dumps(made.lowered_names))
    manifest = {"nvrtc": made.version if hasattr(made, "version") else "", "arch": f"sm_{SM}",
                "sha256": {}}  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
