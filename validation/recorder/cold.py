"""What a launch costs more whose code, parameters and data L2 does not hold: active cycles of small
kernels behind an emptied L2 and behind themselves, and when straight code gets how far.

`python cold.py --build CUBINS` compiles; `python cold.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from gemm_preamble import PREAMBLE
from gemm_times import CACHE_BYTES, Bench
from hopper_cases import Filter, Map
from session import Session
from triton_cases import READER

from hopper import build, encode, texture

METRICS = ("gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max")
COLUMNS = ("kernel", "blocks", "threads", "is_warm", "nanoseconds", "mean", "most", "marks")
KILOBYTES = (1, 4, 16, 32)
MARKS = 40


def _straight(kilobytes: int) -> str:
    """Multiply-adds without a branch; the clock at the beginning and behind each KiB or so."""
    lines = []
    for _ in range(kilobytes):
        for i in range(60):
            lines.append(f'asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v[{i % 4}]) : "f"(x));')
        lines.append("at[mark++] = clock();")
    code = "\n  ".join(lines)
    return f"""
extern "C" __global__ void straight_{kilobytes}(float x, unsigned* out) {{
  unsigned at[{MARKS}];
  int mark = 0;
  at[mark++] = clock();
  float v[4] = {{x, x, x, x}};
  {code}
  if (threadIdx.x == 0) {{
    for (int i = 0; i < mark; i++) out[blockIdx.x * {MARKS} + i] = at[i] - at[0];
    if (v[0] + v[1] + v[2] + v[3] == 0.123f) out[0] = 1;
  }}
}}
"""


def source() -> dict[str, str]:
    """Units by name."""
    plain = """
extern "C" __global__ void nothing(float x, unsigned* out) {}
extern "C" __global__ void stored(float x, unsigned* out) {
  out[blockIdx.x * 40 + threadIdx.x % 32] = x;
}
extern "C" __global__ void loaded(float x, unsigned* out) {
  unsigned t = clock(), u = ((volatile unsigned*)out)[blockIdx.x * 40 + threadIdx.x % 32];
  out[blockIdx.x * 40 + threadIdx.x % 32] = clock() - t + (u == 12345);
}
extern "C" __global__ void sampled(unsigned long long object, unsigned* out) {
  float r, g, b, a;
  unsigned t = clock();
  asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=f"(r), "=f"(g), "=f"(b), "=f"(a) : "l"(object), "f"(threadIdx.x + 0.5f),
               "f"(blockIdx.x + 0.5f));
  out[blockIdx.x * 40 + threadIdx.x % 32] = clock() - t + (r + g + b + a == 0.123f);
}
"""
    copied = PREAMBLE + """
extern "C" __global__ void copied(const __grid_constant__ Map map, unsigned* out) {
  __shared__ alignas(8) u64 bar;
  if (threadIdx.x) return;
  make(&bar, 1);
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  for (int i = 0; i < 3; i++) {
    unsigned t = clock();
    expect(&bar, 4096);
    load(image, &map, &bar, 0, (i * 132 + blockIdx.x) * 32);
    wait(&bar, i & 1);
    out[blockIdx.x * 40 + i] = clock() - t;
  }
}
"""
    return {"cold": plain + "".join(map(_straight, KILOBYTES)), "copied": copied, "reader": READER}


def _arguments(bench: Bench, kernel: str, data: Any, out: Any) -> tuple[Any, ...]:
    if kernel == "sampled":
        given = Filter(array=-1, width=1024, height=1024, format=0x20, channels=1, texel_bytes=4,
                       mode=1, is_linear=True, flags=0)  # fmt: skip
        return texture(bench.driver, given, data.value), out
    if kernel == "copied":
        box = Map(array=-1, kind=0, sizes=(128, 1 << 16), strides=(128,), box=(128, 32),
                  steps=(1, 1))  # fmt: skip
        return encode(bench.driver, box, data.value), out
    return np.float32(1.5), out


def record(bench: Bench) -> list[Any]:
    """Rows of COLUMNS."""
    from counters import Counters

    driver, found = bench.driver, []
    counters = Counters(driver.context)
    scratch, data, out = driver.alloc(CACHE_BYTES), driver.alloc(16 << 20), driver.alloc(1 << 20)
    for place, size in ((scratch, CACHE_BYTES), (data, 16 << 20), (out, 1 << 20)):
        driver.fill(place, 0, size)
    names = ("nothing", "stored", "loaded", "sampled", "copied",
             *(f"straight_{n}" for n in KILOBYTES))  # fmt: skip
    for kernel in names:
        function = driver.function(bench.module("copied" if kernel == "copied" else "cold"), kernel)
        given = _arguments(bench, kernel, data, out)
        for blocks, threads in ((1, 32), (132, 32), (132, 256), (528, 256)):
            shape = (blocks,), (threads,)

            def launch(f: Any = function, s: Any = shape, g: Any = given) -> None:
                driver.launch(f, *s, g, 8192)

            for is_warm in (0, 1):
                prepare = launch if is_warm else lambda: bench.clean(scratch)
                told = {}
                for name in METRICS:
                    counters.configure([name])
                    told |= counters.measure(launch, prepare, driver.synchronize)
                prepare()
                driver.synchronize()
                launch()
                driver.synchronize()
                words = driver.download(out, 40 * blocks, np.uint32).reshape(blocks, 40)
                marks = [int(n) for n in np.median(words.astype(np.float64), axis=0)]
                found.append((kernel, blocks, threads, is_warm, *(told[n] for n in METRICS), marks))
    return found


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), source())
        return
    session = Session.of_command_line(__doc__)
    session.save_rows("cold_sm90", COLUMNS, [] if session.dry_run else record(Bench(session)))


if __name__ == "__main__":
    main()
