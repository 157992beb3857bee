"""Arrows go one way: no file imports itself by any way, and no package reads one above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import warplens

ROOT = Path(warplens.__file__).parent

# From the ground up: a package reads those of the lines below it and those before it on its own.
LAYERS = (
    ("errors", "naming", "version", "wording"),
    ("toolchain", "sass", "gpus", "result", "compiled", "workers"),
    ("isa", "lift", "execute"),
    ("occupancy_calculator", "models"),
    ("metrics", "timing", "analysis", "sanitize", "stepping"),
    ("report", "reference"),
    ("session",),
    ("driver",),
    ("libcuda",),
    ("programs",),
    ("frontends",),
    ("cuda",),
    ("tune", "calibrate"),
    ("studio", "notebook"),
    ("validation", "testing"),
    ("api", "cli"),
)
ORDER = {name: place for place, name in enumerate(name for layer in LAYERS for name in layer)}
# The rooms of lift/, likewise; modules of its root come in between.
LIFT = (
    "layout", "vector_ir", "engines", "decode", "counting", "runtime", "regions", "control",
    "memory",
)  # fmt: skip
MOST_ROOT_MODULES = 6
OUTSIDE = {"isa": ("numpy", "llvmlite", "numba"), "report": ("llvmlite", "numba")}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Imported modules with their line, inside functions and for types included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else node.module), node.lineno


def package_of(module: str) -> str:
    """The package or root module that a module belongs to; empty for `warplens` itself."""
    return module.partition(".")[2].partition(".")[0]


def circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """The groups of files that can reach each other."""
    reach = {}
    for start in arrows:
        seen: set[str] = set()
        todo = list(arrows[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(arrows[name])
        reach[start] = seen
    groups = {
        frozenset(other for other in reach[name] if name in reach[other])
        for name in arrows
        if name in reach[name]
    }
    return [set(group) for group in groups]


def test_circles_are_found() -> None:
    """The search for circles finds one, and only the files that are on it."""
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}, "e": {"a"}}

    assert sorted(map(sorted, circles(arrows))) == [["b", "c"], ["d"]]


def test_no_circle_of_files() -> None:
    """No file imports itself by way of others, imports for types included."""
    arrows = {
        module: {name for name, _ in imports(path) if name in MODULES and name != module}
        for module, path in MODULES.items()
    }

    assert circles(arrows) == []


@pytest.mark.parametrize("package", ORDER)
def test_arrows_go_one_way(package: str) -> None:
    """A package imports only the packages before it, and never the public names."""
    wrong = []
    for module, path in MODULES.items():
        if package_of(module) != package:
            continue
        for name, line in imports(path):
            if name != "warplens" and not name.startswith("warplens."):
                continue
            read = package_of(name)
            if read != package and ORDER.get(read, len(ORDER)) > ORDER[package]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", LIFT)
def test_rooms_of_lift_stand_in_order(room: str) -> None:
    """A room of lift/ imports only the rooms before it, and memory/ nothing of control/."""
    prefix = "warplens.lift."
    allowed = set(LIFT[: LIFT.index(room) + 1]) - ({"control"} if room == "memory" else set())
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in MODULES.items()
        if f"{module}.".startswith(f"{prefix}{room}.")
        for name, line in imports(path)
        if name.startswith(prefix) and name.removeprefix(prefix).partition(".")[0] not in allowed
    ]

    assert not wrong, "\n".join(wrong)


def test_every_package_has_its_place() -> None:
    """Every package stands in a layer and says what lives there; the root holds little else."""
    root = {path.stem for path in ROOT.glob("*.py")}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}

    assert packages | root - {"__init__"} == set(ORDER)
    assert len(root) <= MOST_ROOT_MODULES
    for path in ROOT.rglob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


@pytest.mark.parametrize("package", OUTSIDE)
def test_engines_stay_out(package: str) -> None:
    """Semantics know no engine; reports know no compiler."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in MODULES.items()
        if package_of(module) == package
        for name, line in imports(path)
        if name.split(".")[0] in OUTSIDE[package]
    ]

    assert not wrong, "\n".join(wrong)


def test_command_line_starts_lightly() -> None:
    """The entry point and the verbs import nothing slow at the top."""
    slow = {"numpy", "llvmlite", "numba", "rich", "jinja2", "matplotlib"}
    for path in sorted((ROOT / "cli").rglob("*.py")):
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


def test_programs_start_lightly() -> None:
    """What runs kernels is imported with a program's first module, not before it starts."""
    asked = "import sys, warplens.programs.process; print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
