"""`warplens occupancy`: limits, limiters and the next step, by numbers or for a kernel."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.occupancy_calculator.curve import Curve
    from warplens.occupancy_calculator.steps import Advice

EPILOG = """examples:
  warplens occupancy --gpu H200 --threads 256 --registers 40 --static-shared 8192
  warplens occupancy --gpu A100 --threads 512 --registers 33 --sweep registers
  warplens occupancy reduce.cu -k 'reduce<256>' --block 256 --gpu H200 --gpu 'RTX 4090'
  warplens occupancy reduce.cu -k 'reduce<256>' --block 256 --sweep shared --plot cliff.svg
  warplens occupancy reduce.cu -k 'reduce<256>' --block 256 --maxrregcount 0,64,32
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "occupancy",
        help="theoretical occupancy: limiters and what to change",
        description="Computes theoretical occupancy from numbers, or of a kernel in a .cu file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("file", nargs="?", metavar="FILE.cu", help="compile this file and use the kernel's "
        "resource usage")
    option("-k", "--kernel", help="kernel name or template instance, such as 'reduce<256>'")
    option("--gpu", action="append", help="GPU or architecture (default: H200); repeat for a table")
    option("--block", "--threads", dest="block", required=True, metavar="N[,N[,N]]",
           help="threads per block, or the block's dimensions")  # fmt: skip
    option("--registers", type=int, help="registers per thread (without FILE)")
    option("--static-shared", type=int, help="static shared memory per block in bytes (without "
        "FILE)")
    option("--dynamic-shared", type=int, default=0,
           help="dynamic shared memory per block in bytes")
    option("--carveout", type=int, help="preferred shared memory carve-out in percent")
    option("--barriers", type=int, help="barriers per block (without FILE)")
    option("--cluster", type=int, help="blocks per cluster")
    option("--maxrregcount", metavar="N[,N...]",
           help="recompile with each register limit (0: none); show spills and "
                "occupancy")  # fmt: skip
    option("--sweep", choices=("block", "registers", "shared"), help="occupancy over a resource")
    option("--plot", type=pathlib.Path, metavar="FILE.svg|.png", help="plot the sweep")
    option("--json", action="store_true", help="print JSON")
    option("-f", "--force", action="store_true", help="overwrite an existing plot")
    option("--scheduler", metavar="ADDRESS",
           help="Dask scheduler whose workers compile for --maxrregcount, or local")  # fmt: skip
    option("--processes", type=int, default=1, metavar="N",
           help="processes that compile for --maxrregcount (default: 1)")  # fmt: skip
    return parser


def run(args: argparse.Namespace) -> int:
    """Executes the verb; returns the exit code."""
    from warplens.errors import InputError
    from warplens.occupancy_calculator.curve import curve
    from warplens.occupancy_calculator.steps import advise

    if args.plot is not None and args.sweep is None:
        raise InputError("--plot needs --sweep", hint="Add --sweep block, registers or shared.")
    if args.plot is not None:
        from warplens.cli.occupancy_plot import check_plot

        check_plot(args.plot, overwrite=args.force)
    if args.maxrregcount is not None:
        return _compare_register_caps(args)
    points = [(gpu, _point(args, gpu)) for gpu in args.gpu or ["H200"]]
    advices = [advise(gpu, **point) for gpu, point in points]
    curves = [curve(gpu, args.sweep, **point) for gpu, point in points] if args.sweep else []
    if args.json:
        print(json.dumps(_json(advices, curves), indent=1))
    else:
        print(_text(advices, curves))
    if args.plot is not None:
        from warplens.cli.occupancy_plot import save_plot

        save_plot(curves, args.plot, overwrite=args.force)
        print(args.plot, file=sys.stderr if args.json else sys.stdout)
    return 0


def _shape(text: str) -> tuple[int, ...]:
    from warplens.errors import InputError

    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() for part in parts):
        raise InputError(f"--block {text!r} is not one to three positive integers, such as 32,8")
    return tuple(int(part) for part in parts)


