"""Python sources in the studio: which kernels a script has, and what became of them in a run."""

from __future__ import annotations

import ast
from typing import Any

from warplens.result import LaunchResult
from warplens.studio.requests import CodeRequest

_JITS = {"triton": "Triton", "numba": "numba-cuda", "cuda": "numba-cuda"}
_KERNELS = ("jit", "autotune", "heuristics")


def read(request: CodeRequest) -> dict[str, Any]:
    """What can be known of a script that does not run: mistakes, and its kernels with their
    parameters. Its machine code depends on the arguments, which only its launches know."""
    found: list[dict[str, Any]] = []
    told: list[str] = []
    try:
        kernels = kernels_of(ast.parse(request.source, request.file))
        told = [f"{one['kind']} kernel {one['text']}, line {one['line']}" for one in kernels]
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        found.append({"line": line, "severity": "error", "text": getattr(error, "msg", str(error))})
    told = told or ["No kernel is defined here"]
    message = f"{'; '.join(told[:4])}. Compiled when the script runs."
    return {"diagnostics": found, "kernels": [], "kernel": None, "python": not found,
            "message": "" if found else message}  # fmt: skip


def kernels_of(tree: ast.Module) -> list[dict[str, Any]]:
    """Functions under `triton.jit` or `cuda.jit`, with what is fixed when they are compiled."""
    found = []
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef):
            kind = next((k for k in map(_kind, one.decorator_list) if k), "")
            if kind:
                found.append({"kind": kind, "text": _signature(one), "line": one.lineno})
    return sorted(found, key=lambda kernel: kernel["line"])


def _kind(decorator: ast.expr) -> str:
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    module, _, last = name.rpartition(".")
    return _JITS.get(module.split(".")[0], "") if last in _KERNELS else ""


def _signature(function: ast.FunctionDef) -> str:
    plain: list[str] = []
    fixed: list[str] = []
    for argument in function.args.args + function.args.kwonlyargs:
        note = "" if argument.annotation is None else ast.unparse(argument.annotation)
        (fixed if note.endswith("constexpr") else plain).append(argument.arg)
    more = f"; constants {', '.join(fixed)}" if fixed else ""
    return f"{function.name}({', '.join(plain)}{more})"


def code_of(launch: LaunchResult, script: str) -> dict[str, Any] | None:
    """The machine code of a launch with the script's lines, in the form of a compile's answer."""
    table = launch.source
    if table is None:
        return None

    def lines(files: tuple[str | None, ...], numbers: tuple[int | None, ...]) -> list[int]:
        return [(number or 0) if file == script else 0
                for file, number in zip(files, numbers, strict=True)]  # fmt: skip

    def number(name: str) -> int:
        value = launch.metrics.get(name)
        return int(value.number) if value is not None and isinstance(value.number, int | float) \
            else 0  # fmt: skip

    sass = zip(table.addresses, table.sass, lines(table.files, table.lines), strict=True)
    ptx = zip(table.ptx, lines(table.ptx_files, table.ptx_lines), strict=True)
    return {
        "name": launch.kernel_name, "registers": number("launch__registers_per_thread"),
        "static_shared": number("launch__shared_mem_per_block_static"),
        "dynamic_shared": number("launch__shared_mem_per_block_dynamic"),
        "local": 0, "live": None, "block": launch.block,
        "spills": sum(text.lstrip().startswith("STL") for text in table.sass),
        "sass": [[address, text.strip(), line] for address, text, line in sass],
        "ptx": [list(row) for row in ptx], "gaps": [], "parameters": [],
    }  # fmt: skip
