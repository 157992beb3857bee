"""Kernel Tuner's files: what it writes is read, what is written it reads; broken ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from warplens.errors import InputError
from warplens.tune.measured import agreement, cache_text, kendall, read_measured, t4_text
from warplens.tune.result import Tuned
from warplens.tune.rows import Row

SPACE = {"block_size_x": [32, 64, 4096], "PER": [1, 2]}
TIMES = {(32, 1): 9e6, (32, 2): 8e6, (64, 1): 4e6, (64, 2): 2e6}


def found() -> Tuned:
    """Four configurations with times, one that does not launch, one with a wrong result."""
    rows = []
    for block in SPACE["block_size_x"]:
        for per in SPACE["PER"]:
            row = Row(configuration={"block_size_x": block, "PER": per}, gpu="H200", launch="")
            row.time_ns = row.objective = TIMES.get((block, per))
            row.status = "predicted" if row.time_ns else "failed"
            if row.time_ns is None:
                row.problem = "LaunchError: no" if per == 1 else "wrong result in argument 0"
            rows.append(row)
    return Tuned(rows=tuple(rows), gpus=("H200",))


@pytest.mark.parametrize("kind", ["cache", "open cache", "t4", "t4.gz"])
def test_written_and_read(tmp_path: Path, kind: str) -> None:
    """Times and failures come back; a cache that was cut off after a line is one."""
    text = t4_text(found(), "H200") if "t4" in kind else cache_text(found(), "H200", "k", SPACE)
    if kind == "open cache":
        text = text.rstrip("}\n") + "},"
    path = tmp_path / ("x.json.gz" if "gz" in kind else "x.json")
    path.write_bytes(gzip.compress(text.encode()) if "gz" in kind else text.encode())
    told = read_measured(path)

    assert told.times == pytest.approx({f"block_size_x={b} PER={p}": t
                                        for (b, p), t in TIMES.items()})  # fmt: skip
    assert set(told.problems) == {"block_size_x=4096 PER=1", "block_size_x=4096 PER=2"}
    assert told.parameters == ("block_size_x", "PER")


@pytest.mark.parametrize(
    ("old", "new"),
    [('"64,1": {', '"64,1": {{'), ('"PER": 2, "time"', '"time"'), ('"time": 4.0', '"time": -1')],
)
def test_a_broken_line_is_named(tmp_path: Path, old: str, new: str) -> None:
    """No JSON, a parameter that is missing, a time that is none: file and line."""
    text = cache_text(found(), "H200", "k", SPACE)
    line = text.count("\n", 0, text.index(old)) + 1
    path = tmp_path / "broken.json"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"broken\.json:{line}: "):
        read_measured(path)


@pytest.mark.parametrize("new", ['"value": "x"', '"value": null', '"value": -1', '"valu": 1'])
def test_a_broken_result_is_named(tmp_path: Path, new: str) -> None:
    """A T4 result whose time is no number."""
    text = t4_text(found(), "H200")
    at = text.index('"value": ')
    line = text.count("\n", 0, text.rindex('"configuration"', 0, at)) + 1
    path = tmp_path / "broken.json"
    path.write_text(text[:at] + new + text[at:].lstrip('"value: 0123456789.'))
    with pytest.raises(InputError, match=rf"broken\.json:{line}: .* is no time"):
        read_measured(path)


def test_kernel_tuner_reads_it(tmp_path: Path) -> None:
    """Its own reader takes the cache, its own schema the T4 results."""
    util = pytest.importorskip("kernel_tuner.util")
    files = pytest.importorskip("kernel_tuner.file_utils")
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "cache.json"
    path.write_text(cache_text(found(), "H200", "k", SPACE))
    cache = util.read_cache(str(path), open_cache=False)["cache"]

    assert {key: row["time"] for key, row in cache.items() if "time" in row} == {
        f"{b},{p}": t / 1e6 for (b, p), t in TIMES.items()
    }
    schema = files.output_file_schema("results")[1]
    jsonschema.validate(json.loads(t4_text(found(), "H200")), schema)


def test_agreement(tmp_path: Path) -> None:
    """Tau is SciPy's; the loss is that of the predicted best among measured times."""
    stats = pytest.importorskip("scipy.stats")
    pairs = [tuple(p) for p in np.random.default_rng(1).integers(1, 9, (50, 2)).astype(float)]
    path = tmp_path / "m.json"
    path.write_text(t4_text(found(), "H200").replace("2.0", "5.0"))

    assert kendall(pairs) == pytest.approx(stats.kendalltau(*zip(*pairs, strict=True)).statistic)
    assert agreement(found(), read_measured(path)).loss_percent == pytest.approx(25)
