"""Records when blocks of stream-K products (`gemm_cases.py`, `held_cases.py`, `fresh_cases.py`) are
where: at each step's data, at the end of a tile's products, when their sums are stored, when they
begin to wait for another block, have its flag and its sums, and at the end.

`python stream_marks.py --build CUBINS` compiles; `python stream_marks.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import fresh_cases
import held_cases
import numpy as np
from gemm_cases import large
from gemm_kernels import GEMMS, gemm
from gemm_preamble import PREAMBLE
from gemm_times import CACHE_BYTES, Bench
from session import Session
from triton_cases import READER

from hopper import arguments_of, build

KERNELS = {
    "gemm_stream": GEMMS["gemm_stream"], "held_stream": held_cases.GEMMS["held_stream"],
    "fresh_stream": fresh_cases.GEMMS["fresh_stream"],
}  # fmt: skip
MARKS = 160  # of a block; cycles since its begin, in the upper bits what it is
DATA, PRODUCTS, STORED, ASKS, FLAG, SUMS, WRITTEN = range(1, 8)
COLUMNS = ("kernel", "is_warm", "marks")  # block after block; the last two words: the global timer


def source() -> str:
    """The kernels, each with marks of its first consumer."""
    texts = [PREAMBLE]
    for name, given in KERNELS.items():
        text = gemm(given).replace(f"{name}(", f"{name}_marks(")
        text = text.replace("int ld", "int ld, unsigned* marks", 1)
        text = text.replace("  const int thread =", f"""
  __shared__ unsigned at[{MARKS}];
  u64 timer;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(timer));
  const unsigned begun = clock();
  int mark = 1;
  for (int i = threadIdx.x; i < {MARKS}; i += blockDim.x) at[i] = 0;
  auto note = [&](unsigned what) {{
    if (threadIdx.x == 128 && mark < {MARKS - 2}) at[mark++] = (clock() - begun) | what << 28;
  }};
  const int thread =""")  # fmt: skip
        for old, what, is_before in (
            ("const unsigned char *a = A(s)", DATA, True),
            ("/* multiplied */", PRODUCTS, True),
            ("atomicExch(&flags[blockIdx.x], 1);", STORED, False),
            ("if (thread == 0) while", ASKS, True),
            (f"for (int i = 0; i < {given.columns // 2}; i++) c[i] +=", FLAG, True),
            ("int end = (int)", SUMS, True),
        ):
            if old not in text:
                raise KeyError(old)
            new = f"note({what}); {old}" if is_before else f"{old} note({what});"
            text = text.replace(old, new)
        step = "    unit += last - first;"
        text = text.replace(step, f"    note({WRITTEN});\n{step}")
        end = text.rindex("}")
        text = text[:end] + f"""
  __syncthreads();
  if (threadIdx.x == 0) {{
    at[0] = clock() - begun;
    at[{MARKS - 2}] = (unsigned)timer, at[{MARKS - 1}] = (unsigned)(timer >> 32);
  }}
  __syncthreads();
  for (int i = threadIdx.x; i < {MARKS}; i += blockDim.x) marks[blockIdx.x * {MARKS} + i] = at[i];
}}
"""
        texts.append(text)
    return "".join(texts)


def record(bench: Bench) -> list[Any]:
    """Rows of COLUMNS."""
    driver, found = bench.driver, []
    for case in (*large(), *held_cases.cases(), *fresh_cases.cases()):
        if case.kernel not in KERNELS:
            continue
        arguments, _ = arguments_of(driver, case)
        blocks, flags = case.blocks[0], case.arguments[-1]
        marks, other = driver.alloc(4 * MARKS * blocks), driver.alloc(CACHE_BYTES)
        function = driver.function(bench.module("stream_marks"), f"{case.kernel}_marks")
        driver.set_dynamic_shared(function, case.shared)
        place = 3 + sum(hasattr(one, "swizzle") for one in case.arguments)
        given = (*arguments[: place + 2], marks, *arguments[place + 2 :])
        for is_warm in (0, 0, 0, 1, 1):
            driver.fill(marks, 0, 4 * MARKS * blocks)
            driver.fill(arguments[-1], 0, flags.nbytes)
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
        build(Path(sys.argv[2]), {"stream_marks": source(), "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    session.save_rows("stream_marks_sm90", COLUMNS, record(Bench(session)))


if __name__ == "__main__":
    main()
