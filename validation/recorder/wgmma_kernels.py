"""CUDA sources of the kernels that record wgmma: one product each, on an image of shared memory."""

from __future__ import annotations

from dataclasses import dataclass

_PREAMBLE = """
extern __shared__ __align__(1024) unsigned char image[];
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One product; `rest` are the immediates of scales and transpositions."""

    name: str
    a: str
    b: str
    sums: str
    columns: int
    depth: int
    from_registers: bool = False
    suffix: str = ""
    rest: str = ""

    @property
    def registers(self) -> int:
        """Registers of D per thread."""
        return self.columns // (4 if self.sums == "f16" else 2)


def _floats() -> list[Kernel]:
    found = [
        Kernel(name=f"{a}_{s}", a=a, b=a, sums=s, columns=8, depth=k, rest=r)
        for a, s, k, r in (("f16", "f32", 16, ", 1, 1, 0, 0"), ("f16", "f16", 16, ", 1, 1, 0, 0"),
                           ("bf16", "f32", 16, ", 1, 1, 0, 0"), ("tf32", "f32", 8, ", 1, 1"))
    ]  # fmt: skip
    eight = ("e4m3", "e5m2")
    found += [
        Kernel(name=f"{a}{b}_{s}", a=a, b=b, sums=s, columns=8, depth=32, rest=", 1, 1")
        for a in eight for b in eight for s in ("f32", "f16")
    ]  # fmt: skip
    return found


def _others() -> list[Kernel]:
    def make(name: str, a: str, b: str, sums: str, columns: int, depth: int, rest: str = "",
             suffix: str = "", from_registers: bool = False) -> Kernel:  # fmt: skip
        return Kernel(name=name, a=a, b=b, sums=sums, columns=columns, depth=depth, rest=rest,
                      suffix=suffix, from_registers=from_registers)  # fmt: skip

    found = [
        make("s8_s32", "s8", "s8", "s32", 8, 32),
        make("s8sat_s32", "s8", "s8", "s32", 8, 32, suffix=".satfinite"),
        make("u8s8_s32", "u8", "s8", "s32", 8, 32),
        make("b1_s32", "b1", "b1", "s32", 8, 256, suffix=".and.popc"),
        make("rs_f16", "f16", "f16", "f32", 8, 16, ", 1, 1, 0", from_registers=True),
        make("rs_neg", "f16", "f16", "f32", 8, 16, ", -1, 1, 0", from_registers=True),
        make("rs_tf32", "tf32", "tf32", "f32", 8, 8, ", 1, 1", from_registers=True),
        make("rs_e4m3", "e4m3", "e4m3", "f32", 8, 32, ", 1, 1", from_registers=True),
        make("lay_s8", "s8", "s8", "s32", 64, 32),
        make("lay_tf32", "tf32", "tf32", "f32", 64, 8, ", 1, 1"),
    ]
    return found + [
        make(f"lay_f16_{ta}{tb}", "f16", "f16", "f32", 128, 16, f", 1, 1, {ta}, {tb}")
        for ta in (0, 1) for tb in (0, 1)
    ]  # fmt: skip


KERNELS = {kernel.name: kernel for kernel in (*_floats(), *_others())}


def product(kernel: Kernel) -> str:
    """The inline assembly of one product of c, by da (or a) and db where s is not 0."""
    n = kernel.registers
    registers = ", ".join(f"%{i}" for i in range(n))
    given_a = ", ".join(f"%{n + i}" for i in range(4))
    a = f"{{{given_a}}}" if kernel.from_registers else f"%{n}"
    b = n + (4 if kernel.from_registers else 1)
    name = (f"wgmma.mma_async.sync.aligned.m64n{kernel.columns}k{kernel.depth}.{kernel.sums}."
            f"{kernel.a}.{kernel.b}{kernel.suffix}")  # fmt: skip
    text = (f"{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{b + 1}, 0;\\n"
            f"{name} {{{registers}}}, {a}, %{b}, p{kernel.rest};\\n}}\\n")  # fmt: skip
    letter = "f" if kernel.sums == "f32" else "r"
    outputs = ", ".join(f'"+{letter}"(c[{i}])' for i in range(n))
    given = ", ".join(f'"r"(a[{i}])' for i in range(4)) if kernel.from_registers else '"l"(da)'
    return f'asm volatile("{text}" : {outputs} : {given}, "l"(db), "r"(s));'


def source(kernels: list[Kernel]) -> str:
    """A kernel for each: block i multiplies with image i; addresses count from the image."""
    texts = [_PREAMBLE]
    for kernel in kernels:
        kind, n = "float" if kernel.sums == "f32" else "unsigned", kernel.registers
        a_part = "for (int j = 0; j < 4; j++) a[j] = given[thread * 4 + j];"
        texts.append(f"""
extern "C" __global__ void {kernel.name}(
    const uint4* images, int pieces, unsigned long long da, unsigned long long db, int s,
    const unsigned* given, const {kind}* before, {kind}* after) {{
  unsigned thread = blockIdx.x * 128 + threadIdx.x;
  {"unsigned a[4]; " + a_part if kernel.from_registers else ""}
  {kind} c[{n}];
  for (int i = threadIdx.x; i < pieces; i += 128)
    ((uint4*)image)[i] = images[blockIdx.x * (long long)pieces + i];
  for (int j = 0; j < {n}; j++) c[j] = before[thread * {n} + j];
  asm volatile("fence.proxy.async;\\n" ::: "memory");
  __syncthreads();
  unsigned long long base = (unsigned)__cvta_generic_to_shared(image) >> 4;
  da += base;
  db += base;
  asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");
  {product(kernel)}
  asm volatile("wgmma.commit_group.sync.aligned;\\n" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;\\n" ::: "memory");
  for (int j = 0; j < {n}; j++) after[thread * {n} + j] = c[j];
}}
""")
    return "\n".join(texts)


def descriptor(start: int, leading: int, stride: int, mode: int, base: int = 0) -> int:
    """A matrix descriptor; modes 0 to 3 are no swizzle, 128, 64 and 32 bytes."""
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | base << 49 | mode << 62
