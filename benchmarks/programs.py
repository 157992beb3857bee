"""What running a whole program costs: starting it, a launch, a copy of 400 MB.

    python benchmarks/programs.py

The limits: a launch under 1 ms beyond the kernel, a copy at the speed of the host's own memcpy, a
program that makes one call started and ended within 1 s.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
WARPLENS = (sys.executable, "-m", "warplens.cli.main")
ONE_CALL = "int main() { int n; return cudaGetDeviceCount(&n); }\n"


def main() -> int:
    """Builds, runs, prints a table; 1 if a limit is not kept."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "one_call.cu").write_text(ONE_CALL)
        for source in (HERE / "programs.cu", folder / "one_call.cu"):
            subprocess.run([*WARPLENS, "build", str(source), "-o", str(folder / source.stem)],
                           check=True)  # fmt: skip
        run = [*WARPLENS, "run"]
        subprocess.run([*run, str(folder / "one_call")], check=True)  # builds the libraries
        began = time.perf_counter()
        subprocess.run([*run, str(folder / "one_call")], check=True)
        start = time.perf_counter() - began
        found = json.loads(subprocess.run([*run, str(folder / "programs")], check=True,
                                          capture_output=True).stdout)  # fmt: skip
    slower = max(found["to_device_s"], found["to_host_s"]) / found["memcpy_s"]
    rows = (
        ("start and end of a program with one call", f"{start:.2f} s", start < 1),
        ("a launch of an empty kernel", f"{found['launch_s'] * 1e3:.3f} ms",
         found["launch_s"] < 1e-3),
        ("a call that only waits", f"{found['call_s'] * 1e6:.0f} us", True),
        ("400 MB to the device", f"{found['to_device_s'] * 1e3:.0f} ms", slower < 1.5),
        ("400 MB to the host", f"{found['to_host_s'] * 1e3:.0f} ms", slower < 1.5),
        ("400 MB by memcpy", f"{found['memcpy_s'] * 1e3:.0f} ms", True),
    )
    for what, value, holds in rows:
        print(f"{what:45}{value:>12}{'' if holds else '   over the limit'}")
    return 0 if all(holds for _, _, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
