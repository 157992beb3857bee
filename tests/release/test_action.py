"""The GitHub action and the workflow that uses it: well formed, and their steps run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import warplens as wl

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOW = yaml.safe_load((ROOT / "examples" / "github-workflow.yml").read_text())
STEPS = ACTION["runs"]["steps"]
JOB_STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
SCRIPTS = [(step.get("name", ""), step["run"]) for step in (*STEPS, *JOB_STEPS) if "run" in step]

KERNEL = """
__global__ void copy(const float* in, float* out, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride % 4096];
}
"""
TEST = """
import numpy as np
import pytest

@pytest.mark.parametrize("name", ["in order"])
def test_copy(warplens, name):
    kernel = warplens.device().compile("copy.cu")["copy"]
    kernel[32, 128](np.zeros(4096, np.float32), np.zeros(4096, np.float32), STRIDE)

def test_broken():
    raise AssertionError("must not be chosen")
"""
SCRIPT = """
import sys
import numpy as np
import warplens as wl
assert sys.argv[1:] == ["two words"]
kernel = wl.Device("H200").compile("copy.cu")["copy"]
kernel[33, 128](np.zeros(4096, np.float32), np.zeros(4096, np.float32), 1)
"""


def expressions(data: Any) -> set[str]:
    """Everything between `${{` and `}}`, and the conditions."""
    text = json.dumps(data)
    conditions = [step["if"] for step in (*STEPS, *JOB_STEPS) if "if" in step]
    return {*re.findall(r"\$\{\{ *(.*?) *\}\}", text), *conditions}


def test_action_is_well_formed() -> None:
    """A composite action: every step runs or uses something, scripts name their shell."""
    assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        assert step.get("shell") == ("bash" if "run" in step else None)
        assert re.fullmatch(r"[\w-]+(/[\w-]+)+@v\d+", step.get("uses", "a/b@v1"))
    for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert one["description"].endswith(".")
    assert all(isinstance(one["default"], str) for one in ACTION["inputs"].values())


def test_expressions_name_what_there_is() -> None:
    """Inputs that are read are declared and the other way round; so are steps and outputs."""
    text = " ".join(expressions(ACTION))
    steps = {step["id"]: step for step in STEPS if "id" in step}

    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for name, field in re.findall(r"steps\.([\w-]+)\.(outcome|outputs\.\w+)", text):
        if name != "warplens":  # of the workflow
            assert field == "outcome" or f'echo "{field[8:]}=' in steps[name]["run"]
    for script in (step["run"] for step in STEPS if "run" in step):
        assert "${{" not in script  # values reach a script through its environment only


def test_workflow_uses_the_action() -> None:
    """The workflow gives inputs and reads outputs that the action has."""
    (step,) = (step for step in JOB_STEPS if step.get("uses") == "./.warplens")
    read = re.findall(r"steps\.warplens\.outputs\.(\w+)", " ".join(expressions(WORKFLOW)))

    assert {True, "name", "permissions", "jobs"} == set(WORKFLOW)  # YAML 1.1 reads `on` as true
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert read and set(read) <= set(ACTION["outputs"])
    assert any(one.get("with", {}).get("path") == ".warplens" for one in JOB_STEPS)


@pytest.mark.parametrize(("name", "script"), SCRIPTS, ids=[name for name, _ in SCRIPTS])
def test_scripts_are_bash(name: str, script: str) -> None:
    """Every script is read by bash without complaint."""
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


class Runner:
    """Runs steps of the action as GitHub does, in one folder."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.output = folder / "output.txt"
        self.output.touch()
        given = {name.replace("_", "-"): text for name, text in inputs.items()}
        assert set(given) <= set(ACTION["inputs"])
        self.inputs = {name: one["default"] for name, one in ACTION["inputs"].items()} | given

    def _value(self, text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: self.inputs[m[1]], text)

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """One step by its name, with the options GitHub gives to bash."""
        (step,) = (step for step in STEPS if step.get("name") == name)
        own = {key: self._value(text) for key, text in step["env"].items()}
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, **own, "PATH": path, "GITHUB_OUTPUT": str(self.output)}
        environment.pop("PYTEST_ADDOPTS", None)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / self._value(step["working-directory"]), env=environment, text=True,
            capture_output=True, check=False,
        )  # fmt: skip


def test_steps_run(tmp_path: Path) -> None:
    """Tests are chosen, launches kept and reported; a baseline fails what has grown beyond it."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "copy.cu").write_text(KERNEL)
    (folder / "test_copy.py").write_text(TEST.replace("STRIDE", "1"))
    chosen = {"working_directory": "kernels", "arguments": "-k 'copy and order'", "gpu": "L4"}
    first = Runner(tmp_path, **chosen, baseline="none.wlens")
    done = first.run("Test")
    assert done.returncode == 0 and "1 passed, 1 deselected" in done.stdout, done.stdout
    assert first.run("Report").returncode == 0
    results = folder / "warplens-results"
    assert (results / "report.html").exists() and (results / "junit.xml").exists()
    assert wl.load(results / "result.wlens").launches[0].gpu == "L4"
    assert first.output.read_text().splitlines() == [
        "result=kernels/warplens-results/result.wlens",
        "report=kernels/warplens-results/report.html",
    ]
    assert not (results / "change.html").exists()

    (results / "result.wlens").rename(folder / "old.wlens")
    (folder / "test_copy.py").write_text(TEST.replace("STRIDE", "9"))
    limits = "smsp__inst_executed.sum:5%\nmemory_l2_theoretical_sectors_global:1%\n"
    second = Runner(tmp_path, **chosen, baseline="old.wlens", limits=limits)
    worse = second.run("Test")
    assert worse.returncode == 1 and "memory_l2_theoretical_sectors_global" in worse.stdout
    assert second.run("Report").returncode == 0 and (results / "change.html").exists()


def test_findings_are_written(tmp_path: Path) -> None:
    """The sanitized script gets its arguments; a launch that faults fails it, and so the step; the
    findings are kept as SARIF."""
    (tmp_path / "copy.cu").write_text(KERNEL)
    (tmp_path / "launches.py").write_text(SCRIPT)
    done = Runner(tmp_path, sanitize="launches.py 'two words'").run("Sanitize")
    log = json.loads((tmp_path / "warplens-results" / "findings.sarif").read_text())

    assert done.returncode == 2, done.stderr
    assert {one["ruleId"] for one in log["runs"][0]["results"]} == {"out-of-bounds"}
    assert (tmp_path / "warplens-results" / "findings.html").exists()


def test_nothing_launched_is_no_failure(tmp_path: Path) -> None:
    """Without launches there is nothing to report, and the step says so."""
    done = Runner(tmp_path).run("Report")

    assert done.returncode == 0 and "no test launched a kernel" in done.stdout
