"""Records when blocks of tuning kernels (`gemm_cases.py`) are where: by each step's data, its
products, behind the loop and at the end. Cold, and with what the launch before has left in L2.

`python gemm_marks.py --build CUBINS` compiles; `python gemm_marks.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from gemm_cases import large
from gemm_kernels import GEMMS, gemm
from gemm_preamble import PREAMBLE
from gemm_times import CACHE_BYTES, Bench
from session import Session
from triton_cases import READER

from hopper import arguments_of, build

NAMES = ("gemm_f16_128", "gemm_f16_64", "gemm_producer", "gemm_cooperative", "gemm_scaled")
MARKS = 64
COLUMNS = ("kernel", "is_warm", "marks")  # marks: block after block


def source() -> str:
    """The kernels, each with marks of its first consumer."""
    texts = [PREAMBLE]
    for name in NAMES:
        text = gemm(GEMMS[name]).replace(f"{name}(", f"{name}_marks(").replace(
            "int ld", "int ld, unsigned* marks", 1
        )  # fmt: skip
        text = text.replace("  const int thread =", f"""
  __shared__ unsigned at[{MARKS}];
  const unsigned begun = clock();
  int mark = 1;
  auto note = [&](bool mine) {{ if (mine && mark < {MARKS}) at[mark++] = clock() - begun; }};
  const int thread =""")  # fmt: skip
        who = "threadIdx.x == 128" if GEMMS[name].consumers else "threadIdx.x == 0"
        step = "const unsigned char *a = A(s)"
        text = text.replace(step, f"note({who}); {step}")
        text = text.replace("    FINISH();\n", f"    FINISH();\n    note({who});\n")
        end = text.rindex("}")
        text = text[:end] + f"""
  note({who});
  __syncthreads();
  if (threadIdx.x == 0) at[0] = clock() - begun;
  __syncthreads();
  if (threadIdx.x < {MARKS}) marks[blockIdx.x * {MARKS} + threadIdx.x] = at[threadIdx.x];
}}
"""
        texts.append(text)
    return "".join(texts)


def record(bench: Bench) -> list[Any]:
    """Rows of COLUMNS."""
    driver, found = bench.driver, []
    for case in large():
        if case.kernel not in NAMES:
            continue
        arguments, _ = arguments_of(driver, case)
        blocks = case.blocks[0]
        marks, other = driver.alloc(4 * MARKS * blocks), driver.alloc(CACHE_BYTES)
        function = driver.function(bench.module("marks"), f"{case.kernel}_marks")
        driver.set_dynamic_shared(function, case.shared)
        place = 3 + sum(hasattr(one, "swizzle") for one in case.arguments)
        given = (*arguments[: place + 2], marks, *arguments[place + 2 :])
        for is_warm in (0, 0, 1):
            driver.fill(marks, 0, 4 * MARKS * blocks)
            if not is_warm:
                bench.clean(other)
            driver.launch(function, case.blocks, (case.block,), given, case.shared)
            driver.synchronize()
            rows = driver.download(marks, MARKS * blocks, np.uint32)
            found.append((case.name, is_warm, [int(n) for n in rows]))
        driver.free_all()
    return found


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {"marks": source(), "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    session.save_rows("gemm_marks_sm90", COLUMNS, record(Bench(session)))


if __name__ == "__main__":
    main()
