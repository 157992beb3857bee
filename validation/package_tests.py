"""Runs the tests that installed packages bring along, on a simulated GPU.

    python validation/package_tests.py [--gpu "RTX 4090"] [--out results.json] [MODULE ...]

Nothing of those tests is kept here: the modules are imported from the installed packages, one
process for each, and every test's outcome is written to the result file as soon as it is known. A
module that is in the file already is not run again.
Processes that tests start have the simulated GPU as well, by a `sitecustomize` on their path.
A test's limit is of processor time, so that a busy machine fails nothing. `MODULE:2/3` is the
second third of a module's tests, for runs on many cores; the table puts several FILEs together.
`--table` prints the file as the table of the docs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = "numba.cuda.tests"
PACKAGE = "numba-cuda"
GROUPS = ("doc_examples", "cudadrv", "cudapy", "nrt")
TEST_SECONDS, MODULE_SECONDS = 150, 3600  # of the processor; of the clock


class Slow(BaseException):
    """A test took longer than its limit."""


class Outcomes(unittest.TestResult):
    """Writes a line for every test."""

    def _tell(self, test: unittest.TestCase, outcome: str, reason: str = "") -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        line = json.dumps([test.id().removeprefix(ROOT + "."), outcome, reason])
        print(line, file=sys.__stdout__, flush=True)  # a test may hold sys.stdout

    def startTest(self, test: unittest.TestCase) -> None:
        """Begins to count a test's time."""
        super().startTest(test)
        signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)

    def addSuccess(self, test: unittest.TestCase) -> None:
        """Passed."""
        self._tell(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Skipped by itself."""
        self._tell(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        """Failed as its author expects."""
        self._tell(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        """Passed, which its author does not expect."""
        self._tell(test, "failed", "passes unexpectedly")

    def _failed(self, test: unittest.TestCase, err: Any) -> None:
        if err[0].__name__ == "Skipped":  # by pytest's means
            self._tell(test, "skipped", str(err[1]))
            return
        last = str(err[1]).strip().splitlines() or [""]
        self._tell(test, "failed", f"{err[0].__name__}: {last[0][:200]} … {last[-1][:200]}")

    addError = addFailure = _failed

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        """A part of a test failed."""
        if err is not None:
            self._failed(test, err)


def run_module(name: str, gpu: str) -> None:
    """Runs one module in this process; outcomes go to standard output."""

    def too_slow(*_: Any) -> None:
        raise Slow(f"longer than {TEST_SECONDS} s of processor time")

    signal.signal(signal.SIGPROF, too_slow)
    import warplens.cuda

    driver = warplens.cuda.choose(gpu, prints=True)
    name, _, part = name.partition(":")
    module = importlib.import_module(f"{ROOT}.{name}")
    tests = list(_flat(unittest.defaultTestLoader.loadTestsFromModule(module)))
    if part:
        nth, parts = map(int, part.split("/"))
        tests = tests[nth - 1 :: parts]
    result, suite = Outcomes(), unittest.TestSuite()
    for test in tests:
        suite.addTest(_Guarded(test, driver.recover))
    suite.run(result)


class _Guarded:
    """A test whose time limit, or fault on the GPU, is a failure of this test alone."""

    def __init__(self, test: Any, recover: Callable[[], None]) -> None:
        self._test, self._recover = test, recover

    def __getattr__(self, name: str) -> Any:
        return getattr(self._test, name)

    def __call__(self, result: Any) -> None:
        try:
            self._test(result)
        except Slow as slow:
            result._tell(self._test, "failed", str(slow))
        self._recover()


def _flat(tests: Any) -> Any:
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def modules() -> list[str]:
    """Every test module of the installed package."""
    found = []
    for group in GROUPS:
        package = importlib.import_module(f"{ROOT}.{group}")
        found += [
            f"{group}.{module.name}" for module in pkgutil.iter_modules(package.__path__)
            if module.name.startswith("test_")
        ]  # fmt: skip
    return found


def of_module(name: str, gpu: str, seconds: int) -> dict[str, Any]:
    """One module's outcomes, from a process of its own."""
    started = time.monotonic()
    command = [sys.executable, __file__, "--gpu", gpu, "--one", name]
    folder = tempfile.TemporaryDirectory()
    Path(folder.name, "sitecustomize.py").write_text("import warplens.cuda\n")
    paths = filter(None, (folder.name, os.environ.get("PYTHONPATH")))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), WARPLENS_GPU=gpu)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, check=False,
            env=environment,
        )  # fmt: skip
        output, ended = done.stdout, "" if done.returncode == 0 else done.stderr[-400:]
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        ended = f"stopped after {seconds} s"
    tests = []
    for line in output.splitlines():
        if line.startswith('["'):
            tests.append(json.loads(line))
    return {"tests": tests, "ended": ended, "seconds": round(time.monotonic() - started)}


def outcomes(modules: Iterable[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Outcome and reason of every test; one of which a part failed has failed."""
    found: dict[str, tuple[str, str]] = {}
    for of in modules:
        for name, outcome, reason in of["tests"]:
            if found.get(name, ("", ""))[0] != "failed":
                found[name] = outcome, reason
    return found


def table(results: dict[str, Any]) -> str:
    """The results as Markdown: a row for each group of modules, then every failure."""
    rows = ["| modules | passed | failed | skipped by themselves |", "| --- | --- | --- | --- |"]
    failures, total = [], Counter[str]()
    for group in GROUPS:
        named = {name: of for name, of in results["modules"].items() if name.startswith(group)}
        whole = {name.partition(":")[0] for name in named}
        tests = outcomes(named.values())
        counts = Counter(outcome for outcome, _ in tests.values())
        total += counts
        rows.append(
            f"| `{group}`, {len(whole)} modules | {counts['passed']} | {counts['failed']} | "
            f"{counts['skipped']} |"
        )
        failures += [(name, why) for name, (outcome, why) in tests.items() if outcome == "failed"]
    share = 100 * total["passed"] / max(1, total["passed"] + total["failed"])
    rows.append(f"| together | {total['passed']} ({share:.0f} %) | {total['failed']} | "
                f"{total['skipped']} |")
    rows += ["", *(f"- `{name}`: {reason}" for name, reason in failures)]
    return "\n".join(rows)


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="such as cudapy.test_atomics; all if none")
    parser.add_argument("--gpu", default="RTX 4090")
    parser.add_argument("--out", type=Path, default=Path("package_tests.json"))
    parser.add_argument("--with", type=Path, nargs="*", default=[], dest="others",
                        help="further files for the table")
    parser.add_argument("--seconds", type=int, default=MODULE_SECONDS, help="of a module")
    parser.add_argument("--again", action="store_true", help="also what is in the file already")
    parser.add_argument("--table", action="store_true", help="print the file as a table")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_module(arguments.one, arguments.gpu)
        return
    results: dict[str, Any] = {"modules": {}}
    for path in filter(Path.exists, [*arguments.others, arguments.out]):
        found = json.loads(path.read_text())
        results = found | {"modules": results["modules"] | found["modules"]}
    if not arguments.table:
        results |= {"package": f"{PACKAGE} {importlib.metadata.version(PACKAGE)}",
                    "gpu": arguments.gpu}  # fmt: skip
        for name in arguments.modules or modules():
            if arguments.again or name not in results["modules"]:
                results["modules"][name] = of_module(
                    name, arguments.gpu, arguments.seconds
                )
                arguments.out.write_text(json.dumps(results, indent=1))
                found = Counter(test[1] for test in results["modules"][name]["tests"])
                print(name, dict(found), results["modules"][name]["ended"][-80:], flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
