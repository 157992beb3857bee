"""CUDA sources of whole Hopper kernels: products of matrices in many ways, attention, convolution.

Each is small, but built as those that people tune: TMA, mbarriers, wgmma, warps that produce and
warps that consume, clusters. `gemm_cases.py` says what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

from attention_kernels import attention, convolution
from gemm_preamble import PREAMBLE
from wgmma_kernels import Kernel, product

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1}
DEPTH = {1: 32, 2: 16, 4: 8}
MODES = {128: 1, 64: 2, 32: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """D = A * B^T, both with k contiguous; tiles of 64 rows a consumer by `columns`."""

    name: str
    kind: str = "f16"
    sums: str = "f32"
    columns: int = 128
    pitch: int = 128  # bytes of a row in shared memory, and the swizzle
    stages: int = 3
    consumers: int = 0  # warpgroups besides the producer; 0: one does both
    pingpong: bool = False
    multicast: bool = False
    stores: bool = False  # by TMA
    split: int = 1  # blocks of a cluster that share a tile's steps of k
    stream: bool = False
    scaled: bool = False

    @property
    def rows(self) -> int:
        """Rows of a block's tile."""
        return 64 * (1 if self.pingpong else max(self.consumers, 1))

    @property
    def step(self) -> int:
        """Steps of k in a stage."""
        return self.pitch // BYTES[self.kind]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 128 * (self.consumers + 1)

    @property
    def stage_bytes(self) -> int:
        """Bytes of a stage."""
        return (self.rows + self.columns) * self.pitch

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        extra = 64 * self.columns * 4 if self.stores or self.split > 1 else 0
        return self.stages * self.stage_bytes + extra + 1024

    @property
    def kernel(self) -> Kernel:
        """Its product."""
        rest = {"f16": ", 1, 1, 0, 0", "bf16": ", 1, 1, 0, 0", "s8": ""}.get(self.kind, ", 1, 1")
        return Kernel(name=self.name, a=self.kind, b=self.kind, sums=self.sums,
                      columns=self.columns, depth=DEPTH[BYTES[self.kind]], rest=rest)  # fmt: skip


_PRODUCTS = """
    FENCE();
    for (int q = 0; q < {n}; q++) {{
      u64 da = described(a + 64 * {pitch} * part + 32 * q, 16, {stride}, {mode});
      u64 db = described(b + 32 * q, 16, {stride}, {mode});
      int s = {first};
      {product}
    }}
    FINISH();
"""


def _products(g: Gemm) -> str:
    return _PRODUCTS.format(
        n=g.pitch // 32, pitch=g.pitch, stride=8 * g.pitch, mode=MODES[g.pitch],
        first="q > 0" if g.scaled else "k > first || q > 0",
        product=product(g.kernel),
    )  # fmt: skip


def _out(g: Gemm) -> str:
    return {"f32": "float", "s32": "int"}.get(g.sums, "unsigned")


def _write(g: Gemm) -> str:
    """Code that keeps c as rows of D, from `row0` and `col0` on."""
    per = 2 if g.sums == "f16" else 1
    if g.sums == "f16":
        return f"""
  for (int i = 0; i < {g.columns // 4}; i++)
    out[(row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i % 2)) * (ld / {per}) + col0 / 2
        + 4 * (i / 2) + lane % 4] = c[i];"""
    return f"""
  for (int i = 0; i < {g.columns // 2}; i++)
    out[(row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i / 2 % 2)) * ld + col0 + 8 * (i / 4)
        + 2 * (lane % 4) + i % 2] = {"total" if g.scaled else "c"}[i];"""


def _scale(g: Gemm) -> str:
    if not g.scaled:
        return ""
    return f"""
    for (int i = 0; i < {g.columns // 2}; i++) {{
      int row = row0 + 64 * part + 16 * warp + lane / 4 + 8 * (i / 2 % 2);
      int column = col0 + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      total[i] = fmaf(c[i], scale_a[k * ld + row] * scale_b[k * ld + column], total[i]);
    }}"""


def _fetch(g: Gemm) -> str:
    """Code that asks for stage s of step k of a tile."""
    if not g.multicast:
        return f"""
      expect(&full[s], {g.stage_bytes});
      load(A(s), &ma, &full[s], k * {g.step}, row0);
      load(B(s), &mb, &full[s], k * {g.step}, col0);"""
    half = g.columns // 2
    return f"""
      expect(&full[s], {g.stage_bytes});
      load(A(s), &ma, &full[s], k * {g.step}, row0);
      load_for(B(s) + rank * {half * g.pitch}, &mb, &full[s], k * {g.step}, col0 + rank * {half}, 3);"""


