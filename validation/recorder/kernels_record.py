"""Records what the tests' kernels leave in their arrays.

`kernels_record.py CUBINS OUT` runs every case of `kernel_cases.py` twice, in several processes, and
writes kernels.json: of each case the digests of its arrays, whether both runs agree, and whether
the reference of the test holds on the GPU, too. A kernel that ends with an error is named, and a
fresh process goes on behind it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import CudaError
from kernel_cases import COOPERATIVE, Case, cases, digests, unit
from session import Session

PROCESSES, SECONDS, CASE_SECONDS = 12, 70.0, 12.0


def launched(session: Session, case: Case, arguments: list[Any]) -> None:
    """One launch; arrays are copied to the GPU and back."""
    driver = session.driver
    names = json.loads((session.cubins / f"{unit(case)}.json").read_text())
    module = driver.load(session.cubin(unit(case)))
    function = driver.function(module, names.get(case.kernel, case.kernel))
    arrays = {i: driver.upload(a) for i, a in enumerate(arguments)
              if isinstance(a, np.ndarray) and a.ndim}  # fmt: skip
    values = [arrays.get(i, _value(a)) for i, a in enumerate(arguments)]
    grid, block = ((d,) if isinstance(d, int) else tuple(d) for d in (case.grid, case.block))
    if case.kernel in COOPERATIVE:
        driver.launch_cooperative(function, grid, block, tuple(values), case.shared)
    else:
        driver.launch(function, grid, block, tuple(values), case.shared)
    driver.synchronize()
    for i, pointer in arrays.items():
        flat = driver.download(pointer, arguments[i].nbytes, np.uint8)
        arguments[i].reshape(-1).view(np.uint8)[:] = flat
    driver.free_all()
    driver.unload(module)


def _value(argument: Any) -> Any:
    import ctypes as ct

    data = argument.to_bytes(8, "little", signed=True) if isinstance(argument, int) else (
        np.asarray(argument).tobytes())  # fmt: skip
    return (ct.c_char * len(data)).from_buffer_copy(data)


def recorded(session: Session, case: Case) -> dict[str, Any]:
    """Two launches of a case."""
    from tests.kernels.model import assert_results

    found, reference = [], "equal"
    for _ in range(2):
        arguments, expected = case.problem()  # its checks may look at the arguments
        launched(session, case, list(arguments))
        found.append(digests(case, arguments, dict(expected)))
        try:
            assert_results(case, arguments, expected, "sm_90")
        except AssertionError as error:
            reference = str(error)[:300] or "not equal"
    return {"digests": found[0], "agree": found[0] == found[1], "reference": reference}


def serve(session: Session, part: int, after: str) -> None:
    """Runs one part of the cases behind the one named, a line of JSON for each."""
    own = list(cases().items())[part::PROCESSES]
    start = 1 + [name for name, _ in own].index(after) if after else 0
    for name, case in own[start:]:
        print(json.dumps({"begin": name}), flush=True)
        try:
            row = recorded(session, case)
        except CudaError as error:
            print(json.dumps({"case": name, "error": str(error)}), flush=True)
            return
        print(json.dumps({"case": name, **row}), flush=True)


def main() -> None:
    """Starts the processes and collects what they print."""
    if len(sys.argv) > 3 and sys.argv[3].isdigit():
        serve(Session(Path(sys.argv[1]), Path(sys.argv[2])), int(sys.argv[3]), sys.argv[4])
        return
    session = Session.of_command_line(__doc__)
    begin, logs = time.monotonic(), [session.out / f"part{p}.jsonl" for p in range(PROCESSES)]
    running = {p: _started(session, p, "") for p in range(PROCESSES)}
    while running and time.monotonic() < begin + SECONDS:
        time.sleep(0.3)
        for part, process in list(running.items()):
            if time.time() - logs[part].stat().st_mtime > CASE_SECONDS:
                process.kill()
                process.wait()
            if process.poll() is not None:
                rows = _rows(logs[part])
                del running[part]
                last = rows[-1] if rows else {}
                if "begin" in last:
                    row = {"case": last["begin"], "error": "does not end"}
                    with logs[part].open("a") as log:
                        log.write(json.dumps(row) + "\n")
                if "error" in last or "begin" in last:
                    running[part] = _started(session, part, last.get("case") or last["begin"])
    for process in running.values():
        process.kill()
    rows = {row.pop("case"): row for log in logs for row in _rows(log) if "case" in row}
    (session.out / "kernels.json").write_text(
        json.dumps({"metadata": session.metadata(), "cases": dict(sorted(rows.items()))})
    )
    wrong = {name: row for name, row in rows.items() if row.get("reference") != "equal"}
    print(len(rows), "cases,", len(wrong), "not as the reference:", json.dumps(wrong)[:4000])


def _started(session: Session, part: int, after: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, str(session.cubins), str(session.out), str(part), after]
    log = (session.out / f"part{part}.jsonl").open("ab")
    return subprocess.Popen(command, stdout=log, stderr=log)


def _rows(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_text().splitlines():
        if line.startswith("{"):
            found.append(json.loads(line))
    return found


if __name__ == "__main__":
    main()
