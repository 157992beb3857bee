"""Predicts the launches of public suites and compares them with recorded times.

A suite is a JSON file that says which lines of a repository's files make a translation unit, and
how each of its kernels is launched; `recorded_h200.json` beside it holds what a GPU measured. The
text of the repositories is read from clones below MIRROR, and never kept here.

    python validation/suites_time.py split SUITES
    python validation/suites_time.py predict SUITES MIRROR OUT.json [--gpu H200] [--part tuning]
    python validation/suites_time.py compare SUITES OUT.json [--gpu H200] [--each]

Kernels are split once into tuning and validation ones, by a hash of their names: constants of the
model may look at the first only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 20261122
TUNING = 0.6  # of the kernels
CLOCK_MHZ = 1980
RECORDINGS = {"H200": "recorded_h200.json", "H100 SXM5": "recorded_h100.json"}
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip
# Where a prediction that is far off may come from
COUNTERS = (
    "smsp__inst_issued.sum", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "dram__bytes_read.sum", "dram__bytes_write.sum",
)  # fmt: skip
Case = dict[str, Any]


def part_of(suite: str, kernel: str) -> str:
    """Whether a kernel, whatever its template arguments, is for tuning or for validation."""
    name = f"{SEED}:{suite}:{kernel.partition('<')[0].strip()}"
    drawn = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0x1_0000_0000
    return "tuning" if drawn < TUNING else "validation"


def suites(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and descriptions."""
    for path in sorted(folder.glob("*.json")):
        described = json.loads(path.read_text())
        if "sources" in described:
            yield path.stem, described


def cases(folder: Path) -> dict[str, Case]:
    """All launches by `suite:name`, with the part that each is in."""
    return {
        f"{suite}:{case['name']}": {**case, "suite": suite, "part": part_of(suite, case["kernel"])}
        for suite, described in suites(folder) for case in described["cases"]
    }  # fmt: skip


def _file(mirror: Path, repository: str, path: str) -> list[str]:
    """A file of the newest commit of a clone, bare or not."""
    place = mirror / repository.replace("/", "+")
    for folder in (*place.glob("*.git"), *place.glob("*/"), place):
        done = subprocess.run(["git", "-C", folder, "show", f"HEAD:{path}"], capture_output=True)
        if done.returncode == 0:
            return done.stdout.decode(errors="replace").splitlines()
    raise SystemExit(f"{repository}:{path} is not in {place}")


def text_of(mirror: Path, repository: str, source: dict[str, Any]) -> str:
    """A translation unit as the suite describes it."""
    parts = [source.get("prefix", "")]
    for path, first, last in source["pieces"]:
        parts.append("\n".join(_file(mirror, repository, path)[first - 1 : last]))
    text = "\n".join(parts)
    for pattern, new in source.get("replace", []):
        text = re.sub(pattern, new, text)
    return text + "\n" + str(source.get("suffix", ""))


def modules(folder: Path, mirror: Path, gpu: str, wanted: set[str]) -> Iterator[tuple[Any, Any]]:
    """(module, one of its wanted cases), compiled one by one."""
    import warplens as wl

    device = wl.Device(gpu, clock=CLOCK_MHZ)
    for suite, described in suites(folder):
        for name, source in described["sources"].items():
            mine = [one for one in described["cases"]
                    if one["source"] == name and f"{suite}:{one['name']}" in wanted]  # fmt: skip
            if not mine:
                continue
            expressions = sorted({one["kernel"] for one in mine if "<" in one["kernel"]})
            text = text_of(mirror, described["repo"], source)
            module = device.compile(
                text, options=source.get("options", []), name_expressions=expressions
            )
            for one in mine:
                yield module, {**one, "key": f"{suite}:{one['name']}"}


def told(launch: Any) -> dict[str, Any]:
    """What is compared of a prediction."""
    values = {name: launch.metric(name) for name in METRICS + COUNTERS}
    row: dict[str, Any] = {name: float(v) for name, v in values.items() if v is not None}
    stalls = launch.timing.answers.stalls
    row["stalls"] = {name: round(cycles) for name, cycles in stalls.items() if cycles >= 0.5}
    band = launch.prediction()
    return row | {"error_percent": band.error_percent, "kind": getattr(band, "kind", "")}


def predicted(module: Any, case: Case) -> dict[str, Any]:
    """What the model says of a launch."""
    from warplens.cli._launch_arguments import parse

    shape = tuple(case["grid"]), tuple(case["block"]), 0, case.get("shared", 0)
    began = time.time()
    try:
        arguments = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
        launch = module[case["kernel"]].predict[shape](*arguments)
        row = told(launch)
    except Exception as problem:  # one launch must not end the others
        row = {"problem": f"{type(problem).__name__}: {problem}"[:400]}
    return {**row, "wall_s": round(time.time() - began, 2)}


