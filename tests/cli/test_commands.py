"""The command line: verbs, exit statuses, messages, files."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.cli.main import main, script_split

KERNELS = """
template <int K> __global__ void scale(const float* a, float* b, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = f * a[i] + K;
}
__global__ void other(int* o) { o[threadIdx.x] = threadIdx.x; }
__global__ void speak(int* o) { printf("%d\\n", threadIdx.x); }
"""
SCRIPT = """
import sys
import numpy as np
import warplens as wl
print("arguments", sys.argv[1:])
module = wl.Device("H200").compile("k.cu")
for n in (1, 2, 3):
    module["scale<3>"][n, 32](np.zeros(32, np.float32), np.zeros(32, np.float32), 1, 8)
module["other"][1, 1](np.zeros(1, np.int32))
if "fail" in sys.argv:
    module["other"][1, 1](1.5)
if "crash" in sys.argv:
    1 / 0
if "exit" in sys.argv:
    sys.exit(3)
"""
CALL = (
    "profile k.cu -k scale<3> --grid 32 --block 128 --arg f32[4096]=arange --arg f32[4096]=0 "
    "--arg f32=2 --arg i32=4096"
).split()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in a folder with a source and a script."""
    (tmp_path / "k.cu").write_text(KERNELS)
    (tmp_path / "s.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Ran:
    """What a call printed and returned."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str) -> None:
        try:
            self.status = main(words)
        except SystemExit as error:
            self.status = int(error.code or 0)
        self.out, self.err = capsys.readouterr()


def test_details(capsys: pytest.CaptureFixture[str]) -> None:
    """The basic set is printed, with the file as the process."""
    ran = Ran(capsys, *CALL)

    assert ran.status == 0
    assert "k.cu@127.0.0.1" in ran.out.splitlines()[0]
    assert "Section: Launch Statistics" in ran.out
    assert ran.err == ""


def test_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    """--csv and --json print nothing but the document."""
    table = list(csv.DictReader(io.StringIO(Ran(capsys, *CALL, "--csv").out)))
    document = json.loads(Ran(capsys, *CALL, "--json").out)

    grid = next(row for row in table if row["Metric Name"] == "Grid Size")
    assert grid["Metric Value"] == "32"
    assert document["launches"][0]["block"] == [128, 1, 1]


def test_only_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    """--metrics alone prints only these; a base name stands for its values."""
    ran = Ran(capsys, *CALL, "--metrics",
              "smsp__inst_executed,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")  # fmt: skip
    names = [line.split()[0] for line in ran.out.splitlines() if "__" in line]

    assert names == [
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        *(f"smsp__inst_executed.{r}" for r in ("avg", "max", "min", "sum")),
    ]
    assert " 512" in ran.out


def test_sections(capsys: pytest.CaptureFixture[str]) -> None:
    """--section picks sections by name or expression."""
    ran = Ran(capsys, *CALL, "--section", "Occupancy", "--section", "regex:^Source")
    found = [line for line in ran.out.splitlines() if "Section:" in line]

    assert found == ["    Section: Occupancy", "    Section: Source Counters"]


def test_file_is_written_and_shown(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """-o writes NAME.wlens and prints only its path; show prints the same page again."""
    page = Ran(capsys, *CALL).out
    first = Ran(capsys, *CALL, "-o", "r")
    again = Ran(capsys, *CALL, "-o", "r")
    forced = Ran(capsys, *CALL, "-o", "r", "-f", "--page", "details")
    shown = Ran(capsys, "show", "r")

    assert (first.status, first.out) == (0, "r.wlens\n")
    assert (again.status, again.out) == (2, "")
    assert "exists" in again.err
    assert forced.status == 0 and "Launch Statistics" in forced.out
    assert (folder / "r.wlens").exists()
    assert shown.out.splitlines()[1:] == page.splitlines()[1:]


def test_show_forms(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """show gives every page in every form, and can write to a file."""
    Ran(capsys, *CALL, "--set", "full", "-o", "r")
    raw = Ran(capsys, "show", "r", "--page", "raw", "--csv").out
    source = Ran(capsys, "show", "r.wlens", "--format", "csv", "--page", "source").out
    details = Ran(capsys, "show", "r", "--format", "csv").out
    picked = Ran(capsys, "show", "r", "--metrics", "smsp__inst_executed.sum").out
    one = Ran(capsys, "show", "r", "--section", "Occupancy", "-o", "page.txt")

    assert "smsp__inst_executed.sum" in raw.splitlines()[0]
    assert source.startswith('"Kernel Name","void scale<3>')
    assert details.startswith('"ID"')
    assert "Command line profiler metrics" in picked
    assert one.out == "page.txt\n"
    assert (folder / "page.txt").read_text().count("Section:") == 1
    assert Ran(capsys, "show", "r", "--section", "Nope").status == 2
    assert Ran(capsys, "show", "r", "--metrics", "nope").status == 2


def test_import(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """-i prints a file as ncu does, takes the same filters, and with -o writes what they leave."""
    Ran(capsys, *CALL, "--set", "full", "-o", "r")
    shown = Ran(capsys, "show", "r", "--csv").out
    copied = Ran(capsys, "profile", "-i", "r.wlens", "--section", "Occupancy", "-o", "s")

    assert Ran(capsys, "profile", "--import", "r", "--csv").out == shown
    assert copied.out == "s.wlens\n"
    assert [s.identifier for s in wl.load(folder / "s").launches[0].sections] == ["Occupancy"]
    assert Ran(capsys, "profile", "-i", "r", "-k", "other").status == 0
    assert Ran(capsys, "profile", "-i", "r", "k.cu").status == 2
    assert Ran(capsys, "profile", "--grid", "1").status == 2


def test_over_time(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """--set pmsampling with its options; values of all samples on demand; JSON has them."""
    call = (*CALL, "--set", "pmsampling", "--pm-sampling-interval", "500")
    shown = Ran(capsys, *call, "--print-details", "all", "--print-metric-instances", "values").out
    details = Ran(capsys, *call, "--print-details", "all", "--print-metric-instances", "details")
    document = json.loads(Ran(capsys, *call, "--json").out)
    sections = {s["identifier"]: s for s in document["launches"][0]["sections"]}
    blocks = next(
        m for m in sections["PmSampling"]["metrics"]
        if m["name"] == "pmsampling:sm__ctas_launched.sum"
    )  # fmt: skip
    row = next(line for line in shown.splitlines() if "Blocks Launched" in line)

    assert list(sections) == ["PmSampling", "PmSampling_WarpStates"]
    assert [pair[0] for pair in blocks["instances"]][:2] == ["500", "1000"]
    assert row.count(";") == len(blocks["instances"]) - 1
    assert "(500: " in details.out
    assert Ran(capsys, *call, "--pm-sampling-max-passes", "-1").status == 2


def test_schedule(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """--schedule says which cycles of an SM the file keeps."""
    kept = Ran(capsys, *CALL, "--schedule", "100,64", "-o", "r")
    window = wl.load(folder / "r").launches[0].schedule

    assert kept.status == 0 and window is not None
    assert (window.first, window.cycles) == (100, 64)
    assert all(100 <= begin < end <= 164 for _, begin, end, _, _ in window.spans)
    assert Ran(capsys, *CALL, "--schedule", "100").status == 2
    assert Ran(capsys, *CALL, "--schedule", "0,5000", "-o", "s").status == 2


def test_several_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    """Several --gpu give one column each."""
    ran = Ran(capsys, *CALL, "--gpu", "T4", "--gpu", "H200", "--section", "Occupancy")
    row = next(line for line in ran.out.splitlines() if "Block Limit SM" in line)

    assert row.split()[-2:] == ["16", "32"]
    assert "T4" in ran.out and "H200" in ran.out


def test_predictions_of_several_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    """One table tells time, limiter and error band of every card; --set-gpu changes them."""
    gpus = ("RTX 4060", "H200", "A100")
    call = (*CALL, "--predict", "--section", "LaunchStats")
    ran = Ran(capsys, *call, *(word for gpu in gpus for word in ("--gpu", gpu)))
    begin = ran.out.index("Predicted time")
    table = ran.out[begin : ran.out.index("Section:", begin)]
    slow = Ran(capsys, *call, "--gpu", "H200", "--gpu", "T4",
               "--set-gpu", "launch.overhead_ns=9000000")  # fmt: skip
    bad = Ran(capsys, *call, "--set-gpu", "l2.size=1")

    for gpu in ("RTX 4060", "H200 SXM", "A100 80GB SXM"):
        row = next(line for line in table.splitlines() if gpu in line)
        low, _, high = row.split(gpu)[1].split()[2:5]
        assert float(low) < float(row.split(gpu)[1].split()[1]) < float(high)
        assert "launch overhead" in row
    assert "9,00" in slow.out
    assert bad.status == 2 and "l2.size_bytes" in bad.err


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    """compare shows what changed; --fail decides the status."""
    Ran(capsys, *CALL, "-o", "a")
    Ran(capsys, *CALL, "--grid", "16", "-o", "b")
    same = Ran(capsys, "compare", "a", "a")
    changed = Ran(capsys, "compare", "a", "b")
    failed = Ran(capsys, "compare", "b", "a", "--fail", "launch__thread_count:10%")
    document = json.loads(Ran(capsys, "compare", "a", "b", "--json").out)

    assert "no difference" in same.out
    assert "launch__grid_size" in changed.out and "-50.00 %" in changed.out
    assert changed.status == 0
    assert failed.status == 1 and "FAILED" in failed.out
    assert document["comparison"]["launches"][0]["changes"]
    assert Ran(capsys, "compare", "a", "nope").status == 2


def test_save_argument(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """--save-arg writes a buffer after the run."""
    ran = Ran(capsys, *CALL, "--save-arg", "1=out.npy")

    assert ran.status == 0
    assert (np.load(folder / "out.npy") == 2 * np.arange(4096) + 3).all()
    assert Ran(capsys, *CALL, "--save-arg", "1=out.npy").status == 2
    assert Ran(capsys, *CALL, "--save-arg", "2=x.npy").status == 2
    assert Ran(capsys, *CALL, "--save-arg", "9=x.npy").status == 2


def test_kernel_output(capsys: pytest.CaptureFixture[str]) -> None:
    """What the kernel prints stays out of CSV."""
    call = "profile k.cu -k regex:spe --grid 1 --block 2 --arg i32[2]=0".split()
    text, table = Ran(capsys, *call), Ran(capsys, *call, "--csv")

    assert text.out.startswith("0\n1\n[")
    assert table.out.startswith('"ID"') and table.err == "0\n1\n"


def test_script(capsys: pytest.CaptureFixture[str]) -> None:
    """Every launch of a script is reported; words after the script are its own."""
    ran = Ran(capsys, "profile", "--metrics", "launch__grid_size", "s.py", "--page", "x")
    grids = [line.split()[-1] for line in ran.out.splitlines() if "launch__grid_size" in line]

    assert "arguments ['--page', 'x']" in ran.out
    assert grids == ["1", "2", "3", "1"]
    assert ran.status == 0


def test_script_filters(capsys: pytest.CaptureFixture[str]) -> None:
    """-k, -s and -c choose among a script's launches."""

    def grids(*words: str) -> list[str]:
        ran = Ran(capsys, "profile", "--csv", "--metrics", "launch__grid_size", *words, "s.py")
        return [row["Metric Value"] for row in csv.DictReader(io.StringIO(ran.out))]

    assert grids("-k", "scale") == ["1", "2", "3"]
    assert grids("-k", "regex:^sc", "-s", "1", "-c", "1") == ["2"]
    assert grids("-k", "regex:int", "--kernel-name-base", "demangled") == ["1", "2", "3", "1"]
    assert grids("-s", "3") == ["1"]


def test_nothing_matched(capsys: pytest.CaptureFixture[str]) -> None:
    """A filter that matches nothing warns, lists the kernels and exits 0, as ncu does."""
    ran = Ran(capsys, "profile", "-k", "nope", "s.py")

    assert ran.status == 0
    assert "==WARNING== No kernels were profiled." in ran.err
    assert "1. scale\n2. other" in ran.err


@pytest.mark.parametrize(("word", "text"), one_in(
    3, [("fail", "parameter 0"), ("crash", "ZeroDivisionError"), ("exit", "error code (3)")],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_script_that_fails(capsys: pytest.CaptureFixture[str], word: str, text: str) -> None:
    """A failing script gives status 2, its message, and what was collected until then."""
    ran = Ran(capsys, "profile", "--metrics", "launch__grid_size", "s.py", word)

    assert ran.status == 2
    assert text in ran.err
    assert ran.out.count("launch__grid_size") == 4


BROKEN = {
    "no verb": "",
    "unknown verb": "fly",
    "missing file": "profile nowhere.cu",
    "missing script": "profile nowhere.py",
    "missing grid": "profile k.cu -k other --block 1",
    "bad grid": "profile k.cu -k other --grid a --block 1",
    "long grid": "profile k.cu -k other --grid 1,1,1,1 --block 1",
    "bad type": "profile k.cu -k other --grid 1 --block 1 --arg i3=1",
    "bad value": "profile k.cu -k other --grid 1 --block 1 --arg i32=x",
    "bad size": "profile k.cu -k other --grid 1 --block 1 --arg i32[x]=0",
    "no size": "profile k.cu -k other --grid 1 --block 1 --arg i32[]=0",
    "too big": "profile k.cu -k other --grid 1 --block 1 --arg u8=256",
    "no such npy": "profile k.cu -k other --grid 1 --block 1 --arg i32[2]=no.npy",
    "too few": "profile k.cu -k other --grid 1 --block 1",
    "too many threads": "profile k.cu -k other --grid 1 --block 1025 --arg i32[1]=0",
    "out of bounds": "profile k.cu -k other --grid 1 --block 64 --arg i32[1]=0",
    "wrong type": "profile k.cu -k other --grid 1 --block 1 --arg f32[1]=0",
    "two kernels": "profile k.cu -k regex:xyz --grid 1 --block 1",
    "unknown kernel": "profile k.cu -k nope --grid 1 --block 1",
    "unknown gpu": "profile k.cu -k other --grid 1 --block 1 --gpu RTX9999",
    "unknown metric": "profile k.cu -k other --grid 1 --block 1 --metrics nope",
    "unknown section": "profile k.cu -k other --grid 1 --block 1 --section nope",
    "unknown set": "profile k.cu -k other --grid 1 --block 1 --set nope",
    "bad regex": "profile -k regex:( s.py",
    "bad clock": "profile k.cu -k other --grid 1 --block 1 --clock fast --arg i32[1]=0",
    "two GPUs for a script": "profile --gpu H200 --gpu A100 s.py",
    "two forms": "profile k.cu -k other --grid 1 --block 1 --csv --json",
    "no result": "show nowhere",
    "no result file": "show s.py",
    "bad pattern": "list metrics (",
    "kernel without source": "list opcodes -k x",
    "source for gpus": "list gpus --gpu H200",
    "bad limit": "compare a b --fail x",
}


@pytest.mark.parametrize("name", one_in(3, list(BROKEN), str))
def test_broken_calls(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """A user's mistake gives status 2 and a clean message, never a traceback."""
    ran = Ran(capsys, *BROKEN[name].split())

    assert ran.status == 2
    assert "error" in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """list knows GPUs, sections, metrics, rules and opcodes, as text and JSON."""
    gpus = Ran(capsys, "list", "gpus").out
    metrics = json.loads(Ran(capsys, "list", "metrics", "op_branch$", "--json").out)

    assert "H200" in gpus and "RTX 4060" in gpus
    assert "LaunchStats" in Ran(capsys, "list", "sections").out
    assert "smsp__inst_executed_op_branch" in {row["Name"] for row in metrics}
    assert "L1Thrash" in Ran(capsys, "list", "rules", "thrash").out
    assert "FFMA" in Ran(capsys, "list", "opcodes").out


def test_opcodes(capsys: pytest.CaptureFixture[str]) -> None:
    """list opcodes says per architecture what is executed, and of a source what is not."""
    rows = json.loads(Ran(capsys, "list", "opcodes", "--json").out)
    by_name = {row["Opcode"]: row for row in rows}
    assert by_name["UMEMSETS"] | {"sm_90": "", "sm_100": "yes"} == by_name["UMEMSETS"]
    assert by_name["LDGMC"] | {"sm_89": "", "sm_90": "refused"} == by_name["LDGMC"]
    assert by_name["UTMALDG"] | {"sm_89": "", "sm_90": "yes"} == by_name["UTMALDG"]
    assert by_name["FFMA"]["sm_75"] == by_name["FFMA"]["sm_120"] == "yes"
    assert "formatted reads of surfaces" in by_name["SULD"]["Refused forms"]
    assert all(row["Meaning"] for row in rows)

    fine = Ran(capsys, "list", "opcodes", "k.cu")
    assert fine.status == 0 and "none" in fine.out
    Path("bad.cu").write_text(
        "template <class T> __global__ void f(T* o, cudaTextureObject_t t) {\n"
        "  float a, b, c, d;\n"
        '  asm("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %5}], {%6, %6};"\n'
        '      : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(t), "r"(threadIdx.x), "r"(1));\n'
        "  o[0] = a;\n}\n"
        "template __global__ void f<float>(float*, cudaTextureObject_t);\n"
    )
    ran = Ran(capsys, "list", "opcodes", "bad.cu", "--csv")
    found = list(csv.DictReader(ran.out.splitlines()))
    assert ran.status == 1
    assert [row["Architecture"] for row in found] == ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
                                                      "sm_100", "sm_120"]  # fmt: skip
    for row in found:
        assert row["SASS"].startswith("TLD") and int(row["Offset"], 16) % 16 == 0
        assert row["Kernel"].startswith("void f<float>") and row["Line"]
        assert row["Reason"] == "unknown modifier .AOFFI of TLD"


def test_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cache info tells what is kept, cache clear removes it."""
    monkeypatch.setenv("WARPLENS_CACHE_DIR", str(tmp_path / "cache"))
    Ran(capsys, *CALL)
    before, cleared = Ran(capsys, "cache", "info").out, Ran(capsys, "cache", "clear").out

    assert str(tmp_path / "cache") in before
    assert "removed 0 entries" not in cleared
    assert "entries    0" in Ran(capsys, "cache", "info").out


def test_script_split() -> None:
    """Only the words after the script are the script's."""
    assert script_split(["profile", "--csv", "a.py", "-k", "x"]) == (
        ["profile", "--csv", "a.py"],
        ["-k", "x"],
    )
    assert script_split(["show", "a.py", "-k"]) == (["show", "a.py", "-k"], [])


def test_help_is_quick() -> None:
    """--help loads neither NumPy nor LLVM nor rich."""
    code = (
        "import sys; from warplens.cli.main import build_parser; build_parser().format_help(); "
        "print([m for m in ('numpy', 'llvmlite', 'numba', 'rich') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert ran.stdout == "[]\n"
