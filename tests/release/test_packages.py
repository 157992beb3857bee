"""The packages that are released: what they hold, and that they work outside the checkout."""

from __future__ import annotations

import os
import re
import site
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import warplens

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "warplens"
OLD_RESULT = ROOT / "tests" / "report" / "version_0_1" / "strided.wlens"
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
TEST = """
import numpy as np

def test_copy(warplens):
    kernel = warplens.device("H200").compile("uncoalesced.cu")["after"]
    a, b = np.ones((256, 256), np.float32), np.zeros((256, 256), np.float32)
    run = kernel[(8, 8), (32, 8)](a, b, 256)
    warplens.assert_metric(run, "memory_l2_theoretical_sectors_global", "==", 2 * 256 * 256 // 8)
"""
PROFILE = (
    "profile uncoalesced.cu -k before --grid 8,8 --block 32,8 --arg f32[65536]=rand "
    "--arg f32[65536]=0 --arg i32=256 --set full -o result"
)


def run(*words: str | Path, cwd: Path) -> str:
    """Runs a command as a user without toolkit or checkout would; returns its output."""
    home = cwd / "home"
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))}
    environment = {**kept, "PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment,
                          capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def interpreters() -> dict[str, Path]:
    """Every Python of this machine that is supported, by its version: from PATH and pyenv."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += sorted(versions.glob("*/bin"))
    found = {"{}.{}".format(*sys.version_info): Path(sys.executable)}
    for version in SUPPORTED:
        for folder in folders:
            python = folder / f"python{version}"
            if version not in found and python.is_file() and _runs(python, version):
                found[version] = python
    return found


def _runs(python: Path, version: str) -> bool:
    """Whether it is that Python; pyenv puts a script in the place of those that are not chosen."""
    told = "import sys, venv; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([python, "-c", told], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def tree() -> set[str]:
    """The files and folders of the checkout that a build could add to."""
    return {path.name for folder in (ROOT, ROOT / "src") for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive, and the wheel that is built from it; nothing is left in the checkout."""
    before, target = tree(), tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check",
               "--outdir", str(target), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree() - {"__pycache__"} == before - {"__pycache__"}
    (archive,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return archive, wheel


def test_version_stands_in_one_place(built: tuple[Path, Path]) -> None:
    """The packages, the command and the changelog's top have the version of the source."""
    version = re.escape(warplens.__version__)
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    archive, wheel = built

    assert heading is not None and heading[1] == warplens.__version__
    assert re.fullmatch(rf"warplens-{version}\.tar\.gz", archive.name)
    platform = "any" if not sys.platform.startswith("linux") else r"manylinux_2_\d+_\w+"
    assert re.fullmatch(rf"warplens-{version}-py3-none-{platform}\.whl", wheel.name)


def test_wheel_holds_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    """Every file of the package is there, data included; no tests, no traces of a build."""
    sources = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(built[1]) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
    information = {name.partition("/")[2] for name in names if ".dist-info/" in name}

    if sys.platform.startswith("linux"):  # the simulated driver's C libraries, compiled
        compiled = ("libcuda.so.1", "api.json", "libwarplens-runtime.so", "runtime.key")
        sources |= {f"warplens/libcuda/prebuilt/{name}" for name in compiled}
    editor = {f"warplens/studio/static/editor.{kind}" for kind in ("js", "licenses.txt")}
    assert {name for name in names - editor if ".dist-info/" not in name} == sources - editor
    assert information == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE",
                           "licenses/THIRD_PARTY_NOTICES.md"}  # fmt: skip
    for example in ("py.typed", "gpus/h200_sxm.toml", "isa/data/opcodes.json",
                    "report/templates/report.html.j2", "reference/kernels/uncoalesced.cu"):
        assert f"warplens/{example}" in names
    assert "License-Expression: Apache-2.0" in text and "Requires-Python: >=3.11" in text


def test_source_archive_holds_what_a_build_needs(built: tuple[Path, Path]) -> None:
    """Sources, documentation, notices; the wheel above was built from it."""
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for needed in ("pyproject.toml", "LICENSE", "THIRD_PARTY_NOTICES.md", "README.md", "action.yml",
                   "CHANGELOG.md", "src/warplens/__init__.py", "docs/index.md", "mkdocs.yml",
                   "bootstrap", "examples/ladder.py"):  # fmt: skip
        assert needed in names
    assert not [name for name in names if "egg-info" in name or name.endswith(".pyc")]


def environment(folder: Path, python: Path, wheel: Path) -> Path:
    """A fresh environment with the wheel but not what it needs; its folder of commands."""
    run(python, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    bin_folder = folder / "env" / "bin"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(bin_folder / "python"), "install", "--quiet",
         "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", str(wheel)],
        check=True,
    )  # fmt: skip
    return bin_folder


