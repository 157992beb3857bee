"""What a compile tells: errors at their lines, SASS and PTX with source lines, resources."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warplens.errors import CompileError, InputError, WarplensError
from warplens.lift.decode.live import live_registers
from warplens.sass.model import SassKernel
from warplens.session.device import Device
from warplens.session.kernel_arguments import example
from warplens.session.module import Module
from warplens.session.options import LaunchOptions
from warplens.studio import scripts
from warplens.studio.requests import CodeRequest
from warplens.toolchain.ptx_lines import kernel_lines
from warplens.toolchain.source import SourceUnit

_MESSAGE = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>[a-z ]*error|warning)[^:]*: "
                      r"(?P<text>.*)$", re.MULTILINE)  # fmt: skip
_KEPT = 6
_NOWHERE = Path("/studio")  # of sources that are no files
_modules: OrderedDict[tuple[Any, ...], Module] = OrderedDict()


def module_of(request: CodeRequest, folder: Path | None) -> Module:
    """The module of a source; the last few are kept."""
    key = (request.file, request.source, request.gpu, request.cap, folder)
    if key not in _modules:
        device = Device(request.gpu, options=LaunchOptions(show_progress=False))
        unit = SourceUnit(
            text=request.source,
            name=source_name(request, folder),
            sm=device.gpu.sm,
            options=() if not request.cap else (f"-maxrregcount={request.cap}",),
            include_dirs=() if folder is None else ((folder / request.file).parent,),
        )
        _modules[key] = Module(device, unit=unit)
        while len(_modules) > _KEPT:
            _modules.popitem(last=False)
    _modules.move_to_end(key)
    return _modules[key]


def source_name(request: CodeRequest, folder: Path | None) -> str:
    """The name that messages and line tables have for the source; the compiler's are absolute."""
    return str((folder or _NOWHERE) / request.file)


def compiled(request: CodeRequest, folder: Path | None) -> dict[str, Any]:
    """Everything that the editor shows of a source that is not run."""
    if request.file.endswith(".py"):
        return scripts.read(request)
    try:
        module = module_of(request, folder)
    except CompileError as error:
        found = diagnostics(error.log, source_name(request, folder))
        return {"diagnostics": found, "kernels": [], "kernel": None,
                "message": "" if any(one["line"] for one in found) else error.message}  # fmt: skip
    told = {
        "diagnostics": diagnostics(module.log, source_name(request, folder)),
        "kernels": [names.demangled for names in module.names],
        "kernel": None,
        "message": "",
    }
    try:
        chosen = _chosen(request, module)
    except WarplensError as error:
        return {**told, "message": str(error)}
    if chosen is not None:
        told["kernel"] = _kernel(chosen, module, source_name(request, folder))
    return told


def _chosen(request: CodeRequest, module: Module) -> SassKernel | None:
    if request.kernel:
        return module.sass(request.kernel)
    return module.sass(module.names[0].mangled) if module.names else None


def diagnostics(log: str, name: str) -> list[dict[str, Any]]:
    """The compiler's messages; line 0 for those about other files."""
    return [
        {
            "line": int(one["line"]) if one["file"] == name else 0,
            "severity": "warning" if one["kind"] == "warning" else "error",
            "text": (one["text"] if one["file"] == name
                     else f"{Path(one['file']).name}:{one['line']}: {one['text']}"),
        }
        for one in _MESSAGE.finditer(log)
    ]  # fmt: skip


def _kernel(kernel: SassKernel, module: Module, name: str) -> dict[str, Any]:
    image = next(i for i in reversed(module.images) if kernel.name in i.kernels)
    return {
        "name": kernel.demangled,
        "registers": kernel.registers,
        "static_shared": kernel.static_shared,
        "local": kernel.local_bytes,
        "spills": sum(i.text.lstrip().startswith("STL") for i in kernel.instructions),
        "live": max(live_registers(kernel), default=0),
        "barriers": kernel.n_barriers,
        "sass": sass_rows(kernel, name),
        "ptx": ptx_rows(image.ptx or "", kernel.name, name),
        "gaps": [str(gap) for gap in module.gaps(kernel.name)],
        "parameters": _parameters(module, kernel),
    }


def _parameters(module: Module, kernel: SassKernel) -> list[dict[str, str]]:
    """Each parameter with an argument that fits it; none if the kernel cannot be executed."""
    try:
        formals = module[kernel.name].parameters
    except WarplensError:
        return []
    return [{"type": formal.spelled or f"{formal.size} bytes", "example": _small(example(formal))}
            for formal in formals]  # fmt: skip


def _small(argument: str) -> str:
    return argument.replace("[1<<20]", "[65536]")


def sass_rows(kernel: SassKernel, name: str) -> list[list[Any]]:
    """[address, text, line of the source or 0] for every instruction."""
    return [
        [inst.address, inst.text.strip(), inst.line or 0 if inst.file == name else 0]
        for inst in kernel.instructions
    ]


def ptx_rows(ptx: str, mangled: str, name: str) -> list[list[Any]]:
    """[text, line of the source or 0] for every line of a kernel's PTX."""
    return [[one.text, (one.line or 0) if one.file == name else 0]
            for one in kernel_lines(ptx, mangled)]  # fmt: skip


def placed_arguments(arguments: Sequence[str], folder: Path | None) -> tuple[str, ...]:
    """The arguments with `.npy` files taken from the open folder.

    Raises:
        InputError: such a file is outside of it.
    """
    placed = []
    for text in arguments:
        kind, equals, value = text.partition("=")
        if equals and value.strip().endswith(".npy"):
            path = None if folder is None else (folder / value.strip()).resolve()
            if path is None or folder is None or not path.is_relative_to(folder.resolve()):
                raise InputError(f"{value.strip()!r} is not a file of the open folder")
            text = f"{kind}={path}"
        placed.append(text)
    return tuple(placed)
