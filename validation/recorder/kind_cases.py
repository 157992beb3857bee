"""Launches of the small kernels of many kinds in kernels/kinds.cu."""

from __future__ import annotations

from typing import Any

M = 1 << 20
Case = dict[str, Any]


def case(name: str, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: str,
         shared: int = 0) -> Case:  # fmt: skip
    """One launch; arguments as for `--arg`."""
    found = {"name": name, "kernel": kernel, "grid": grid, "block": block, "arguments": arguments}
    return found | ({"shared": shared} if shared else {})


def drawn(kind: str, size: int) -> str:
    """An array of numbers drawn by lot."""
    return f"{kind}[{size}]=rand"


def zeros(kind: str, size: int) -> str:
    """An array to write to."""
    return f"{kind}[{size}]=0"


def atomics() -> list[Case]:
    """Histograms in shared and global memory, popular bins, and sums to one word."""
    found = []
    for bins in (16, 256, 4096):
        for n, blocks in ((4 * M, 1024), (M, 132)):
            for letter, kind in (("f", "f32"), ("i", "i32")):
                found.append(case(
                    f"shared_hist_{letter}/{bins}/{blocks}", f"shared_hist_{letter}", (blocks,),
                    (256,), drawn("u32", n), zeros(kind, bins), f"i32={n}", f"i32={bins}",
                    shared=4 * bins,
                ))  # fmt: skip
    for bins in (16, 1024, 65536, 4 * M):
        for kernel, kind, n in (
            ("global_hist", "i32", 4 * M), ("global_hist_f", "f32", 4 * M),
            ("skewed_f", "f32", 2 * M),
        ):  # fmt: skip
            numbers = f"i32={n}", f"i32={bins}"
            found.append(case(
                f"{kernel}/{bins}", kernel, (2048,), (256,), drawn("u32", n), zeros(kind, bins),
                *numbers,
            ))  # fmt: skip
    last = drawn("f32", 2 * M), zeros("f32", 1), f"i32={2 * M}"
    return [*found, case("sum_atomic", "sum_atomic", (8192,), (256,), *last)]


