"""`%%cuda`: a cell of CUDA C++ that is compiled, run and shown."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from warplens.errors import InputError, WarplensError
from warplens.notebook.widget import HEIGHT, report_widget
from warplens.session.device import Device
from warplens.session.kernel_arguments import check_count, elsewhere, resolved
from warplens.session.launch import Launch
from warplens.session.module import Module
from warplens.session.options import LaunchOptions
from warplens.session.written_arguments import parse

EXAMPLE = "%%cuda --grid 16 --block 256 --arg 'f32[4096]=rand' --arg data --gpu H200"
_SECTIONS = ("PmSampling", "PmSampling_WarpStates")


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are errors, not the end of the notebook's process."""

    def error(self, message: str) -> Any:
        raise InputError(f"%%cuda: {message}", hint=f"For example {EXAMPLE}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%cuda", add_help=False)
    option = parser.add_argument
    option("-k", "--kernel-name", default="")
    option("--gpu", default="H200")
    option("--grid", type=_triple)
    option("--block", type=_triple)
    option("--shared", type=int, default=0)
    option("--arg", action="append", default=[])
    option("--option", action="append", default=[])
    option("--name", default="launch", help="variable for the launch; the module is NAME_module")
    option("--sanitize", action="store_true")
    option("--height", type=int, default=HEIGHT)
    return parser


def _triple(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


class Cuda:
    """The magic, with the notebook whose variables it reads and sets."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def cell(self, line: str, cell: str) -> Any:
        """Compiles the cell; with a grid and a block runs it and shows the report.

        Arguments are written as for the command line, or are names of the notebook's variables,
        whose arrays the kernel changes in place.
        """
        try:
            return self._shown(_parser().parse_args(shlex.split(line)), cell)
        except WarplensError as error:
            notes = getattr(error, "__notes__", ())
            print(error, *notes, sep="\n  ", file=sys.stderr)
            return None

    def _shown(self, options: argparse.Namespace, cell: str) -> Any:
        device = Device(options.gpu, options=LaunchOptions(show_progress=False))
        module = device.compile(cell + "\n", options=options.option)
        self._shell.user_ns[f"{options.name}_module"] = module
        if options.grid is None and options.block is None:
            return module
        if options.grid is None or options.block is None:
            raise InputError("%%cuda: --grid and --block come together", hint=EXAMPLE)
        return self._launched(options, module)

    def _launched(self, options: argparse.Namespace, module: Module) -> Any:
        if not options.kernel_name and not module.names:
            hint = "Templates need -k 'name<...>'."
            raise InputError("%%cuda: the cell has no kernel", hint=hint)
        kernel = module[options.kernel_name or module.names[0].mangled]
        check_count(kernel, len(options.arg))
        values = [self._value(text, index) for index, text in enumerate(options.arg)]
        configured = (options.grid, options.block, 0, options.shared)
        placed = resolved(values, module.device)
        if options.sanitize:
            return kernel.sanitize[configured](*placed, tools="all")
        launch: Launch = kernel[configured](*placed)
        self._shell.user_ns[options.name] = launch
        sys.stdout.write(launch.output)
        result = launch.result(section_set="full", sections=_SECTIONS, warp=(0, 0))
        return report_widget(result, height=options.height)

    def _value(self, text: str, index: int) -> Any:
        if text.isidentifier():
            if text not in self._shell.user_ns:
                raise InputError(f"--arg {text}: the notebook has no variable of that name")
            return self._shell.user_ns[text]
        return elsewhere(text) or parse(text, seed=index)
