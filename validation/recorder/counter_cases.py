"""How each kernel of kernels/counters.cu is launched when its counters are recorded.

All kernels take (in, out, p, q, r, s). `in` holds in[i] = i (32-bit words), `out` is zero before
every launch.
"""

from __future__ import annotations

from dataclasses import dataclass

IN_WORDS = 1 << 24
OUT_WORDS = 1 << 24
# (p, q, r, s) of the access patterns: element ((lane >> p) * q ^ r) % s
PATTERNS = {
    "linear": (0, 1, 0, 512), "broadcast": (5, 1, 0, 512), "reverse": (0, 1, 31, 512),
    "pairs": (1, 1, 0, 512), "quads": (2, 1, 0, 512), "modulo8": (0, 1, 0, 8),
    "modulo16": (0, 1, 0, 16), "stride2": (0, 2, 0, 512), "stride3": (0, 3, 0, 512),
    "stride4": (0, 4, 0, 512), "stride8": (0, 8, 0, 512), "stride16": (0, 16, 0, 512),
    "stride32": (0, 32, 0, 512), "stride33": (0, 33, 0, 512), "swap1": (0, 1, 1, 512),
    "swap16": (0, 1, 16, 512), "swap8": (0, 1, 8, 512), "scatter": (0, 37, 5, 509),
    "halves": (4, 5, 0, 512), "offset1": (0, 1, 0, 31),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One launch."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[int, int, int, int] = (0, 0, 0, 0)
    shared: int = 0


def _patterns() -> dict[str, Case]:
    found = {}
    widths = ("u8", "u16", "u32", "u64", "u128")
    for kind in ("load", "store", "shared_load", "shared_store"):
        for width in widths:
            for label, args in PATTERNS.items():
                if width in ("u8", "u16") and label not in ("linear", "stride4", "stride33"):
                    continue
                kernel = f"{kind}_{width}"
                found[f"{kernel}/{label}"] = Case(
                    kernel=kernel, grid=(4,), block=(128,), args=args
                )
    return found


def _atomics() -> dict[str, Case]:
    found = {}
    ways = {"one": (0, 0, 0, 1), "lanes": (0, 0xFFFFFFFF, 1, 1), "per_warp": (5, 0xFFFFFFFF, 1, 1),
            "pairs": (1, 0xFFFFFFFF, 1, 1), "modulo8": (0, 7, 1, 1),
            "spread": (0, 0xFFFFFFFF, 8, 1), "modulo8_spread": (0, 7, 32, 1)}  # fmt: skip
    for kernel in ("red", "return", "float", "cas", "max64", "shared", "shared_return",
                   "shared_float", "shared_cas"):  # fmt: skip
        for label, args in ways.items():
            name = f"atomic_{kernel}"
            found[f"{name}/{label}"] = Case(kernel=name, grid=(16,), block=(256,), args=args)
    return found


def _reductions() -> dict[str, Case]:
    names = ("divergent", "bank_conflicts", "sequential", "two_loads", "shuffle", "redux_atomic")
    found = {}
    for blocks in (64, 4096):
        for name in names:
            kernel = f"reduce_{name}"
            found[f"{kernel}/{blocks}"] = Case(
                kernel=kernel, grid=(blocks,), block=(256,), shared=1024
            )
    found["reduce_grid_stride"] = Case(
        kernel="reduce_grid_stride", grid=(1056,), block=(256,), args=(1 << 22, 0, 0, 0)
    )
    return found


def _single(kernel: str, blocks: int, threads: int, *args: int) -> Case:
    filled = (*args, 0, 0, 0, 0)
    return Case(
        kernel=kernel, grid=(blocks,), block=(threads,),
        args=(filled[0], filled[1], filled[2], filled[3]),
    )  # fmt: skip


def _plane(kernel: str, grid: int, block: tuple[int, int], p: int) -> Case:
    return Case(kernel=kernel, grid=(grid, grid), block=block, args=(p, 0, 0, 0))


def _misc() -> dict[str, Case]:
    found = {}
    for width in ("u8", "u16", "u32", "u64", "u128"):
        found[f"copy_{width}"] = _single(f"copy_{width}", 1024, 256)
        found[f"copy_{width}/large"] = _single(
            f"copy_{width}", 4096 if width == "u128" else 16384, 1024 if width == "u128" else 256
        )
    for offset in (1, 4, 8, 31):
        found[f"copy_offset/{offset}"] = _single("copy_offset", 1024, 256, offset)
        found[f"copy_offset_store/{offset}"] = _single("copy_offset_store", 1024, 256, offset)
    for stride in (2, 4, 8, 16, 32, 33):
        found[f"copy_strided/{stride}"] = _single("copy_strided", 1024, 256, stride, 0xFFFFFF)
    found["copy_guarded"] = _single("copy_guarded", 1024, 256, 200_003)
    for mask in (0x1, 0xFFFF, 0xFFFF0000, 0x55555555, 0x11111111, 0x80000001, 0xFF00FF):
        found[f"masked_load/{mask:x}"] = _single("masked_load", 16, 128, mask)
        found[f"masked_store/{mask:x}"] = _single("masked_store", 16, 128, mask)
    found["histogram"] = _single("histogram", 132, 256, 1 << 20)
    found["constant_uniform"] = _single("constant_uniform", 264, 128, 256)
    for shift, step in ((0, 1), (1, 1), (5, 1), (0, 32), (2, 3)):
        found[f"constant_divergent/{shift}_{step}"] = _single(
            "constant_divergent", 64, 128, shift, step
        )
    found["local_array"] = _single("local_array", 264, 128, 3, 16)
    found["scan_block"] = _single("scan_block", 512, 256)
    for name in ("read", "write", "shared", "padded"):
        for size in (256, 2048):
            found[f"transpose_{name}/{size}"] = _plane(
                f"transpose_{name}", size // 32, (32, 8), size
            )
    for name in ("ffma", "fadd", "dfma", "imad", "alu", "popc", "mufu", "convert", "hfma2",
                 "shuffle", "vote", "hmma"):  # fmt: skip
        found[f"pipe_{name}"] = _single(f"pipe_{name}", 264, 512, 32)
        found[f"pipe_{name}/one_warp"] = _single(f"pipe_{name}", 1, 32, 32)
    found["branch_lane_loop"] = _single("branch_lane_loop", 132, 128, 4)
    for name in ("half", "warp"):
        found[f"branch_{name}"] = _single(f"branch_{name}", 132, 128, 20)
    found["branch_switch"] = _single("branch_switch", 132, 128)
    found["early_exit"] = _single("early_exit", 132, 128, 10_007)
    found["barriers"] = _single("barriers", 264, 256, 16)
    found["mandelbrot"] = _single("mandelbrot", 256, 256, 200)
    found["empty"] = _single("empty", 132, 32)
    found["empty/large"] = _single("empty", 16384, 256)
    found["saxpy"] = _single("saxpy", 4096, 256)
    found["saxpy/large"] = _single("saxpy", 32768, 512)
    found["daxpy"] = _single("daxpy", 4096, 256)
    found["stencil5"] = Case(kernel="stencil5", grid=(32, 128), block=(32, 8), args=(1024, 0, 0, 0))
    for name in ("naive", "tiled"):
        found[f"sgemm_{name}/128"] = _plane(f"sgemm_{name}", 8, (16, 16), 128)
        found[f"sgemm_{name}/1024"] = _plane(f"sgemm_{name}", 64, (16, 16), 1024)
    found["softmax_row"] = _single("softmax_row", 256, 256, 1024)
    found["spmv_gather"] = _single("spmv_gather", 256, 256, 8, 0xFFFFF)
    for name in ("async_copy", "async_copy_bypass"):
        found[name] = _single(name, 256, 256)
    for stride in (4, 8, 32):
        found[f"load_matrix/{stride}"] = _single("load_matrix", 64, 128, stride)
    found["load_twice"] = _single("load_twice", 256, 256)
    found["load_cached"] = _single("load_cached", 264, 256, 32, 0xFFFF)
    found["load_readonly"] = _single("load_readonly", 264, 256)
    found["divide_float"] = _single("divide_float", 264, 256)
    found["divide_int"] = _single("divide_int", 264, 256, 3, 5)
    found["fence"] = _single("fence", 64, 128)
    found["registers_many"] = _single("registers_many", 264, 128, 8)
    return found


CASES: dict[str, Case] = {**_patterns(), **_atomics(), **_reductions(), **_misc()}