def uneven() -> list[Case]:
    """Blocks and threads of unlike length."""
    found = []
    for n, degree in ((M, 8), (4 * M, 32)):
        arrays = drawn("u32", n), drawn("u32", n), zeros("u32", n)
        numbers = f"i32={n}", f"i32={degree}"
        found.append(case(f"bfs/{n}", "bfs_like", (n // 256,), (256,), *arrays, *numbers))
    for every in (32, 64, 500):
        given = drawn("f32", M), zeros("f32", M), f"i32={M}", f"i32={every}"
        found.append(case(f"most_leave/{every}", "most_leave", (4096,), (256,), *given))
    for blocks in (300, 2000, 20000):
        n = 256 * blocks
        given = drawn("u32", n), zeros("f32", n), f"i32={n}"
        found.append(case(f"data_len/{blocks}", "data_len", (blocks,), (256,), *given))
    for n in (512, 4096):
        given = drawn("f32", n * n), zeros("f32", n * n), f"i32={n}"
        found.append(case(f"tri_rows/{n}", "tri_rows", (n,), (256,), *given))
    for length, heads in ((1024, 12), (256, 96)):
        n = heads * length
        given = drawn("f32", 16 * n), drawn("f32", 16 * n), zeros("f32", n), f"i32={length}"
        found.append(case(f"causal/{length}", "causal", (length // 64, heads), (64,), *given))
    return found


def products() -> list[Case]:
    """Products of matrices, on tensor cores, too."""
    found = []
    sides = [("tri_mm", 192, 16)]
    sides += [(kernel, n, 32 if kernel == "tiled32" else 16) for n in (512, 1024)
              for kernel in ("naive_mm", "naive_mm_swapped", "tri_mm", "tiled32")]  # fmt: skip
    for kernel, n, side in sides:
        arrays = drawn("f32", n * n), drawn("f32", n * n), zeros("f32", n * n)
        grid = n // side, n // side
        found.append(case(f"{kernel}/{n}", kernel, grid, (side, side), *arrays, f"i32={n}"))
    for n in (512, 2048):
        given = drawn("f32", n * n), drawn("f32", n * n), zeros("f32", n * n), f"i32={n}"
        found.append(case(f"wmma_tf32/{n}", "wmma_tf32", (n * n // 2048,), (256,), *given))
        found.append(case(f"wmma_smem/{n}", "wmma_smem", (n // 64, n // 64), (256,), *given))
    given = drawn("f64", 512 * 512), drawn("f64", 512 * 512), zeros("f64", 512 * 512), "i32=512"
    return [*found, case("dmma/512", "dmma", (512,), (256,), *given)]


def rows() -> list[Case]:
    """Rows that are scaled, and what streams through memory."""
    found = []
    for n, c, block in ((4096, 1024, 256), (1024, 4096, 256), (2048, 768, 1024), (8192, 256, 128)):
        given = drawn("f32", n * c), zeros("f32", n * c), f"i32={n}", f"i32={c}"
        name = f"softmax_warp/{n}x{c}"
        found.append(case(name, "softmax_warp", (32 * n // block,), (block,), *given))
    for n, c, block in ((4096, 768, 256), (1024, 768, 512), (8192, 1024, 128), (512, 8192, 1024)):
        given = drawn("f32", n * c), drawn("f32", c), drawn("f32", c), zeros("f32", n * c)
        name = f"layernorm/{n}x{c}"
        found.append(case(name, "layernorm_block", (n,), (block,), *given, f"i32={c}"))
    shapes = ((14, 256), (17, 256), (20, 256), (20, 64), (22, 256), (22, 1024), (24, 512))
    for bits, block in shapes:
        n = 1 << bits
        given = drawn("f32", n), drawn("f32", n), "f32=2", f"i32={n}"
        found.append(case(f"axpby/{n}/{block}", "axpby", (n // block,), (block,), *given))
    for n in (1 << 18, 1 << 22):
        given = drawn("f32", 4 * n), drawn("f32", 4 * n), "f32=2", f"i32={n}"
        found.append(case(f"axpby4/{n}", "axpby4", (n // 256,), (256,), *given))
    for bits, blocks, block in ((20, 132, 256), (22, 264, 1024), (24, 528, 512), (20, 128, 128)):
        n = 1 << bits
        given = drawn("f32", n), zeros("f32", n), f"i32={n}"
        found.append(case(f"stride_loop/{n}/{blocks}", "stride_loop", (blocks,), (block,), *given))
    for n in (1 << 20, 1 << 22, 1 << 23):
        arrays = [drawn("f32", n)] * 4
        found.append(case(f"optimizer/{n}", "optimizer", (n // 512,), (512,), *arrays, f"i32={n}"))
    return found


def others() -> list[Case]:
    """Local arrays, spills, bytes, gathers, scans, transforms, many bodies, empty launches."""
    found = []
    for name, blocks in (("local", 1056), ("local", 4096), ("spills", 1056), ("spills", 8448)):
        n, kernel = 256 * blocks, "local_array" if name == "local" else name
        given = drawn("f32", n), zeros("f32", n), f"i32={n}"
        found.append(case(f"{name}/{blocks}", kernel, (blocks,), (256,), *given))
    for w in (512, 2048):
        given = drawn("u8", w * w), zeros("u8", w * w), f"i32={w}", f"i32={w}"
        found.append(case(f"bytes/{w}", "bytes", (w // 32, w // 8), (32, 8), *given))
        given = drawn("f32", w * w), zeros("f32", w * w), f"i32={w}"
        found.append(case(f"dct8/{w}", "dct8", (w // 64, w // 8), (8, 8, 8), *given))
        found.append(case(f"column_store/{w}", "column_store", (w // 32, w // 8), (32, 8), *given))
    for n, c in ((1024, 4096), (256, 65536)):
        given = drawn("f32", n * c), zeros("f32", c), f"i32={n}", f"i32={c}"
        found.append(case(f"col_sum/{n}", "col_sum", (c // 256,), (256,), *given))
    for n in (4096, 33792):
        given = drawn("f32", 4 * n), zeros("f32", 4 * n), f"i32={n}"
        found.append(case(f"nbody/{n}", "nbody", (n // 256,), (256,), *given))
    for n in (4096, 1024):
        given = drawn("f32", n * n), drawn("f32", n), zeros("f32", n), f"i32={n}"
        found.append(case(f"gemv/{n}", "gemv_rows", (n // 8,), (256,), *given))
    for n in (1 << 18, 1 << 22, 1 << 24):
        given = drawn("u32", n), drawn("f32", n), zeros("f32", n), f"i32={n}"
        found.append(case(f"gather/{n}", "gather", (n // 256,), (256,), *given))
    for w in (528, 2064):
        given = drawn("f32", w * w), zeros("f32", w * w), drawn("f32", 289), f"i32={w}"
        grid = (w - 16) // 32, (w - 16) // 8
        found.append(case(f"conv/{w}", "conv_const", grid, (32, 8), *given))
    for n in (64, 528, 4096):
        arrays = drawn("f32", 2048 * n), zeros("f32", 2048 * n)
        found.append(case(f"scan/{n}", "scan_block", (n,), (1024,), *arrays))
    shapes = ((1, 32), (132, 256), (1056, 256), (16384, 128), (262144, 64), (262144, 1024))
    return found + [
        case(f"nothing/{blocks}/{block}", "nothing", (blocks,), (block,), "f32[16]=0", "i32=1")
        for blocks, block in shapes
    ]


CASES = (*atomics(), *uneven(), *products(), *rows(), *others())