def _point(args: argparse.Namespace, gpu: str) -> dict[str, Any]:
    """The inputs of `occupancy` for one GPU, from the options or from the compiled kernel."""
    import math

    from warplens.errors import InputError

    shape = _shape(args.block)
    point: dict[str, Any] = {
        "threads": math.prod(shape),
        "dynamic_shared": args.dynamic_shared,
        "carveout": args.carveout,
        "cluster": args.cluster,
    }
    numbers = {
        "registers": args.registers,
        "static_shared": args.static_shared,
        "barriers": args.barriers,
    }
    given = {name: value for name, value in numbers.items() if value is not None}
    if args.file is None:
        if "registers" not in given:
            raise InputError("--registers is missing", hint="Or give a .cu file and a kernel (-k).")
        return point | {"static_shared": 0, "barriers": 1} | given
    if given:
        option = next(iter(given)).replace("_", "-")
        raise InputError(f"--{option} contradicts {args.file}", hint="Give one or the other.")
    return point | _compiled(args, gpu, shape)


def _compiled(args: argparse.Namespace, gpu: str, shape: tuple[int, ...]) -> dict[str, int]:
    """The resources of the kernel as compiled for this GPU."""
    from warplens.errors import InputError
    from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
    from warplens.session.device import Device

    if args.kernel is None:
        raise InputError("-k is missing: name the kernel of the file")
    kernel = Device(gpu).compile(args.file).sass(args.kernel)
    occupancy_of_kernel(kernel, gpu, shape, args.dynamic_shared)  # refuses broken launch bounds
    return {
        "registers": kernel.registers,
        "static_shared": kernel.static_shared,
        "barriers": min(kernel.n_barriers, 16),
    }


def _compare_register_caps(args: argparse.Namespace) -> int:
    """Recompiles the kernel with every cap; one table per GPU."""
    from warplens.errors import InputError
    from warplens.session.device import Device

    words = args.maxrregcount.split(",")
    if args.file is None or args.kernel is None or not all(word.isdecimal() for word in words):
        raise InputError("--maxrregcount needs numbers such as 0,64,32, a FILE and a kernel (-k)")
    caps = [int(word) or None for word in words]
    block = _shape(args.block)
    tables = [
        Device(gpu)
        .compile(args.file)[args.kernel]
        .sweep(maxrregcount=caps, block=(block,), dynamic_shared=args.dynamic_shared,
               processes=args.processes, scheduler=args.scheduler)
        for gpu in args.gpu or ["H200"]
    ]  # fmt: skip
    if args.json:
        print(json.dumps([{"gpu": t.gpu, "variants": t.rows()} for t in tables], indent=1))
    else:
        print("\n\n".join(map(str, tables)))
    return 0


def _json(advices: list[Advice], curves: list[Curve]) -> list[dict[str, Any]]:
    found = []
    for index, advice in enumerate(advices):
        entry = advice.point.to_dict()
        entry["up"] = [step.to_dict() for step in advice.up]
        entry["down"] = [step.to_dict() for step in advice.down]
        if curves:
            entry["sweep"] = curves[index].to_dict()
        found.append(entry)
    return found


def _text(advices: list[Advice], curves: list[Curve]) -> str:
    from warplens.occupancy_calculator.steps import explain_lines

    lines: list[str] = []
    if len(advices) > 1:
        lines += _table(advices)
    else:
        lines += explain_lines(advices[0])
    for curve in curves:
        lines += _curve_lines(curve)
    return "\n".join(lines)


def _table(advices: list[Advice]) -> list[str]:
    """One row per GPU."""
    lines = [
        f"{'GPU':<24}{'regs':>5}{'blocks':>8}{'warps':>9}{'occupancy':>11}  "
        f"{'limited by':<22}next step"
    ]
    for advice in advices:
        point = advice.point
        step = advice.up[0].text if advice.up else "-"
        lines.append(
            f"{point.gpu:<24}{point.registers:>5}{point.blocks:>8}"
            f"{point.warps:>5}/{point.max_warps:<3}{100 * point.occupancy:>9.1f} %  "
            f"{','.join(point.limiters):<22}{step}"
        )
    return lines


def _curve_lines(curve: Curve) -> list[str]:
    from warplens.cli.occupancy_plot import terminal_plot

    lines = ["", f"{curve.gpu}: occupancy over {curve.label}", *terminal_plot(curve), ""]
    lines.append(f"{curve.axis:>17}{'blocks':>8}{'warps':>7}{'occupancy':>11}  limited by")
    for entry in curve.ranges:
        value = str(entry.first) if entry.first == entry.last else f"{entry.first}-{entry.last}"
        mark = "  <- here" if entry.is_present else ""
        lines.append(
            f"{value:>17}{entry.blocks:>8}{entry.warps:>7}{100 * entry.occupancy:>9.1f} %  "
            f"{','.join(entry.limiters)}{mark}"
        )
    return lines
