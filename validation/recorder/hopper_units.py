"""CUDA sources of Hopper's instructions one by one: sparse products, bulk reductions, atomics on
packed halves, tensor copies by im2col and interleaved. `hopper_cases.py` says what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

from wgmma_kernels import Kernel

_SHARED = """
typedef unsigned long long u64;
struct alignas(64) Map { u64 words[16]; };
extern __shared__ __align__(1024) unsigned char image[];
__device__ unsigned near(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned bar) {
  // bounded: a copy of other than the expected bytes must not hang
  for (unsigned i = 0, done = 0; i < 2000 && !done; i++)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                 " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar) : "memory");
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    """One form of mma.sp; registers of A, B and D per lane."""

    shape: str
    types: str  # D.A.B.C
    a: int
    b: int
    d: int
    selectors: tuple[int, ...]


SPARSE = {
    "f16h_16": Sparse(shape="m16n8k16", types="f16.f16.f16.f16", a=2, b=2, d=2, selectors=(0,)),
    "f16h_32": Sparse(shape="m16n8k32", types="f16.f16.f16.f16", a=4, b=4, d=2, selectors=(1,)),
    "f16_16": Sparse(shape="m16n8k16", types="f32.f16.f16.f32", a=2, b=2, d=4,
                     selectors=(0, 1, 2, 3)),
    "f16_32": Sparse(shape="m16n8k32", types="f32.f16.f16.f32", a=4, b=4, d=4, selectors=(0, 1)),
    "bf16_16": Sparse(shape="m16n8k16", types="f32.bf16.bf16.f32", a=2, b=2, d=4, selectors=(0,)),
    "bf16_32": Sparse(shape="m16n8k32", types="f32.bf16.bf16.f32", a=4, b=4, d=4, selectors=(0,)),
    "tf32_8": Sparse(shape="m16n8k8", types="f32.tf32.tf32.f32", a=2, b=2, d=4,
                     selectors=(0, 1, 2, 3)),
    "tf32_16": Sparse(shape="m16n8k16", types="f32.tf32.tf32.f32", a=4, b=4, d=4,
                      selectors=(0, 1)),
    "s8_32": Sparse(shape="m16n8k32", types="s32.s8.s8.s32", a=2, b=2, d=4, selectors=(0, 1)),
    "s8_64": Sparse(shape="m16n8k64", types="s32.s8.s8.s32", a=4, b=4, d=4, selectors=(0,)),
    "u8s8_64": Sparse(shape="m16n8k64", types="s32.u8.s8.s32", a=4, b=4, d=4, selectors=(0,)),
    "u4_64": Sparse(shape="m16n8k64", types="s32.u4.u4.s32", a=2, b=2, d=4, selectors=(0, 1)),
    "s4_128": Sparse(shape="m16n8k128", types="s32.s4.s4.s32", a=4, b=4, d=4, selectors=(0,)),
}  # fmt: skip


def _registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"


def sparse_product(name: str, form: Sparse, selector: int) -> str:
    """A kernel: block i multiplies the i-th case; `in` holds metadata, A and B, `d` is C and D."""
    letter = "f" if form.types.startswith("f32") else "r"
    kind = "float" if letter == "f" else "unsigned"
    e = form.d + form.a + form.b
    d = ", ".join(f'"+{letter}"(v[{i}])' for i in range(form.d))
    ab = ", ".join(f'"r"({m}[{i}])' for m, n in (("a", form.a), ("b", form.b)) for i in range(n))
    operands = ", ".join(
        _registers(first, count)
        for first, count in ((0, form.d), (form.d, form.a), (form.d + form.a, form.b), (0, form.d))
    )
    return f"""
extern "C" __global__ void sp_{name}_{selector}(const unsigned* in, {kind}* d) {{
  in += blockIdx.x * 288 + threadIdx.x;
  d += blockIdx.x * {32 * form.d} + threadIdx.x;
  unsigned a[4], b[4], e = in[0];
  {kind} v[{form.d}];
  for (int i = 0; i < 4; i++) a[i] = in[32 + 32 * i], b[i] = in[160 + 32 * i];
  for (int i = 0; i < {form.d}; i++) v[i] = d[32 * i];
  asm volatile("mma.sp::ordered_metadata.sync.aligned.{form.shape}.row.col.{form.types} "
               "{operands}, %{e}, {selector:#x};" : {d} : {ab}, "r"(e));
  for (int i = 0; i < {form.d}; i++) d[32 * i] = v[i];
}}
"""


def _wide(name: str, a: str, b: str, sums: str, depth: int, rest: str, **more: bool) -> Kernel:
    return Kernel(name=name, a=a, b=b, sums=sums, columns=8, depth=depth, rest=rest, **more)


WARPGROUP = {
    k.name: k
    for k in (
        _wide("wsp_f16", "f16", "f16", "f32", 32, ", 1, 1, 0, 0"),
        _wide("wsp_f16h", "f16", "f16", "f16", 32, ", 1, 1, 0, 0"),
        _wide("wsp_bf16", "bf16", "bf16", "f32", 32, ", 1, 1, 0, 0"),
        _wide("wsp_tf32", "tf32", "tf32", "f32", 16, ", 1, 1"),
        _wide("wsp_e4m3", "e4m3", "e4m3", "f32", 64, ", 1, 1"),
        _wide("wsp_e5m2h", "e5m2", "e4m3", "f16", 64, ", 1, 1"),
        _wide("wsp_s8", "s8", "s8", "s32", 64, ""),
        _wide("wsp_f16r", "f16", "f16", "f32", 32, ", 1, 1, 0", from_registers=True),
        _wide("wsp_s8r", "s8", "s8", "s32", 64, "", from_registers=True),
    )
}
WARPGROUP_SELECTORS = {"f16": (0, 1), "bf16": (0,), "tf32": (0, 1)}


def warpgroup_product(kernel: Kernel, selector: int) -> str:
    """A kernel: block i multiplies with image i under the metadata of its 128 threads."""
    n, kind = kernel.registers, "float" if kernel.sums == "f32" else "unsigned"
    letter = kind[0] if kind == "float" else "r"
    a = _registers(n, 4) if kernel.from_registers else f"%{n}"
    b = n + (4 if kernel.from_registers else 1)
    name = (f"wgmma.mma_async.sp.sync.aligned.m64n{kernel.columns}k{kernel.depth}.{kernel.sums}."
            f"{kernel.a}.{kernel.b}")  # fmt: skip
    given = ", ".join(f'"r"(a[{i}])' for i in range(4)) if kernel.from_registers else '"l"(da)'
    outputs = ", ".join(f'"+{letter}"(c[{i}])' for i in range(n))
    return f"""
extern "C" __global__ void {kernel.name}_{selector}(
    const uint4* images, int pieces, u64 da, u64 db, const unsigned* meta, const unsigned* given,
    {kind}* d) {{
  unsigned thread = blockIdx.x * 128 + threadIdx.x;
  unsigned a[4], e = meta[thread];
  {kind} c[{n}];
  for (int j = 0; j < 4; j++) a[j] = given[thread * 4 + j];
  for (int i = threadIdx.x; i < pieces; i += 128)
    ((uint4*)image)[i] = images[blockIdx.x * (long long)pieces + i];
  for (int j = 0; j < {n}; j++) c[j] = d[thread * {n} + j];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  da += near(image) >> 4;
  db += near(image) >> 4;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{name} {_registers(0, n)}, {a}, %{b}, %{b + 1}, {selector}, 1{kernel.rest};"
               : {outputs} : {given}, "l"(db), "r"(e));
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int j = 0; j < {n}; j++) d[thread * {n} + j] = c[j] {"" if kernel.from_registers else "+ 0 * a[0]" if kind == "unsigned" else ""};
}}
"""


# operation and type of cp.reduce.async.bulk to global memory, and to another block's shared memory
BULK = (
    *(f"add.{t}" for t in ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.bf16")),
    *(f"{op}.{t}" for op in ("min", "max") for t in ("u32", "s32", "u64", "s64", "f16", "bf16")),
    "inc.u32", "dec.u32", *(f"{op}.{t}" for op in ("and", "or", "xor") for t in ("b32", "b64")),
)  # fmt: skip
BULK_SHARED = (
    "add.u32", "add.s32", "add.u64", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32",
    "or.b32", "xor.b32",
)  # fmt: skip


def plain(name: str) -> str:
    """A name without dots."""
    return name.replace(".", "_")


def bulk_reduction(name: str) -> str:
    """A kernel: 512 bytes of `in` are combined with 512 of `out`."""
    return f"""
extern "C" __global__ void bulk_{plain(name)}(const uint4* in, uint4* out) {{
  ((uint4*)image)[threadIdx.x] = in[threadIdx.x];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncwarp();
  if (threadIdx.x == 0)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [%0], [%1], 512;\\n"
                 "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
                 :: "l"(out), "r"(near(image)) : "memory");
}}
"""


def bulk_shared(name: str) -> str:
    """A kernel: the other block of the cluster receives 512 bytes in its shared memory."""
    kind = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    return f"""
extern "C" __global__ void __cluster_dims__(2) near_{plain(name)}(const uint4* in, uint4* out) {{
  __shared__ alignas(8) u64 bar;
  uint4* box = (uint4*)image;
  unsigned place = blockIdx.x * 32 + threadIdx.x, b = near(&bar);
  box[threadIdx.x] = in[place];
  box[32 + threadIdx.x] = out[place];
  if (threadIdx.x == 0) {{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(b));
  }}
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0)
    asm volatile("{{ .reg .b32 d, m; mapa.shared::cluster.u32 d, %0, %3;"
                 " mapa.shared::cluster.u32 m, %2, %3;"
                 " {kind}.{name} [d], [%1], 512, [m]; }}"
                 :: "r"(near(box + 32)), "r"(near(box)), "r"(b), "r"(blockIdx.x ^ 1) : "memory");
  wait(b);
  out[place] = box[32 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}}
"""


PACKED = ("f16x2", "bf16x2")
PACKED_FORMS = tuple((op, t, n) for op in ("min", "max") for t in PACKED for n in (2, 4))


def packed_atomic(op: str, kind: str, words: int) -> str:
    """A kernel: lanes 0 to 15 of a warp use `red`, the others `atom`, each its own 16 bytes."""
    own = ", ".join(f"%{words + 1 + i}" for i in range(words))
    given = ", ".join(f"%{1 + i}" for i in range(words))
    inputs = ", ".join(f'"r"(v[{i}])' for i in range(words))
    outputs = ", ".join(f'"=r"(old[{i}])' for i in range(words))
    olds = ", ".join(f"%{i}" for i in range(words))
    name = f"global.v{words}.{kind}.{op}.noftz"
    return f"""
extern "C" __global__ void packed_{op}_{kind}_{words}(const unsigned* in, unsigned* out,
                                                      unsigned* before) {{
  unsigned i = blockIdx.x * 32 + threadIdx.x;
  unsigned v[4], old[4] = {{0, 0, 0, 0}};
  for (int j = 0; j < 4; j++) v[j] = in[4 * i + j];
  if (threadIdx.x < 16)
    asm volatile("red.{name} [%0], {{{given}}};" :: "l"(out + 4 * i), {inputs} : "memory");
  else
    asm volatile("atom.{name} {{{olds}}}, [%{words}], {{{own}}};"
                 : {outputs} : "l"(out + 4 * i), {inputs} : "memory");
  for (int j = 0; j < 4; j++) before[4 * i + j] = old[j];
}}
"""


def copies(rank: int, mode: str) -> str:
    """Loads of one box by tile or im2col, and stores of it, to and from the whole image."""
    names = ", ".join(f"%{3 + i}" for i in range(rank))
    given = ", ".join(f'"r"(c{i})' for i in range(rank))
    offsets, more = "", ""
    if mode == "im2col":
        offsets = ", {" + ", ".join(f"%{3 + rank + i}" for i in range(rank - 2)) + "}"
        more = "".join(f', "h"((unsigned short)o{i})' for i in range(rank - 2))
    there = ", ".join(f"%{2 + i}" for i in range(rank))
    stored = "im2col_no_offs" if mode == "im2col" else "tile"
    return f"""
extern "C" __global__ void {mode}{rank}(
    const __grid_constant__ Map map, int c0, int c1, int c2, int c3, int c4, int o0, int o1, int o2,
    int bytes, int pieces, uint4* out) {{
  __shared__ alignas(8) u64 bar;
  for (int i = threadIdx.x; i < pieces; i += 128)
    ((uint4*)image)[i] = make_uint4(0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(near(&bar)));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(near(&bar)), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {{{names}}}], [%2]{offsets};"
                 :: "r"(near(image)), "l"(&map), "r"(near(&bar)), {given}{more} : "memory");
  }}
  wait(near(&bar));
  __syncthreads();
  for (int i = threadIdx.x; i < pieces; i += 128) out[i] = ((uint4*)image)[i];
}}
extern "C" __global__ void {mode}_store{rank}(
    const __grid_constant__ Map map, int c0, int c1, int c2, int c3, int c4, int pieces,
    const uint4* in) {{
  for (int i = threadIdx.x; i < pieces; i += 128) ((uint4*)image)[i] = in[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.{stored}.bulk_group "
                 "[%0, {{{there}}}], [%1];\\n"
                 "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
                 :: "l"(&map), "r"(near(image)), {given} : "memory");
}}
"""


def sources() -> dict[str, str]:
    """Translation units by name."""
    return {
        "sparse": _SHARED + "".join(
            sparse_product(name, form, s) for name, form in SPARSE.items() for s in form.selectors
        ),
        "warpgroup": _SHARED + "".join(
            warpgroup_product(k, s)
            for k in WARPGROUP.values() for s in WARPGROUP_SELECTORS.get(k.a, (0,))
        ),
        "bulk": _SHARED + "".join(map(bulk_reduction, BULK)) + "".join(map(bulk_shared, BULK_SHARED)),
        "packed": _SHARED + "".join(packed_atomic(*form) for form in PACKED_FORMS),
        "copies": _SHARED + "".join(copies(r, "im2col") for r in (3, 4, 5))
        + "".join(copies(r, "tile") for r in (1, 2, 3, 4, 5)),
    }  # fmt: skip
