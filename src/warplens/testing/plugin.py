"""The pytest plugin: a `warplens` fixture, and options that save and compare tests' launches.

    def test_transpose_is_coalesced(warplens):
        kernel = warplens.device("H200").compile("transpose.cu")["transpose"]
        run = kernel[grid, block](source, target, n)
        warplens.assert_metric(run, "memory_l2_theoretical_sectors_global", "<=", 2 * n * n // 8)

Every launch of a test that uses the fixture is recorded. `--warplens-save NAME` writes them to a
result file, `--warplens-compare FILE` shows what changed since one, and
`--warplens-compare-fail METRIC:5%` fails tests in which the metric increased by more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from warplens.result import Comparison, LaunchResult, Result
    from warplens.session.device import Device
    from warplens.session.launch import Launch

_TEST = "test"  # the property that holds a launch's test
_PART = ".part"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("warplens", "profiling CUDA kernels without a GPU")
    group.addoption("--warplens-gpu", metavar="NAME", help="GPU that warplens.device() simulates "
        "(default: H200)")
    group.addoption("--warplens-save", metavar="NAME",
                    help="write the tests' launches to NAME.wlens, replacing it")  # fmt: skip
    group.addoption("--warplens-compare", metavar="FILE",
                    help="show what changed since a result file")  # fmt: skip
    group.addoption("--warplens-compare-fail", metavar="METRIC:PERCENT%", action="append",
                    default=[], help="fail tests in which the metric increased by more "
                    "(repeatable)")  # fmt: skip


@dataclass(slots=True)
class _Session:
    """What the tests of one process launched, and what they are compared with."""

    launches: list[LaunchResult] = field(default_factory=list)
    baseline: Result | None = None
    changes: list[str] = field(default_factory=list)


_SESSION = pytest.StashKey[_Session]()


def pytest_configure(config: pytest.Config) -> None:
    """Reads the baseline early, so that a bad file or option stops the run at once."""
    session = _Session()
    config.stash[_SESSION] = session
    limits = config.getoption("warplens_compare_fail")
    file = config.getoption("warplens_compare")
    if limits and not file:
        raise pytest.UsageError("--warplens-compare-fail needs --warplens-compare FILE")
    if not file:
        return
    from warplens.analysis.compare import threshold
    from warplens.errors import WarplensError
    from warplens.result import load

    try:
        for text in limits:
            threshold(text)
        session.baseline = load(file)
    except WarplensError as error:
        raise pytest.UsageError(str(error)) from error


class WarplensFixture:
    """What a test gets: devices, `assert_metric`, and the launches made so far."""

    def __init__(self, config: pytest.Config) -> None:
        self._gpu = config.getoption("warplens_gpu")
        self.launches: list[Launch] = []

    def device(self, name: str | None = None, **options: Any) -> Device:
        """A device: the one named, else that of --warplens-gpu, else an H200."""
        from warplens.session.device import Device

        return Device(name or self._gpu or "H200", **options)

    @staticmethod
    def assert_metric(run: Launch | LaunchResult, metric: str, comparison: str,
                      bound: float) -> None:  # fmt: skip
        """Fails unless the metric satisfies the comparison; see `warplens.assert_metric`."""
        __tracebackhide__ = True
        from warplens.testing.assertions import assert_metric

        assert_metric(run, metric, comparison, bound)


@pytest.fixture
def warplens(request: pytest.FixtureRequest) -> Iterator[WarplensFixture]:
    """Profiles kernels with no GPU; every launch of the test is recorded."""
    from warplens.session.listeners import listening

    found = WarplensFixture(request.config)
    with listening(found.launches.append):
        yield found


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After a test: keeps its launches and compares them, so that a growth is its failure."""
    outcome = yield
    used = pyfuncitem.funcargs.get("warplens")
    if isinstance(used, WarplensFixture) and used.launches:
        _finish(pyfuncitem, used.launches)
    return outcome


def _finish(item: pytest.Function, launches: list[Launch]) -> None:
    session, config = item.config.stash[_SESSION], item.config
    if not config.getoption("warplens_save") and session.baseline is None:
        return
    kept: list[LaunchResult] = []
    for launch in launches:
        identifier = len(session.launches) + len(kept)
        result = launch.result(section_set="full", identifier=identifier)
        kept.append(replace(result, properties={**result.properties, _TEST: item.nodeid}))
    session.launches.extend(kept)
    if session.baseline is not None:
        _compare(item, session, tuple(kept))


def _compare(item: pytest.Function, session: _Session, kept: tuple[LaunchResult, ...]) -> None:
    from warplens.analysis.compare import compare, failures, threshold
    from warplens.result import Result

    assert session.baseline is not None
    before = tuple(
        one for one in session.baseline.launches if one.properties.get(_TEST) == item.nodeid
    )
    if not before:
        session.changes.append(f"{item.nodeid}: not in the baseline")
        return
    comparison = compare(Result(launches=before), Result(launches=kept))
    session.changes.extend(_lines(item.nodeid, comparison))
    limits = [threshold(text) for text in item.config.getoption("warplens_compare_fail")]
    failed = failures(comparison, limits)
    if failed:
        pytest.fail("warplens: " + "\nwarplens: ".join(failed), pytrace=False)


_SHOWN = (
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum",
    "memory_l2_theoretical_sectors_global",
    "memory_l1_wavefronts_shared",
    "launch__registers_per_thread",
    "sm__maximum_warps_per_active_cycle_pct",
)


def _lines(name: str, comparison: Comparison) -> Iterator[str]:
    from warplens.wording import change as percentage

    for pair in comparison.launches:
        changed = [
            f"{change.metric} {change.before} -> {change.after}"
            + (f" ({percentage(change.percent)})" if change.percent is not None else "")
            for change in pair.changes
            if change.metric in _SHOWN and change.is_changed
        ]
        if changed:
            yield f"{name}: {pair.after or pair.before}"
            yield from (f"    {text}" for text in changed)


def _target(config: pytest.Config) -> Path | None:
    name = config.getoption("warplens_save")
    return None if not name else Path(name if name.endswith(".wlens") else f"{name}.wlens")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the result file; with xdist every worker writes a part and the controller joins."""
    target = _target(session.config)
    if target is None:
        return
    from warplens.result import Result, load, save
    from warplens.version import __version__

    launches = list(session.config.stash[_SESSION].launches)
    worker = getattr(session.config, "workerinput", {}).get("workerid")
    if worker:
        target = target.with_name(f".{target.stem}{_PART}.{worker}.wlens")
    else:
        for part in sorted(target.parent.glob(f".{target.stem}{_PART}.*.wlens")):
            launches.extend(load(part).launches)
            part.unlink()
    if launches:
        launches.sort(key=lambda one: one.properties.get(_TEST, ""))
        numbered = tuple(replace(one, id=number) for number, one in enumerate(launches))
        save(Result(launches=numbered, writer=__version__), target, overwrite=True)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Shows what changed and where the launches were written."""
    session = config.stash[_SESSION]
    target = _target(config)
    if not session.changes and (target is None or not target.exists()):
        return
    terminalreporter.section("warplens")
    for line in session.changes:
        terminalreporter.line(line)
    if target is not None and target.exists():
        terminalreporter.line(f"launches written to {target}")
