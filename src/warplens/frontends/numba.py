"""numba-cuda: runs as it is on the simulated driver.

Its machine code takes an array apart into seven parameters and more; messages name the Python
function's argument, which is read from the file that the code's lines are of.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

from warplens.driver.argument_names import NAMERS
from warplens.driver.modules import Function
from warplens.frontends.frontend import Frontend

_NAME = re.compile(r"([^:]+)\[abi:v\d+\]")
_ARRAY = re.compile(r"Array<.*?, (\d+), ")
_DATA = 4  # before it: the owner's two pointers, the numbers of elements and of bytes of each
_SIMPLE = re.compile(r"(?:unsigned )?(?:bool|char|short|int|long|long long|float|double)|u?int\d+")


def _types(text: str) -> list[str]:
    """A parameter list's types."""
    found, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            found.append(text[begin:i].strip())
            begin = i + 1
    return [*found, text[begin:].strip()] if text.strip() else []


@lru_cache(maxsize=64)
def _python_names(file: str, name: str, line: int) -> tuple[str, ...]:
    """The arguments of the function of that name whose body has that line."""
    try:
        tree = ast.parse(Path(file).read_text())
    except (OSError, SyntaxError, ValueError):
        return ()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            last = node.end_lineno or node.lineno
            if node.lineno <= line <= last:
                return tuple(argument.arg for argument in node.args.args)
    return ()


def argument_names(function: Function) -> tuple[str, ...]:
    """The Python name of every machine parameter; empty for kernels that are not numba's."""
    sass = function.sass
    found = _NAME.search(sass.demangled)
    if found is None or not sass.demangled.endswith(")"):
        return ()
    types = _types(sass.demangled[sass.demangled.rindex("](") + 2 : -1])
    places = [(one.callers or ((one.file, one.line),))[-1] for one in sass.instructions if one.line]
    names: tuple[str, ...] = ()
    for file, line in dict.fromkeys(places):
        names = names or _python_names(str(file), found.group(1), line or 0)
    machine: list[str] = []
    for name, kind in zip(names, types, strict=False):
        array = _ARRAY.match(kind)
        if array:
            fields = [""] * (5 + 2 * int(array.group(1)))
            fields[_DATA] = name
            machine += fields
        elif _SIMPLE.fullmatch(kind):
            machine.append(name)
        else:
            return ()
    return tuple(machine) if len(machine) == len(sass.parameters) else ()


def _tell_names() -> None:
    if argument_names not in NAMERS:
        NAMERS.append(argument_names)


FRONTEND = Frontend(
    module="numba.cuda", package="numba-cuda", first="0.30", before="0.31", prepare=_tell_names
)