def _epilogue(g: Gemm) -> str:
    if g.split > 1:
        each = 64 * g.columns // g.split
        return f"""
  float* sums = (float*)(image + {g.stages * g.stage_bytes});
  {{ float* out = sums; int ld = {g.columns}, row0 = 0, col0 = 0; {_write(g)} }}
  cluster_sync();
  for (int i = rank * {each} + threadIdx.x; i < (rank + 1) * {each}; i += {g.threads}) {{
    float all = 0;
    for (int r = 0; r < {g.split}; r++) {{
      float v;
      asm volatile("{{ .reg .b32 p; mapa.shared::cluster.u32 p, %1, %2;"
                   " ld.shared::cluster.f32 %0, [p]; }}"
                   : "=f"(v) : "r"(near(sums + i)), "r"(r) : "memory");
      all += v;
    }}
    out[(row0 + i / {g.columns}) * ld + col0 + i % {g.columns}] = all;
  }}
  cluster_sync();"""
    if g.stores:
        return f"""
  float* sums = (float*)(image + {g.stages * g.stage_bytes});
  {{ float* out = sums; int ld = {g.columns}, row0 = 0, col0 = 0, whole = part; (void)whole;
     {_write(g).replace("64 * part", "0")} }}
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("bar.sync 7, 128;" ::: "memory");
  if (threadIdx.x % 128 == 0) store(&md, sums, col0, row0);
  asm volatile("bar.sync 7, 128;" ::: "memory");"""
    if g.stream:
        n = g.columns // 2
        return f"""
  if (first > 0) {{
    for (int i = 0; i < {n}; i++) space[(blockIdx.x * {n} + i) * 128 + thread] = c[i];
    __threadfence();
    asm volatile("bar.sync 7, 128;" ::: "memory");
    if (thread == 0) atomicExch(&flags[blockIdx.x], 1);
  }} else {{
    for (int other = blockIdx.x + 1, at = last; at < steps; other++) {{
      if (thread == 0) while (atomicAdd(&flags[other], 0) == 0) {{}}
      __threadfence();
      asm volatile("bar.sync 7, 128;" ::: "memory");
      for (int i = 0; i < {n}; i++) c[i] += __ldcg(&space[(other * {n} + i) * 128 + thread]);
      int end = (int)((long long)tiles * steps * (other + 1) / gridDim.x) - tile * steps;
      at = end < steps ? end : steps;
    }}
    {_write(g)}
  }}"""
    return _write(g)


def _tile(g: Gemm) -> str:
    if g.multicast:  # the blocks of a cluster share columns; `across` is how many rows of tiles
        return f"int row0 = tile % across * {g.rows}, col0 = tile / across * {g.columns};"
    return f"int row0 = tile / across * {g.rows}, col0 = tile % across * {g.columns};"


def _loop(g: Gemm, body: str) -> str:
    """The tiles of this block, each with its steps [first, last)."""
    if g.stream:
        return f"""
  int unit = (int)((long long)tiles * steps * blockIdx.x / gridDim.x);
  int end_unit = (int)((long long)tiles * steps * (blockIdx.x + 1) / gridDim.x);
  while (unit < end_unit) {{
    int tile = unit / steps, first = unit % steps;
    int last = end_unit - tile * steps < steps ? end_unit - tile * steps : steps;
    {_tile(g)}
    {body}
    unit += last - first;
  }}"""
    if g.split > 1:
        return f"""
  {{
    int tile = blockIdx.x / {g.split};
    int first = steps * rank / {g.split}, last = steps * (rank + 1) / {g.split};
    {_tile(g)}
    {body}
  }}"""
    start, by = ("blockIdx.x", "gridDim.x")
    return f"""
  for (int tile = {start}; tile < tiles; tile += {by}) {{
    const int first = 0, last = steps;
    {_tile(g)}
    {body}
  }}"""


def _sums(g: Gemm) -> str:
    zeros = "{}"
    kind = "float" if g.sums == "f32" else "unsigned"
    more = f"float total[{g.columns // 2}] = {zeros};" if g.scaled else ""
    return f"{kind} c[{g.kernel.registers}] = {zeros}; {more}"


def gemm(g: Gemm) -> str:
    """The whole kernel."""
    cluster = 2 if g.multicast else g.split
    dims = f"__cluster_dims__({cluster})" if cluster > 1 else ""
    empties = 1 if g.pingpong or not g.consumers else g.consumers
    empties *= 2 if g.multicast else 1
    free = "arrive_at(&empty[s], 0), arrive_at(&empty[s], 1)" if g.multicast else "arrive(&empty[s])"
    consume = f"""
    {_sums(g)}
    for (int k = first; k < last; k++, it++) {{
      int s = it % {g.stages};
      wait(&full[s], it / {g.stages} & 1);
      const unsigned char *a = A(s), *b = B(s);
      {_products(g)}
      {_scale(g)}
      if (thread == 0) {free};
    }}
    /* multiplied */
    {_epilogue(g)}"""
    produce = f"""
    for (int k = first; k < last; k++, it++) {{
      int s = it % {g.stages};
      wait(&empty[s], (it / {g.stages} & 1) ^ 1);
      {_fetch(g)}
    }}"""
    parameters = "const __grid_constant__ Map ma, const __grid_constant__ Map mb, "
    parameters += "const __grid_constant__ Map md, " if g.stores else ""
    parameters += f"int steps, int tiles, int across, {_out(g)}* out, int ld"
    parameters += ", const float* scale_a, const float* scale_b" if g.scaled else ""
    parameters += ", float* space, int* flags" if g.stream else ""
    body = _specialised(g, produce, consume) if g.consumers else _alone(g)
    return f"""
extern "C" __global__ void {dims} __launch_bounds__({g.threads}, 1) {g.name}({parameters}) {{
  __shared__ alignas(8) u64 full[{g.stages}], empty[{g.stages}];
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int rank = blockIdx.x % {cluster};
  auto A = [&](int s) {{ return image + s * {g.stage_bytes}; }};
  auto B = [&](int s) {{ return image + s * {g.stage_bytes} + {g.rows * g.pitch}; }};
  if (threadIdx.x == 0)
    for (int s = 0; s < {g.stages}; s++) make(&full[s], 1), make(&empty[s], {empties});
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  {"cluster_sync();" if cluster > 1 else "__syncthreads();"}
  {body}
  {"cluster_sync();" if g.multicast else ""}
}}
"""


