"""Arrows go one way: which package of warplens may import which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import warplens

ROOT = Path(warplens.__file__).parent

# Package -> what it may import of warplens, as prefixes of module names. `errors` is open to all.
ALLOWED: dict[str, tuple[str, ...]] = {
    "errors": (),
    "result": ("result",),
    "toolchain": ("toolchain", "sass.model"),
    "sass": ("sass", "toolchain"),
    "isa": ("isa", "sass.model"),
    "lift": ("lift", "isa", "sass", "execute.layout", "execute.constants", "toolchain.cache"),
    "compiled": ("compiled", "toolchain.cache"),
    "execute": ("execute", "compiled", "lift", "sass", "toolchain", "isa"),
    "gpus": ("gpus",),
    "report": ("report", "result", "analysis.compare", "__version__"),
    "metrics": (
        "metrics", "result", "gpus", "sass.model", "execute.execution", "analysis", "isa",
    ),
}  # fmt: skip
OUTSIDE = {"isa": ("numpy", "llvmlite", "numba"), "report": ("llvmlite", "numba")}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Absolute names of imported modules with their line, type-checking imports excepted."""
    tree = ast.parse(path.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if (ROOT.parent / node.module.replace(".", "/")).is_dir():
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


def files(package: str) -> list[Path]:
    """The Python files of a package or module."""
    single = ROOT / f"{package}.py"
    return [single] if single.exists() else sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ALLOWED)
def test_arrows_go_one_way(package: str) -> None:
    """A package imports only the packages before it."""
    wrong = []
    for path in files(package):
        for module, line in imports(path):
            inside = module.removeprefix("warplens.")
            if inside == module or inside == "errors":
                continue
            if not any(inside == a or inside.startswith(f"{a}.") for a in ALLOWED[package]):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", OUTSIDE)
def test_engines_stay_out(package: str) -> None:
    """Semantics know no engine; reports know no compiler."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in files(package)
        for module, line in imports(path)
        if module.split(".")[0] in OUTSIDE[package]
    ]

    assert not wrong, "\n".join(wrong)


def test_command_line_starts_lightly() -> None:
    """The entry point and the verbs import nothing slow at the top."""
    slow = {"numpy", "llvmlite", "numba", "rich", "jinja2", "matplotlib"}
    for path in files("cli"):
        text = path.read_text()
        if "def add_parser" not in text and path.name != "main.py":
            continue
        names: set[str] = set()
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add((node.module or "").split(".")[0])

        assert not names & slow, path
