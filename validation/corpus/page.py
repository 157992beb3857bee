"""Writes docs/architectures.md from what lift.py found of the corpus on each architecture.

`python validation/corpus/page.py DATE COMPILER LIFTED.json...`; rows of several files add up.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"
HEAD = """# Architectures

Which instructions of compiled code are executed, by architecture. Kernels of CUB's block-wide
algorithms for `int`, libcu++'s barriers and atomics, cooperative groups, matrix instructions and
the intrinsics of CUDA C++ were compiled ({compiler}), disassembled and lifted on {date}; nothing
was run. The smallest kernels that together hold every form of an architecture's instructions were
lifted whole.

Device-wide algorithms of CUB, Thrust, other types and public repositories are part of the corpus
too, but were lifted in part for these architectures (row 109 of DEVIATIONS.md). Where one PTX text
serves several architectures, it was assembled for each: sm_86 to sm_88 and sm_120, sm_121 of the
same; code that asks for no single architecture's instructions was compiled to PTX for compute_80
and compute_100.

```console
python validation/corpus/census.py OUT --sm 86 87 88 89 103 110 120 121   # needs nvcc
python validation/corpus/lift.py OUT --sm 86 87 88 89 103 110 120 121
python validation/corpus/page.py DATE COMPILER OUT/lifted.json            # this page
```

| architecture | kernels of different code | instructions | forms | lifted whole | refused forms |
| --- | ---: | ---: | ---: | ---: | --- |
"""


def main() -> None:
    """Writes the page."""
    date, compiler, *files = sys.argv[1:]
    sums: dict[str, list[int]] = {}
    refused: dict[str, set[str]] = {}
    for file in files:
        for name, row in json.loads(Path(file).read_text()).items():
            own = [row["distinct"], row["instructions"], row["forms"], row["lifted_whole"]]
            before = sums.get(name, [0, 0, 0, 0])
            sums[name] = [a + b for a, b in zip(before, own, strict=True)]
            sums[name][2] = max(before[2], own[2])
            refused.setdefault(name, set()).update(row["refused"])
    rows = []
    for name in sorted(sums, key=lambda name: int(name[3:])):
        cells = " | ".join(f"{n:,}" for n in sums[name])
        listed = ", ".join(f"`{form}`" for form in sorted(refused[name])) or "none"
        rows.append(f"| {name} | {cells} | {listed} |\n")
    PAGE.write_text(HEAD.format(date=date, compiler=compiler) + "".join(rows))


if __name__ == "__main__":
    main()