def use(commands: Path, folder: Path) -> None:
    """Does with the installed package what a user does, in a folder outside the checkout."""
    warp = commands / "warplens"
    place = run(commands / "python", "-c", "import warplens; print(warplens.__file__)", cwd=folder)
    assert Path(place.strip()).is_relative_to(commands.parent)
    assert run(warp, "--version", cwd=folder) == f"warplens {warplens.__version__}\n"
    assert "explain" in run(warp, "--help", cwd=folder)
    assert "H200" in run(warp, "list", "gpus", cwd=folder)
    assert "```cuda" in run(warp, "explain", "CPIStall", cwd=folder)
    run(warp, "explain", "UncoalescedGlobalAccess", "--examples", ".", cwd=folder)
    assert run(warp, *PROFILE.split(), cwd=folder) == "result.wlens\n"
    page = folder / "result.html"
    run(warp, "show", "result", "--format", "html", "-o", page, cwd=folder)
    assert "warplens explain UncoalescedGlobalAccess" in page.read_text()
    assert "strided" in run(warp, "show", OLD_RESULT, cwd=folder)
    (folder / "test_copy.py").write_text(TEST)
    out = run(commands / "python", "-m", "pytest", "-q", "--warplens-save", "tests", cwd=folder)
    assert "1 passed" in out and (folder / "tests.wlens").exists()


def test_installed_wheel_works(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Command, data, kernels and pytest plugin work from the wheel, in another environment.

    What the wheel needs comes from this environment, to save minutes; see the long test below.
    """
    commands = environment(tmp_path, Path(sys.executable), built[1])
    (packages,) = (commands.parent / "lib").glob("python*/site-packages")
    # The folders themselves, so that the .pth file of an editable warplens there has no effect.
    (packages / "needed.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    use(commands, tmp_path)
    if sys.platform.startswith("linux"):
        uses_library_without_a_compiler(commands / "python", tmp_path)


def uses_library_without_a_compiler(python: Path, folder: Path) -> None:
    """The simulated driver is in place and answers with no compiler and no cache."""
    program = (
        "import warplens.cuda, ctypes; n = ctypes.c_int();"
        "print(ctypes.CDLL('libcuda.so.1').cuDeviceGetCount(ctypes.byref(n)), n.value)"
    )
    alone = {"PATH": str(folder / "nothing"), "WARPLENS_CACHE_DIR": "off"}
    done = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, cwd=folder, check=False, env=alone
    )
    assert done.stdout == "0 1\n", done.stderr


@pytest.mark.long
def test_every_other_python_starts(
    built: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On every other Python there is, the package compiles, and what needs no package runs."""
    for version, python in interpreters().items():
        if python == Path(sys.executable):
            continue
        folder = tmp_path / version
        folder.mkdir()
        commands = environment(folder, python, built[1])
        (package,) = (commands.parent / "lib").glob("python*/site-packages/warplens")
        run(commands / "python", "-W", "error", "-m", "compileall", "-q", package, cwd=folder)
        assert "explain" in run(commands / "warplens", "--help", cwd=folder)
        assert "H200" in run(commands / "warplens", "list", "gpus", cwd=folder)
        with capsys.disabled():
            print(f"\nthe wheel starts on Python {version} ({python})")


@pytest.mark.long
def test_clean_installation(
    built: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On every Python there is, `pip install` into an empty environment gives what is needed."""
    for version, python in interpreters().items():
        folder = tmp_path / version
        folder.mkdir()
        run(python, "-m", "venv", folder / "env", cwd=folder)
        commands = folder / "env" / "bin"
        run(commands / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
            built[1], "pytest", cwd=folder)  # fmt: skip
        use(commands, folder)
        with capsys.disabled():
            print(f"\ninstalled and used on Python {version} ({python})")
