"""Predicts public suites where neither their text nor a compiler is: from cubins made before.

    python validation/suites_apart.py compile MIRROR CUBINS.json.xz SUITES [SUITES ...] [--jobs 2]
    python validation/suites_apart.py predict CUBINS.json.xz OUT.json [--gpu H200] [--jobs 16]
    python validation/suites_apart.py divide OUT.json PREFIX SUITES [SUITES ...]

`compile` packs the cubin of each translation unit with how its kernels are launched; `predict`
spreads the launches over processes; `divide` writes PREFIX0.json, PREFIX1.json, ... for
`suites_time.py compare`, one per folder of suites.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import re
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import suites_time

# Arguments whose types a cubin does not tell: what a launch by it says of them
_SIZE = re.compile(r"parameter (\d+).*?records its size \((\d) bytes\)")


def _compiled(job: tuple[Path, Path, str, str]) -> dict[str, Any]:
    """The cubin of a translation unit, and its cases by the kernels' names in it."""
    folder, mirror, suite, name = job
    described = dict(suites_time.suites(folder))[suite]
    wanted = {f"{suite}:{one['name']}" for one in described["cases"] if one["source"] == name}
    found: dict[str, Any] = {"cases": []}
    for module, case in suites_time.modules(folder, mirror, "H200", wanted):
        cubin = module.images[-1].kernels.cubin.data
        found["cubin"] = base64.b64encode(cubin).decode()
        found["cases"].append({**case, "suite": suite, "mangled": module.sass(case["kernel"]).name})
    return found


def compile_all(arguments: argparse.Namespace) -> None:
    """Compiles all translation units of some folders of suites."""
    jobs = [
        (folder, arguments.mirror, suite, name)
        for folder in arguments.suites
        for suite, described in suites_time.suites(folder)
        for name in described["sources"]
    ]
    with get_context("spawn").Pool(arguments.jobs) as pool:
        units = pool.map(_compiled, jobs, chunksize=4)
    with lzma.open(arguments.cubins, "wt") as file:
        json.dump([unit for unit in units if unit["cases"]], file)
    print(sum(len(unit["cases"]) for unit in units), "launches")


def _typed(problem: str, values: list[Any]) -> bool:
    """Gives a number the size that a refused launch names; whether there was one to give it to."""
    told = _SIZE.search(problem)
    if told is None or not isinstance(values[int(told[1])], int | float):
        return False
    place, size = int(told[1]), int(told[2])
    value = values[place]
    if isinstance(value, float):
        values[place] = np.float64(value) if size == 8 else np.float32(value)
    else:
        values[place] = np.int64(value) if size == 8 else np.int32(value)
    return True


def launched(gpu: str, cubin: str, case: dict[str, Any]) -> Any:
    """The predicted launch of a packed cubin.

    Raises:
        Exception: whatever the model refuses it with.
    """
    import warplens as wl
    from warplens.cli._launch_arguments import parse

    module = wl.Device(gpu, clock=suites_time.CLOCK_MHZ).load(base64.b64decode(cubin))
    values = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
    shape = tuple(case["grid"]), tuple(case["block"]), 0, case.get("shared", 0)
    while True:
        try:
            return module[case["mangled"]].predict[shape](*values)
        except wl.ArgumentError as problem:
            if not _typed(str(problem), values):
                raise


def _predicted(job: tuple[str, str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """What the model says of a launch of a cubin."""
    gpu, cubin, case = job
    began = time.time()
    try:
        row = suites_time.told(launched(gpu, cubin, case))
    except Exception as problem:  # one launch must not end the others
        row = {"problem": f"{type(problem).__name__}: {problem}"[:400]}
    return case["key"], {**row, "wall_s": round(time.time() - began, 2)}


def predict(arguments: argparse.Namespace) -> None:
    """Predicts the launches of packed cubins."""
    with lzma.open(arguments.cubins, "rt") as file:
        units = json.load(file)
    keys = arguments.only
    jobs = [
        (arguments.gpu, unit["cubin"], case) for unit in units for case in unit["cases"]
        if (not keys or any(text in case["key"] for text in keys))
        and arguments.part in ("", suites_time.part_of(case["suite"], case["kernel"]))
    ]  # fmt: skip
    found: dict[str, Any] = {}
    with get_context("spawn").Pool(arguments.jobs) as pool:
        for key, row in pool.imap_unordered(_predicted, jobs, chunksize=1):
            found[key] = row
    arguments.out.write_text(json.dumps(found, indent=0))
    print(len(found), "launches,", sum("problem" in row for row in found.values()), "problems")


def divide(arguments: argparse.Namespace) -> None:
    """Writes predictions of several folders of suites apart."""
    found = json.loads(arguments.out.read_text())
    for number, folder in enumerate(arguments.suites):
        mine = {key: found[key] for key in suites_time.cases(folder) if key in found}
        Path(f"{arguments.prefix}{number}.json").write_text(json.dumps(mine, indent=0))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser("compile", help=compile_all.__doc__)
    one.set_defaults(run=compile_all)
    one.add_argument("mirror", type=Path)
    one.add_argument("cubins", type=Path)
    one.add_argument("suites", type=Path, nargs="+")
    one.add_argument("--jobs", type=int, default=2)
    one = verbs.add_parser("predict", help=predict.__doc__)
    one.set_defaults(run=predict)
    one.add_argument("cubins", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("--gpu", default="H200", choices=sorted(suites_time.RECORDINGS))
    one.add_argument("--only", action="append", default=[], help="part of a launch's name")
    one.add_argument("--part", default="", choices=("", "tuning", "validation"))
    one.add_argument("--jobs", type=int, default=2)
    one = verbs.add_parser("divide", help=divide.__doc__)
    one.set_defaults(run=divide)
    one.add_argument("out", type=Path)
    one.add_argument("prefix")
    one.add_argument("suites", type=Path, nargs="+")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
