"""Compares the model of the multi-function unit with the hardware for all 2**32 inputs."""

from __future__ import annotations

import json
from pathlib import Path

import build
import numpy as np
from mufu import SELECTOR
from session import Session

DATA = Path(__file__).parents[2] / "src" / "warplens" / "isa" / "data" / "mufu_sm90.json"
TABLE_OF = {"COS": "sin", "RCP64H": "rcp", "RSQ64H": "rsq"}


def main() -> None:
    """Prints one line per function and writes mufu_check.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    tables = json.loads(DATA.read_text())["tables"]
    report: dict[str, object] = {"metadata": session.metadata()}
    for name, selector in SELECTOR.items():
        cubin = build.patched(
            session.cubin("mufu_check"), f"check_{name}", 0x308, 0xFFF, (74, 4, selector)
        )
        table = tables[TABLE_OF.get(name, name.lower())]
        rows = np.stack([np.array(table[k], np.int64) for k in ("c0", "c1", "c2")], axis=1)
        counts = driver.alloc(1024)
        driver.fill(counts, 0, 1024)
        function = driver.function(driver.load(cubin), f"check_{name}")
        driver.launch(function, (132 * 16,), (256,), (counts, driver.upload(rows)))
        driver.synchronize()
        found = driver.download(counts, 193, np.uint32)
        examples = found[1 : 1 + 3 * min(int(found[0]), 64)].reshape(-1, 3)
        report[name] = {"mismatches": int(found[0]), "examples": examples.tolist()}
        print(name, int(found[0]), [[hex(v) for v in row] for row in examples[:4]])
    (session.out / "mufu_check.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