def predict(arguments: argparse.Namespace) -> None:
    """Predicts launches that the output file does not have."""
    known = cases(arguments.suites)
    out = arguments.out
    found = json.loads(out.read_text()) if out.exists() and not arguments.again else {}
    wanted = {
        key for key, case in known.items()
        if key not in found and arguments.part in ("", case["part"])
        and (not arguments.only or any(text in key for text in arguments.only))
    }  # fmt: skip
    for module, case in modules(arguments.suites, arguments.mirror, arguments.gpu, wanted):
        row = predicted(module, case)
        found[case["key"]] = row
        shown = row.get("problem") or f"{row[METRICS[0]] / 1e3:.1f} us"
        print(f"{case['key']:46s} {shown} ({row['wall_s']} s)", flush=True)
        out.write_text(json.dumps(found, indent=0))


def top(stalls: dict[str, float]) -> str:
    """The state, other than issuing, in which warps spend most time."""
    return max((name for name in stalls if name != "selected"), key=lambda name: stalls[name])


def errors(folder: Path, out: Path, gpu: str) -> dict[str, dict[str, Any]]:
    """Per launch, how far prediction and recording lie apart."""
    recorded = json.loads((folder / RECORDINGS[gpu]).read_text())["cases"]
    found = json.loads(out.read_text())
    rows = {}
    for key, case in cases(folder).items():
        mine, truth = found.get(key), recorded.get(key, {})
        if mine is None or "problem" in truth or METRICS[0] not in truth.get("metrics", {}):
            continue
        row: dict[str, Any] = {"part": case["part"], "problem": mine.get("problem", "")}
        if not row["problem"]:
            there, here = truth["metrics"], mine
            row |= {
                "us": there[METRICS[0]] / 1e3, "error": here[METRICS[0]] / there[METRICS[0]] - 1,
                "active": here[METRICS[1]] / there[METRICS[1]] - 1,
                "occupancy": here[METRICS[2]] - there[METRICS[2]],
                "stall": top(mine["stalls"]), "true_stall": truth.get("stall", ""),
                "band": mine.get("error_percent", 0.0) / 100, "kind": mine.get("kind", ""),
            }  # fmt: skip
        rows[key] = row
    return rows


def summary(name: str, rows: list[dict[str, Any]]) -> str:
    """A line of the table."""
    good = [row for row in rows if not row["problem"]]
    if not good:
        return f"{name}: none"
    size = sorted(abs(row["error"]) for row in good)
    active = statistics.mean(abs(row["active"]) for row in good)
    return (
        f"{name:11s} {len(good):4d}  mean {100 * statistics.mean(size):5.1f} %  median "
        f"{100 * statistics.median(size):4.1f} %  p90 {100 * size[int(0.9 * len(size))]:5.1f} %  "
        f"worst {100 * size[-1]:6.1f} %  beyond 25 %: {sum(one > 0.25 for one in size):3d}, "
        f"50 %: {sum(one > 0.5 for one in size):3d}  active {100 * active:5.1f} %  "
        f"top stall {sum(row['stall'] == row['true_stall'] for row in good):4d}  "
        f"occupancy {sum(abs(row['occupancy']) <= 5 for row in good):4d}  "
        f"in band {sum(abs(row['error']) <= row['band'] for row in good):4d}  "
        f"problems {len(rows) - len(good)}"
    )


def compare(arguments: argparse.Namespace) -> None:
    """Prints the errors, tuning and validation apart."""
    rows = errors(arguments.suites, arguments.out, arguments.gpu)
    before = errors(arguments.suites, arguments.before, arguments.gpu) if arguments.before else {}
    for key, row in rows.items() if arguments.each else ():
        if arguments.part not in ("", row["part"]):
            continue
        if row["problem"]:
            print(f"{key:46s} {row['problem'][:100]}")
            continue
        was = before.get(key, {}).get("error")
        print(
            f"{key:46s} {row['us']:9.1f} us {100 * row['error']:+7.1f} %"
            + ("" if was is None else f" (was {100 * was:+7.1f} %)")
            + f"  active {100 * row['active']:+7.1f} %  occupancy {row['occupancy']:+5.1f}  "
            f"{row['stall']}/{row['true_stall']}  {row['part']}"
        )
    for part in ("tuning", "validation"):
        print(summary(part, [row for row in rows.values() if row["part"] == part]))


def split(arguments: argparse.Namespace) -> None:
    """Prints how many launches and kernels are in each part."""
    known = cases(arguments.suites)
    for part in ("tuning", "validation"):
        mine = [case for case in known.values() if case["part"] == part]
        kernels = {(case["suite"], case["kernel"].partition("<")[0].strip()) for case in mine}
        print(f"{part}: {len(kernels)} kernels, {len(mine)} launches")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for verb in (predict, compare, split):
        one = verbs.add_parser(verb.__name__, help=verb.__doc__)
        one.set_defaults(run=verb)
        one.add_argument("suites", type=Path)
        if verb is predict:
            one.add_argument("mirror", type=Path)
            one.add_argument("--only", action="append", default=[], help="part of a launch's name")
            one.add_argument("--again", action="store_true", help="forget what the file has")
        if verb is not split:
            one.add_argument("out", type=Path)
            one.add_argument("--gpu", default="H200", choices=sorted(RECORDINGS))
            one.add_argument("--part", default="", choices=("", "tuning", "validation"))
        if verb is compare:
            one.add_argument("--each", action="store_true", help="a line per launch")
            one.add_argument("--before", type=Path, help="earlier predictions to print beside")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
