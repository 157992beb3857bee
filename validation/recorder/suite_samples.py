"""Samples at which instructions warps of launches of suites are found, and in which state.

    python suite_samples.py CUBINS OUT [KEY ...]

CUBINS are those of `suite_launches.py --build`; KEY is part of a launch's name, none: all of them.
Each launch finds its arrays as they were first, and L2 full of clean lines of another array. The
sampler looks at one warp of a sub-partition after another, so times in which an SM holds few warps
count for more than in sums of cycles.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter

from samples import Samples
from session import Session
from suite_launches import Launches

from warplens.session.written_arguments import parse

LOG2_PERIOD = 7  # cycles between two samples of a sub-partition
LAUNCHES = 4
COLUMNS = ("offset", "state", "samples")


def main() -> None:
    """Writes sampled_states_sm90.json.xz."""
    keys = [text for text in sys.argv[3:] if not text.startswith("-")]
    sys.argv[3:] = [text for text in sys.argv[3:] if text.startswith("-")]
    session = Session.of_command_line(__doc__)
    bench = Launches(session)
    samples = None if session.dry_run else Samples(session.driver.context, LOG2_PERIOD)
    found = {}
    for case in json.loads((session.cubins / "cases.json").read_text()):
        if keys and not any(key in case["key"] for key in keys):
            continue
        given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
        placed = bench.placed(case, given)
        placed.launch()
        total: Counter[tuple[int, str]] = Counter()
        for _ in range(LAUNCHES):
            placed.prepare()
            if samples is not None:
                total += samples.of(case["symbol"], placed.launch, session.driver.synchronize)
        found[case["key"]] = [(*place, count) for place, count in sorted(total.items())]
        placed.free()
    how = {"log2_period": LOG2_PERIOD, "launches": LAUNCHES}
    data = {"metadata": {**session.metadata(), **how}, "columns": COLUMNS, "cases": found}
    with lzma.open(session.out / "sampled_states_sm90.json.xz", "wt") as file:
        json.dump(data, file)
    print(len(found), "launches")


if __name__ == "__main__":
    main()
