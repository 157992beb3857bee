"""Records how long kernels take after work that leaves their array in L2, by CUPTI's activity API.

    cd validation/recorder/timelines
    warplens build --gpu H200 warmth.cu -lineinfo -cudart static -o /tmp/warmth
    python warmth.py /tmp/warmth FOLDER_OF_CUPTI -o warmth_sm90.json
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from record import asked, injected, provenance

FRESH = ("8", "32", "64")


def taken(lines: list[str], rows: list[dict[str, object]]) -> list[list[object]]:
    """Kernel, state, MiB, MiB between, then the durations (ns) in order of the rounds."""
    kernels = sorted(
        (row for row in rows if row["kind"] == "kernel" and "taken_" in str(row["name"])),
        key=lambda row: int(str(row["start"])),
    )
    assert len(kernels) == len(lines), (len(kernels), len(lines))
    found: dict[tuple[str, ...], list[object]] = {}
    for line, row in zip(lines, kernels, strict=True):
        kernel, state, size, after = words = tuple(line.split())
        assert f"taken_{kernel}" in str(row["name"]), (line, row)
        entry = found.setdefault(words, [kernel, state, float(size), float(after)])
        entry.append(int(str(row["end"])) - int(str(row["start"])))
    return list(found.values())


def main() -> None:
    """Runs the program, with a few arguments first."""
    arguments, found = asked(__doc__), provenance()
    with tempfile.TemporaryDirectory() as place:
        library = injected(arguments.cupti, Path(place), arguments.includes)
        path = Path(place) / "timeline.jsonl"
        environment = {**os.environ, "CUDA_INJECTION64_PATH": str(library), "TIMELINE": str(path)}
        entries: list[list[object]] = []
        fresh = [[way, size] for way in ("freshpinned", "freshpageable") for size in FRESH]
        for words in [*fresh, []]:
            done = subprocess.run([str(arguments.program.resolve()), *words], env=environment,
                                  check=True, capture_output=True, text=True)  # fmt: skip
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            entries += taken(done.stdout.splitlines(), rows)
            arguments.output.write_text(json.dumps({**found, "taken": entries}))


if __name__ == "__main__":
    main()
