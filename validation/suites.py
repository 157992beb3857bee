"""Runs kernels of public repositories and compares bits and counters with recorded ones.

    python validation/suites.py run SUITES REPOSITORIES OUT [--suite NAME] [--only REGEX] [--again]
    python validation/suites.py compare SUITES OUT [--summary FILE]

SUITES holds descriptions (`NAME.json`: which lines of which files make a translation unit, how each
kernel is launched) and recordings of them (`recorded_GPU.json`: digests of the arrays, counters).
REPOSITORIES holds the fetched repositories, `owner+name` each, bare or with files. OUT keeps what
was executed, one line of JSON per launch, so a run can be continued.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.cli._launch_arguments import parse
from warplens.errors import WarplensError
from warplens.metrics.registry import resolve

TOLERANCE = 1e-6
ROUNDED = 6e-4  # recorded ratios have three decimals
# Counters whose hardware values differ from run to run (DEVIATIONS.md, rows 13 to 17)
ARBITRATION = (
    r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared",
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared",
    r"l1tex__t_requests_pipe_lsu_mem_lg\.", r"l1tex__t_sectors_pipe_lsu(_mem_lg)?\.",
    r"sm__inst_executed_pipe_adu", r"smsp__inst_executed_op_\w+_pred_(on_any|off_all)",
    r"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared\.",
)  # fmt: skip

COPIED = "smsp__sass_data_bytes_mem_shared{}.sum"

Json = dict[str, Any]


class Difference(NamedTuple):
    """A counter of a launch that is not the recorded one."""

    launch: str
    metric: str
    executed: float
    recorded: float


def descriptions(suites: Path, only: str | None) -> Iterator[tuple[str, Json]]:
    """The suites by name."""
    for path in sorted(suites.glob("*.json")):
        doc = json.loads(path.read_text())
        if "sources" in doc and only in (None, path.stem):
            yield path.stem, doc


def file_lines(repositories: Path, repository: str, commit: str, path: str) -> list[str]:
    """The lines of a file of a repository at a commit."""
    folder = repositories / repository.replace("/", "+")
    for git in (folder, folder / "repo", folder / ".git", *folder.glob("*.git")):
        for revision in (commit, "HEAD"):
            command = ["git", "-C", str(git), "show", f"{revision}:{path}"]
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode == 0:
                return done.stdout.decode(errors="replace").splitlines()
    raise SystemExit(f"{repository}: no {path} in {folder}; fetch the repository there first")


def translation_unit(repositories: Path, doc: Json, source: Json) -> str:
    """The text that a source's pieces make."""
    parts = [source.get("prefix", "")]
    for path, first, last in source["pieces"]:
        lines = file_lines(repositories, doc["repo"], doc.get("commit", "HEAD"), path)
        parts.append("\n".join(lines[first - 1 : last]))
    text = "\n".join(parts)
    for pattern, new in source.get("replace", ()):
        text = re.sub(str(pattern), str(new), text)
    return text + "\n" + str(source.get("suffix", ""))


def counted(names: Iterable[str]) -> list[str]:
    """Those of the metrics that come from counts, not from the timing model."""
    found = []
    for name in names:
        try:
            declared, _ = resolve(name)
        except WarplensError:
            continue
        if declared.basis in ("exact", "definition") and declared.formula is not None:
            found.append(name)
    return found


