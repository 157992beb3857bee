"""The pytest plugin, used by tests in a folder of their own."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import warplens as wl
from warplens.analysis.compare import compare
from warplens.api import LaunchOptions
from warplens.result import Result

pytest_plugins = ["pytester"]

CUDA = """
__global__ void copy(const float* in, float* out, int n, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[(long(i) * stride) % n];
}
"""
TESTS = f'''
import numpy as np
from warplens.api import LaunchOptions
CUDA = """{CUDA}"""
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

def launch(warplens, stride):
    device = warplens.device(options=LaunchOptions(timing=False))
    kernel = device.compile(CUDA)["copy"]
    a, b = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
    return kernel[32, 128](a, b, 4096, stride)

def test_coalesced(warplens):
    run = launch(warplens, STRIDE)
    warplens.assert_metric(run, SECTORS, "<=", 4096 * 4 // 32)

def test_more(warplens):
    run = launch(warplens, 1)
    assert len(warplens.launches) == 1 and run is warplens.launches[0]
'''


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Everything that the inner runs import: pytester forgets modules that are new in one."""
    device = wl.Device("H200", options=LaunchOptions(timing=False))
    data = np.zeros(4096, np.float32)
    run = device.compile(CUDA)["copy"][32, 128](data, np.zeros_like(data), 4096, 1)
    result = Result(launches=(run.result(section_set="full"),))
    assert compare(result, result).launches


def write(pytester: pytest.Pytester, stride: int, *, asserts: bool = True) -> None:
    """The test file with a stride."""
    text = TESTS.replace("STRIDE)", f"{stride})")
    if not asserts:
        text = text.replace("    warplens.assert_metric", "    # ")
    pytester.makepyfile(test_kernel=text)


def test_fixture_and_assertion(pytester: pytest.Pytester) -> None:
    """A met bound passes; a missed one fails and names value, basis and source line."""
    write(pytester, 1)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    write(pytester, 9)
    result = pytester.runpytest_inprocess("--junitxml=out.xml")

    result.assert_outcomes(passed=1, failed=1)
    message = ElementTree.parse(pytester.path / "out.xml").find(".//failure")
    assert message is not None and message.text is not None
    assert "is      4,096 sector (exact)" in message.text
    assert "must be <= 512" in message.text
    assert "most at kernel.cu:4: 4,096" in message.text


def test_save_and_compare(pytester: pytest.Pytester) -> None:
    """Launches are written with their tests; a growth beyond the limit fails that test."""
    write(pytester, 1, asserts=False)
    pytester.runpytest_inprocess("--warplens-save=base").assert_outcomes(passed=2)
    saved = wl.load(pytester.path / "base.wlens")
    limit = "--warplens-compare-fail=l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum:5%"
    same = pytester.runpytest_inprocess("--warplens-compare=base.wlens", limit)
    write(pytester, 9, asserts=False)
    worse = pytester.runpytest_inprocess("--warplens-compare=base.wlens", limit)
    shown = pytester.runpytest_inprocess("--warplens-compare=base.wlens")

    assert [one.properties["test"] for one in saved.launches] == [
        "test_kernel.py::test_coalesced",
        "test_kernel.py::test_more",
    ]
    same.assert_outcomes(passed=2)
    worse.assert_outcomes(passed=1, failed=1)
    worse.stdout.fnmatch_lines(["*l1tex__t_sectors*512 sector -> 4,096 sector*more than 5 %*"])
    shown.assert_outcomes(passed=2)
    shown.stdout.fnmatch_lines(["*memory_l2_theoretical_sectors_global*->*"])


def test_workers_join_their_results(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What workers of xdist write, the controller joins to one file."""
    write(pytester, 1)
    pytester.makeconftest("""
        import os
        def pytest_configure(config):
            if "WORKER" in os.environ:
                config.workerinput = {"workerid": os.environ["WORKER"]}
    """)
    for worker, test in (("gw0", "test_coalesced"), ("gw1", "test_more")):
        monkeypatch.setenv("WORKER", worker)
        pytester.runpytest_inprocess("-k", test, "--warplens-save=all").assert_outcomes(
            passed=1, deselected=1
        )
    assert len(list(pytester.path.glob(".*part*"))) == 2
    monkeypatch.delenv("WORKER")
    pytester.runpytest_inprocess("-k", "none of them", "--warplens-save=all")

    assert len(wl.load(pytester.path / "all.wlens").launches) == 2
    assert not list(pytester.path.glob(".*part*"))


@pytest.mark.long
def test_with_xdist(pytester: pytest.Pytester) -> None:
    """The same with real workers."""
    write(pytester, 1)
    result = pytester.runpytest_subprocess("-n", "2", "--warplens-save=all")

    result.assert_outcomes(passed=2)
    assert len(wl.load(pytester.path / "all.wlens").launches) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--warplens-compare=nothing",), "no such file"),
        (("--warplens-compare-fail=a:5%",), "needs --warplens-compare"),
    ],
)
def test_bad_options(pytester: pytest.Pytester, options: tuple[str, ...], told: str) -> None:
    """A missing baseline or a limit without one stops the run with a sentence."""
    write(pytester, 1)
    result = pytester.runpytest_inprocess(*options)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()


def test_assertion_alone(tmp_path: Path) -> None:
    """`assert_metric` also takes a loaded launch, and refuses what it cannot compare."""
    kernel = wl.Device("H200").compile(CUDA)["copy"]
    data = np.zeros(4096, np.float32)
    run = kernel[32, 128](data, np.zeros_like(data), 4096, 1)
    loaded = wl.load(run.save(str(tmp_path / "run"))).launches[0]

    wl.assert_metric(run, "smsp__inst_executed.sum", ">", 100)
    wl.assert_metric(loaded, "launch__block_size", "==", 128)
    with pytest.raises(AssertionError, match="must be < 100"):
        wl.assert_metric(loaded, "launch__block_size", "<", 100)
    with pytest.raises(AssertionError, match="is not a number"):
        wl.assert_metric(run, "launch__func_cache_config", "<", 1)
    with pytest.raises(wl.InputError, match="comparison"):
        wl.assert_metric(run, "launch__block_size", "=", 1)
    with pytest.raises(wl.UnknownMetric):
        wl.assert_metric(loaded, "launch__blocksize", "<", 100)
