"""Records the timelines of ten programs on a GPU, by CUPTI's activity API.

    cd validation/recorder/timelines
    warplens build --gpu H200 programs.cu -lineinfo -cudart static -o /tmp/timelines
    python record.py /tmp/timelines FOLDER_OF_CUPTI -o timelines_sm90.json

FOLDER_OF_CUPTI holds `include/cupti.h` and `lib*/libcupti.so*`. Every program runs twice.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("vectors", "pinned", "streams", "stencil", "transposes", "reductions", "products",
         "histograms", "small", "moves")  # fmt: skip


def injected(cupti: Path, folder: Path, includes: list[str]) -> Path:
    """The library that CUDA loads into the programs, for this CUPTI's newest records."""
    headers = "".join(p.read_text(errors="replace")
                      for p in (cupti / "include").glob("cupti_activity*.h"))  # fmt: skip
    records = []
    for define, kind in (("KERNEL", "Kernel"), ("COPY", "Memcpy"), ("FILL", "Memset")):
        found = re.findall(rf"CUpti_Activity{kind}(\d*)\b", headers)
        newest = max(found, key=lambda number: int(number or 0))
        records.append(f"-D{define}=CUpti_Activity{kind}{newest}")
    library = next(iter(sorted(cupti.glob("lib*/libcupti.so*"))))
    path = folder / "inject.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", f"-I{cupti}/include", *(f"-I{one}" for one in includes),
         *records, str(HERE / "inject.cpp"), "-o", str(path), str(library),
         f"-Wl,-rpath,{library.parent}"], check=True,
    )  # fmt: skip
    return path


def asked(text: str | None) -> argparse.Namespace:
    """What the command line of a recorder says; `text`: its docstring."""
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("cupti", type=Path)
    parser.add_argument("-I", dest="includes", action="append", default=[])
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def provenance() -> dict[str, object]:
    """The GPU, its driver and today's date."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    return {"gpu": gpu, "date": datetime.date.today().isoformat()}


def recorded(program: Path, name: str, library: Path, folder: Path) -> list[list[object]]:
    """One run: kernels, copies and fills as lists, calls summed by name."""
    path = folder / "timeline.jsonl"
    environment = {**os.environ, "CUDA_INJECTION64_PATH": str(library), "TIMELINE": str(path)}
    subprocess.run([str(program), name], env=environment, check=True)
    return brief([json.loads(line) for line in path.read_text().splitlines()])


def brief(rows: list[dict[str, object]]) -> list[list[object]]:
    """What is kept: kind, name or way, bytes, start from the first work's, duration (ns)."""
    work = [row for row in rows if row["kind"] != "call"]
    first = min(int(str(row["start"])) for row in work)
    kept: list[list[object]] = []
    for row in sorted(work, key=lambda row: int(str(row["start"]))):
        start, end = int(str(row["start"])), int(str(row["end"]))
        what = row.get("name", row.get("way", ""))
        kept.append([row["kind"], what, row.get("bytes", 0), start - first, end - start])
    return kept


def main() -> None:
    """Runs all programs twice."""
    arguments = asked(__doc__)
    found = {**provenance(), "cupti": str(arguments.cupti)}
    with tempfile.TemporaryDirectory() as place:
        library = injected(arguments.cupti, Path(place), arguments.includes)
        found["programs"] = {
            name: [recorded(arguments.program.resolve(), name, library, Path(place))
                   for _ in range(2)]
            for name in NAMES
        }  # fmt: skip
    arguments.output.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
