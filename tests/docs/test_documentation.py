"""Every command and every figure of the documentation is run."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.cli.main import main

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
KERNELS = ROOT / "src" / "warplens" / "studio" / "kernels"
PAGES = sorted(
    [DOCS / "index.md", DOCS / "advice.md", DOCS / "exercises.md", *DOCS.glob("tutorials/*.md"),
     *DOCS.glob("howto/*.md")]
)  # fmt: skip
# What a learner would write into the exercises' kernels: what is replaced, and by what.
SOLUTIONS = {
    "coalesce": [("threadIdx.x * part + i", "i * 32 + threadIdx.x")],
    "conflict": [("tile[32][32]", "tile[32][33]")],
    "occupancy": [
        ("    __shared__ float window[256 * 40];\n", ""),
        ("    for (int k = 0; k < 40; k++) window[k * 256 + threadIdx.x] = in[(blockIdx.x * 256 + "
         "threadIdx.x + k) % 4096];\n", ""),
        ("window[k * 256 + threadIdx.x]", "in[(blockIdx.x * 256 + threadIdx.x + k) % 4096]"),
    ],
    "race": [("        if (t < s) part[t] += part[t + s];",
              "        { if (t < s) part[t] += part[t + s]; __syncthreads(); }")],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the paths of the documentation exist."""
    for name in ("docs", "tests", "examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def identifiers(path: Path) -> str:
    """A page's name in test reports."""
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", one_in(4, PAGES, identifiers, first=1))
def test_examples(page: Path) -> None:
    """The interactive examples give what is printed."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=report.append)

    assert "".join(report) == ""


def commands(page: Path) -> list[tuple[list[str], list[str]]]:
    """The commands after `$` in console blocks, each with the lines shown of its output."""
    found: list[tuple[list[str], list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), flags=re.M | re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            elif found and line.strip():
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize(
    "page", one_in(4, [page for page in PAGES if commands(page)], identifiers, first=1)
)
def test_commands(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands run, and every word shown of their output is there."""
    for words, shown in commands(page):
        if words[0] == "warplens":
            status = main(words[1:])
        else:
            assert words[0] == "python"
            status = runpy.run_path(words[1])["main"](words[2:])
        output = capsys.readouterr().out

        assert status == (0 if words[0] == "warplens" else 1), words
        for line in shown:
            for word in line.split():
                assert word in output, (words, word)
    if page.name == "index.md":
        sees_what_the_quick_start_promises()


def sees_what_the_quick_start_promises() -> None:
    """The report of the naive transpose advises at the line of its stores; the padded one's
    accesses to shared memory are free of conflicts."""
    naive, padded = (wl.load(f"{name}.wlens").launches[0] for name in ("naive", "padded"))
    stores = (KERNELS / "transpose.cu").read_text().splitlines()
    found = [rule for section in naive.sections for rule in section.rules if rule.tag == "OPT"]
    first = min(found, key=lambda rule: rule.rank)
    page = Path("naive.html").read_text()

    assert first.identifier == "UncoalescedGlobalAccess"
    assert first.line is not None and "out[x * n + y + i] =" in stores[first.line - 1]
    assert f"transpose.cu:{first.line}" in page and "out[x * n + y + i]" in page
    assert "Uncoalesced global accesses" in page
    wavefronts = padded.metrics["memory_l1_wavefronts_shared"].number
    assert wavefronts == padded.metrics["memory_l1_wavefronts_shared_ideal"].number
    assert not [rule for section in padded.sections for rule in section.rules
                if rule.identifier.startswith("Uncoalesced")]  # fmt: skip
    assert Path("padded.html").exists()


def test_python_blocks(pytestconfig: pytest.Config) -> None:
    """The example of a test is a test that passes."""
    text = (DOCS / "howto" / "ci.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    names: dict[str, object] = {}
    exec(compile(block, "ci.md", "exec"), names)
    from warplens.testing.plugin import WarplensFixture

    test = names["test_transpose_stays_coalesced"]
    assert callable(test)
    test(WarplensFixture(pytestconfig))


@pytest.mark.parametrize("name", one_in(4, list(SOLUTIONS), str))
def test_exercises(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An exercise as given is not solved; with its solution it is."""
    check = runpy.run_path(str(DOCS / "exercises" / "check.py"))["main"]
    text = (DOCS / "exercises" / f"{name}.cu").read_text()
    for old, new in SOLUTIONS[name]:
        assert old in text
        text = text.replace(old, new)
    solved = tmp_path / f"{name}.cu"
    solved.write_text(text)

    assert check([name]) == 1
    assert "not yet" in capsys.readouterr().out
    assert check([name, str(solved)]) == 0
    assert check([]) == 2


def test_site(tmp_path: Path) -> None:
    """The site builds with no warning: every link and every page of the navigation exists."""
    mkdocs = shutil.which("mkdocs", path=str(Path(sys.executable).parent))
    assert mkdocs is not None, "install the docs extra"
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    site = tmp_path / "site"
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(site), strict=True))

    assert (site / "index.html").exists()
    metrics = (site / "reference" / "metrics" / "index.html").read_text()
    assert "smsp__inst_executed" in metrics and "LaunchStats" in metrics
    assert "FFMA" in (site / "reference" / "opcodes" / "index.html").read_text()
    assert "RTX 4060" in (site / "reference" / "gpus" / "index.html").read_text()


def test_reference_has_every_name() -> None:
    """Every page of `warplens explain` has its place in the reference."""
    from warplens.reference import pages

    made = runpy.run_path(str(DOCS / "generate.py"))["PAGES"]
    places = {"rule": "rules", "check": "checks", "metric": "metrics", "section": "metrics",
              "opcode": "opcodes"}  # fmt: skip
    texts = {path: make() for path, make in made.items()}
    missing = [page.name for page in pages()
               if page.name not in texts[f"reference/{places[page.kind]}.md"]]  # fmt: skip

    assert missing == []


def test_a_broken_anchor_fails_the_build(tmp_path: Path) -> None:
    """A link to a heading that is not there is an error, as is a link to no page."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    for target in ("index.md#no-such-heading", "nowhere.md", "/absolute.md"):
        folder = tmp_path / target.strip("/").partition(".")[0]
        source = folder / "docs"
        source.mkdir(parents=True)
        (source / "index.md").write_text(f"# Start\n\n[broken]({target})\n")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder / "site"), strict=True,
                             docs_dir=str(source), nav=["index.md"], hooks=[])  # fmt: skip
        with pytest.raises(Abort):
            build(config)


def test_no_message_points_to_a_file_of_the_checkout() -> None:
    """What warplens prints names no page under docs/: the wheel does not have it."""
    package = Path(wl.__file__).parent
    texts = [path for path in sorted(package.rglob("*"))
             if path.suffix in (".py", ".j2", ".js", ".toml")]  # fmt: skip
    lines = [(path, line.strip()) for path in texts for line in path.read_text().splitlines()]
    named = [f"{path.relative_to(package)}: {line}" for path, line in lines
             if re.search(r"\bdocs/\w", line)]  # fmt: skip

    assert named == ['result/file.py: _OLD_LINK = "docs/advice.md#"']


def test_faults_have_tests() -> None:
    """Every test that the list of users' faults names is there."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "usability.md").read_text())
    missing = [(file, name) for file, name in named
               if not re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.M)]  # fmt: skip

    assert len(named) > 40 and missing == []
