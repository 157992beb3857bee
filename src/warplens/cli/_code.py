"""Which code a verb shows: options and look-up shared by `sass` and `ptx`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.errors import InputError

if TYPE_CHECKING:
    from warplens.sass.model import SassKernel
    from warplens.session.module import Module


def add_code_options(parser: Any) -> None:
    """Adds the file, the kernel, the GPU and the compiler's options."""
    option = parser.add_argument
    option("file", metavar="FILE", help="a .cu file or a cubin")
    option("-k", "--kernel-name", metavar="NAME", help="kernel or template instance (default: all)")
    option("--gpu", default="H200", metavar="NAME", help="GPU or architecture (default: H200)")
    option("-I", "--include", action="append", default=[], metavar="DIR", help="header directory")
    option("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]",
           help="define a macro")  # fmt: skip
    option("--option", action="append", default=[], metavar="OPT",
           help="NVRTC option, such as --option=-maxrregcount=32")  # fmt: skip


def _module(arguments: argparse.Namespace) -> Module:
    from warplens.session.device import Device

    device, target = Device(arguments.gpu), Path(arguments.file)
    if target.suffix == ".cubin":
        return device.load(target)
    options = [*arguments.option, *(f"-D{define}" for define in arguments.define)]
    return device.compile(target, options=options, include_dirs=arguments.include)


def sass_of(arguments: argparse.Namespace) -> list[SassKernel]:
    """The kernels asked for.

    Raises:
        InputError: the file has none; UnknownKernel: none of that name.
    """
    module = _module(arguments)
    if arguments.kernel_name is not None:
        return [module.sass(arguments.kernel_name)]
    if not module.names:
        raise InputError(f"{arguments.file} has no kernels", hint="Templates need -k 'name<...>'.")
    return [module.sass(names.mangled) for names in module.names]


def compiled_ptx(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """The PTX of a source file, and the mangled name of the kernel asked for.

    Raises:
        InputError: the file is a cubin, which has no PTX.
    """
    if Path(arguments.file).suffix == ".cubin":
        raise InputError(f"{arguments.file} is a cubin; PTX comes from a source file")
    module = _module(arguments)
    mangled = None if arguments.kernel_name is None else module.sass(arguments.kernel_name).name
    image = module.images[-1]
    return image.ptx or "", mangled