def _specialised(g: Gemm, produce: str, consume: str) -> str:
    more, less = (240, 24) if g.consumers == 1 else (232, 40)
    if g.pingpong:  # consumer n takes every second tile while the other keeps its own
        order = "asm volatile(\"bar.{} %0, 256;\" :: \"r\"({}) : \"memory\");"
        tail = f"if (tile + gridDim.x < tiles) {{ {order.format('arrive', '2 - own')} }}"
        consume = consume.replace("/* multiplied */", tail)
        consume = f"""
    int turn = (tile - blockIdx.x) / gridDim.x;
    if (turn % 2 != part) {{ it += last - first; continue; }}
    if (turn > 0) {{ {order.format("sync", "1 + part")} }}
    {{ const int own = part; const int part = 0; {consume} }}"""
    registers = "asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");"
    return f"""
  int it = 0;
  if (threadIdx.x < 128) {{
    {registers.format("dec", less)}
    if (threadIdx.x == 0) {{ {_loop(g, produce)} }}
  }} else {{
    {registers.format("inc", more)}
    const int part = threadIdx.x / 128 - 1;
    {_loop(g, consume)}
  }}"""


def _alone(g: Gemm) -> str:
    """One warpgroup that asks for stages ahead and multiplies."""
    body = f"""
    {_sums(g)}
    int ahead = first;
    if (threadIdx.x == 0)
      for (; ahead < last && ahead < first + {g.stages}; ahead++) {{
        int k = ahead, s = (it + ahead - first) % {g.stages};
        {_fetch(g)}
      }}
    for (int k = first; k < last; k++) {{
      int s = it % {g.stages};
      wait(&full[s], it / {g.stages} & 1);
      const unsigned char *a = A(s), *b = B(s);
      {_products(g)}
      {_scale(g)}
      __syncthreads();
      if (threadIdx.x == 0 && k + {g.stages} < last) {{
        const int next = k + {g.stages};
        {{ const int k = next; {_fetch(g)} }}
      }}
      it++;
    }}
    {_epilogue(g)}"""
    return f"""
  int it = 0;
  const int part = 0;
  {_loop(g, body)}"""


GEMMS = {
    g.name: g
    for g in (
        Gemm(name="gemm_f16_128"),
        Gemm(name="gemm_f16_64", pitch=64, columns=64),
        Gemm(name="gemm_f16_32", pitch=32, columns=64, stages=4),
        Gemm(name="gemm_f16_f16", sums="f16"),
        Gemm(name="gemm_f16_256", columns=256),
        Gemm(name="gemm_bf16", kind="bf16"),
        Gemm(name="gemm_tf32", kind="tf32"),
        Gemm(name="gemm_tf32_64", kind="tf32", pitch=64, columns=96),
        Gemm(name="gemm_e4m3", kind="e4m3"),
        Gemm(name="gemm_e5m2_64", kind="e5m2", pitch=64, columns=64),
        Gemm(name="gemm_s8", kind="s8", sums="s32"),
        Gemm(name="gemm_scaled", kind="e4m3", scaled=True, columns=64, consumers=1),
        Gemm(name="gemm_producer", consumers=1, stages=4),
        Gemm(name="gemm_cooperative", consumers=2, stages=4),
        Gemm(name="gemm_cooperative_bf16", kind="bf16", consumers=2, stages=3, columns=256),
        Gemm(name="gemm_pingpong", consumers=2, stages=4, pingpong=True),
        Gemm(name="gemm_pingpong_e4m3", kind="e4m3", consumers=2, stages=4, pingpong=True),
        Gemm(name="gemm_stored", consumers=1, stages=3, stores=True),
        Gemm(name="gemm_multicast", consumers=2, stages=4, multicast=True),
        Gemm(name="gemm_split", stages=3, split=4, columns=64),
        Gemm(name="gemm_stream", consumers=1, stages=4, stream=True),
    )
}


def sources() -> dict[str, str]:
    """Translation units by name."""
    half = len(GEMMS) // 2
    every = list(GEMMS.values())
    return {
        "gemms": PREAMBLE + "".join(map(gemm, every[:half])),
        "gemms2": PREAMBLE + "".join(map(gemm, every[half:])),
        "others": PREAMBLE + attention() + convolution(),
    }
