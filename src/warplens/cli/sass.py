"""`warplens sass`: a kernel's machine code with control codes and registers alive, no launch."""

from __future__ import annotations

import argparse
import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from warplens.cli._code import add_code_options, sass_of

if TYPE_CHECKING:
    from warplens.sass.model import Control, SassKernel

EPILOG = """columns:
  stall   cycles after which the next instruction of the warp may issue at the earliest
  yield   Y: the scheduler may turn to another warp
  wr, rd  scoreboard (SB0 to SB5) set until the result is written, until the operands are read
  wait    scoreboards that must be clear before the instruction issues
  live    registers that hold a value needed here or later

examples:
  warplens sass reduce.cu -k 'reduce<256>' --gpu H200
  warplens sass kernel.cubin --json
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "sass",
        help="print a kernel's SASS with control codes and registers alive",
        description="Compiles or loads a kernel and prints its machine code; nothing is executed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_code_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    kernels = sass_of(arguments)
    if arguments.json:
        print(json.dumps([_document(kernel) for kernel in kernels], indent=1))
    else:
        print("\n\n".join(_text(kernel) for kernel in kernels))
    return 0


def _rows(kernel: SassKernel) -> list[dict[str, Any]]:
    """One row per instruction."""
    from warplens.lift.decode.live import live_registers

    return [
        {
            "address": inst.address,
            "sass": inst.text.strip(),
            "stall": inst.control.stall,
            "yield": not inst.control.keep,
            "write_barrier": _barrier(inst.control.write_barrier),
            "read_barrier": _barrier(inst.control.read_barrier),
            "wait": [i for i in range(6) if inst.control.wait_mask >> i & 1],
            "live": live,
            "file": inst.file,
            "line": inst.line,
        }
        for inst, live in zip(kernel.instructions, live_registers(kernel), strict=True)
    ]


def _barrier(number: int) -> int | None:
    return None if number == 7 else number


def _document(kernel: SassKernel) -> dict[str, Any]:
    return {
        "kernel": kernel.demangled, "sm": kernel.sm, "registers": kernel.registers,
        "static_shared": kernel.static_shared, "local": kernel.local_bytes,
        "instructions": _rows(kernel),
    }  # fmt: skip


def _text(kernel: SassKernel) -> str:
    rows = _rows(kernel)
    most = max((row["live"] for row in rows), default=0)
    lines = [
        f"{kernel.demangled}  (sm_{kernel.sm}, {kernel.registers} registers, at most {most} alive, "
        f"{kernel.static_shared:,} B shared, {kernel.local_bytes:,} B local)",
        " address stall yield wr rd wait   live  SASS",
    ]
    place: tuple[Any, Any] = (None, None)
    for row, inst in zip(rows, kernel.instructions, strict=True):
        now = (row["file"], row["line"])
        if now != place and row["line"]:
            lines.append(f"{'':40}// {PurePath(row['file'] or '').name}:{row['line']}")
        place = now
        lines.append(f"  0x{row['address']:04x} {_control(inst.control)} {row['live']:6}  "
                     f"{row['sass']}")
    return "\n".join(lines)


def _control(control: Control) -> str:
    write, read = ("-" if n == 7 else str(n) for n in (control.write_barrier, control.read_barrier))
    wait = "".join(str(i) if control.wait_mask >> i & 1 else "-" for i in range(6))
    return f"{control.stall:5} {'-' if control.keep else 'Y':>5} {write:>2} {read:>2} {wait}"