def digest(array: np.ndarray) -> str:
    """What stands for an array's bits in a recording."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def execute(kernel: Any, case: Json, metrics: list[str]) -> Json:
    """What a launch did: digests of its arrays and its counters."""
    arguments = [parse(text, seed=i) for i, text in enumerate(case["arguments"])]
    shape = tuple(case["grid"]), tuple(case["block"]), 0, case.get("shared", 0)
    begin = time.perf_counter()
    launch = kernel[shape](*arguments)
    seconds = time.perf_counter() - begin
    values = {name: float(launch.metric(name)) for name in metrics}
    return {
        "arrays": [digest(a) if isinstance(a, np.ndarray) and a.ndim else "" for a in arguments],
        "metrics": {name: value for name, value in values.items() if value},
        "compared": len(values),
        "seconds": round(seconds, 2),
    }


def recordings(suites: Path) -> Json:
    """The recorded launches with counters, and where there are none, with digests alone."""
    merged: Json = {}
    for path in sorted(suites.glob("recorded_*.json")):
        for key, row in json.loads(path.read_text())["cases"].items():
            if key not in merged or len(row["metrics"]) > len(merged[key]["metrics"]):
                merged[key] = row
    return merged


def run(options: argparse.Namespace) -> None:
    """Executes the launches that OUT does not have yet."""
    options.out.mkdir(parents=True, exist_ok=True)
    recorded = recordings(options.suites)
    metrics = counted(sorted({m for row in recorded.values() for m in row["metrics"]}))
    done = set() if options.again else set(executed(options.out))
    device = wl.Device("H200", options=LaunchOptions(timing=False, workers=options.workers))
    for suite, doc in descriptions(options.suites, options.suite):
        for name, source in doc["sources"].items():
            cases = {f"{suite}:{c['name']}": c for c in doc["cases"]
                     if c["source"] == name and (options.long or c.get("run", True))}  # fmt: skip
            cases = {k: c for k, c in cases.items()
                     if k not in done and re.search(options.only, k)}  # fmt: skip
            if cases:
                text = translation_unit(options.repositories, doc, source)
                expressions = sorted({c["kernel"] for c in cases.values() if "<" in c["kernel"]})
                flags = source.get("options", [])
                module = device.compile(text, options=flags, name_expressions=expressions)
                run_all(module, cases, metrics, options.out / "executed.jsonl")


def run_all(module: wl.Module, cases: Json, metrics: list[str], target: Path) -> None:
    """Executes launches of one translation unit and appends what they did."""
    for key, case in cases.items():
        try:
            row = execute(module[case["kernel"]], case, metrics)
        except WarplensError as error:
            row = {"problem": f"{type(error).__name__}: {error}"[:600]}
        print(key, row.get("problem", "ok"), row.get("seconds"), flush=True)
        with target.open("a") as file:
            file.write(json.dumps({"launch": key, **row}) + "\n")


def executed(out: Path) -> Json:
    """The last line of each launch in OUT."""
    rows: Json = {}
    for path in sorted(out.glob("executed*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            rows[row["launch"]] = row
    return rows


def differences(key: str, row: Json, recorded: Json, metrics: Iterable[str]) -> list[Difference]:
    """The counters of a launch that are not the recorded ones (0 is left out on both sides)."""
    found = []
    for name in metrics:
        ours, theirs = row["metrics"].get(name, 0.0), recorded["metrics"].get(name, 0.0)
        least = ROUNDED if name.endswith((".pct", ".ratio")) else 0
        if abs(ours - theirs) > max(least, TOLERANCE * max(1, abs(theirs))):
            found.append(Difference(key, name, ours, theirs))
    return found


def varies(metric: str, recorded: Json) -> bool:
    """Whether a counter differs from run to run: always, or as two passes of the recording show."""
    if any(re.match(pattern, metric) for pattern in ARBITRATION):
        return True
    kinds = ("_op_ldgsts", "_op_ldgsts_cache_access", "_op_ldgsts_cache_bypass")
    both, through, around = (recorded["metrics"].get(COPIED.format(k), 0.0) for k in kinds)
    return both != through + around and metric in map(COPIED.format, ("", *kinds))


def compare(options: argparse.Namespace) -> None:
    """Prints which bits and counters differ, by counter and by launch."""
    rows, recorded = executed(options.out), recordings(options.suites)
    metrics = counted(sorted({m for row in recorded.values() for m in row["metrics"]}))
    summary: Json = {"launches": {}, "counters": {}}
    by_metric: dict[str, list[Difference]] = defaultdict(list)
    for key, row in sorted(rows.items()):
        if "problem" in row or key not in recorded:
            summary["launches"][key] = row.get("problem", "not recorded")
            continue
        theirs = recorded[key]
        pairs = zip(row["arrays"], theirs["arrays"], strict=True)
        bits = [i for i, (a, b) in enumerate(pairs) if a and a != b]
        wrong = []
        if len(theirs["metrics"]) > 20:
            wrong = differences(key, row, theirs, metrics)
        rest = [d for d in wrong if not varies(d.metric, theirs)]
        for one in wrong:
            by_metric[one.metric].append(one)
        summary["launches"][key] = {
            "counters": len(theirs["metrics"]) > 20, "arrays_that_differ": bits,
            "counters_that_differ": {d.metric: [d.executed, d.recorded] for d in rest},
        }  # fmt: skip
    _print(summary, by_metric)
    if options.summary:
        summary["counters"] = {m: len(found) for m, found in sorted(by_metric.items())}
        options.summary.write_text(json.dumps(summary, indent=1) + "\n")


def _print(summary: Json, by_metric: dict[str, list[Difference]]) -> None:
    compared = {k: r for k, r in summary["launches"].items() if isinstance(r, dict)}
    for key, row in summary["launches"].items():
        if not isinstance(row, dict):
            print(f"{key}: {row}")
        elif row["arrays_that_differ"] or row["counters_that_differ"]:
            print(f"{key}: arrays {row['arrays_that_differ']}, counters")
            for metric, (ours, theirs) in row["counters_that_differ"].items():
                print(f"    {metric}: {ours:.0f}, recorded {theirs:.0f} ({ours - theirs:+.0f})")
    for metric, found in sorted(by_metric.items(), key=lambda item: -len(item[1])):
        first = found[0]
        kind = "arbitration " if any(re.match(p, metric) for p in ARBITRATION) else ""
        print(f"{metric}: {kind}{len(found)} launches, {first.launch} {first.executed:.0f}, "
              f"recorded {first.recorded:.0f}")  # fmt: skip
    bits = sum(not row["arrays_that_differ"] for row in compared.values())
    with_counters = [row for row in compared.values() if row["counters"]]
    equal = sum(not row["counters_that_differ"] for row in with_counters)
    print(f"{bits} of {len(compared)} launches with the recorded bits, {equal} of "
          f"{len(with_counters)} with the recorded counters but for arbitration")  # fmt: skip


def main() -> None:
    """Runs or compares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    runner = verbs.add_parser("run")
    runner.add_argument("suites", type=Path)
    runner.add_argument("repositories", type=Path)
    runner.add_argument("out", type=Path)
    runner.add_argument("--suite")
    runner.add_argument("--only", default="")
    runner.add_argument("--again", action="store_true", help="also launches that OUT has")
    runner.add_argument("--workers", type=int)
    runner.add_argument("--long", action="store_true", help="also launches that take minutes")
    runner.set_defaults(verb=run)
    comparer = verbs.add_parser("compare")
    comparer.add_argument("suites", type=Path)
    comparer.add_argument("out", type=Path)
    comparer.add_argument("--summary", type=Path)
    comparer.set_defaults(verb=compare)
    options = parser.parse_args(sys.argv[1:])
    options.verb(options)


if __name__ == "__main__":
    main()
