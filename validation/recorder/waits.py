"""Records how long waits at mbarriers suspend, and what kernels that wait execute.

`waits.py CUBINS OUT` writes waits_sm90.json: cycles and nanoseconds of one look at an mbarrier that
nobody completes, looks and wake-up times of a warp that waits for another one, and instructions and
times of kernels that wait and of their siblings that do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from session import Session

from counters import Counters

KINDS = ("test_wait", "try_wait", "try_wait with a limit")
HINTS = (0, 20, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # nanoseconds
DELAYS = (100, 1_000, 10_000, 100_000, 1_000_000, 20_000_000)  # cycles
METRICS = ("smsp__inst_executed.sum", "smsp__thread_inst_executed.sum", "gpu__time_duration.sum",
           "sm__cycles_active.avg")  # fmt: skip
BLOCKS = 264
PAIRS = {
    "rounds_barrier": 256, "rounds_sync": 256, "chain_flags": 256, "chain_plain": 256,
    "list_lock": 128, "list_atomic": 128,
}  # fmt: skip


def single_looks(session: Session, module: Any) -> list[dict[str, Any]]:
    """Cycles and nanoseconds of looks that give up, of one warp and of sixteen."""
    driver, rows = session.driver, []
    function = driver.function(module, "waits_give_up")
    out = driver.alloc(16 * 4 * 3 * 8)
    for kind, name in enumerate(KINDS):
        for hint in HINTS if kind == 2 else (0,):
            for warps in (1, 16):
                driver.launch(function, (1,), (32 * warps,), (out, np.int32(kind), np.uint32(hint)))
                driver.synchronize()
                found = driver.download(out, warps * 12, np.uint64).reshape(warps, 4, 3)
                rows.append({"kind": name, "limit_ns": hint, "warps": warps,
                             "cycles": found[0, :, 0].tolist(), "ns": found[0, :, 1].tolist(),
                             "last_cycles": found[-1, :, 0].tolist(),
                             "done": found[:, :, 2].sum().item()})  # fmt: skip
    return rows


def waits(session: Session, module: Any) -> list[dict[str, Any]]:
    """Looks of a warp that waits for another one, and cycles from the arrival until it goes on."""
    driver, rows = session.driver, []
    function = driver.function(module, "waits_until")
    out = driver.alloc(24)
    cases = [(0, 0), (1, 0), (2, 20), (2, 1_000), (2, 1_000_000)]
    for kind, hint in cases:
        for delay in DELAYS:
            arguments = (out, np.int32(kind), np.uint32(hint), np.int64(delay))
            driver.launch(function, (1,), (64,), arguments)
            driver.synchronize()
            looks, total, after = driver.download(out, 3, np.int64).tolist()
            rows.append({"kind": KINDS[kind], "limit_ns": hint, "delay": delay, "looks": looks,
                         "cycles": total, "after_arrival": after})  # fmt: skip
    return rows


def pairs(session: Session, module: Any) -> list[dict[str, Any]]:
    """Instructions and times of kernels that wait and of their siblings."""
    driver, rows = session.driver, []
    floats = driver.alloc(BLOCKS * 256 * 4)
    other = driver.alloc(BLOCKS * 4 + 64)
    third = driver.alloc(BLOCKS * 4 + 64)
    counters = Counters(driver.context, str(session.cubins / "counters.so"))
    counters.configure(METRICS)

    def prepare() -> None:
        for place, size in ((floats, BLOCKS * 1024), (other, BLOCKS * 4), (third, BLOCKS * 4)):
            driver.fill(place, 0, size)

    for name, block in PAIRS.items():
        function = driver.function(module, name)
        arguments = (floats, np.int32(20)) if name.startswith("rounds") else (floats, other, third)
        run = lambda f=function, b=block, a=arguments: driver.launch(f, (BLOCKS,), (b,), a)  # noqa: E731
        for _ in range(3):
            rows.append({"kernel": name, **counters.measure(run, prepare, driver.synchronize)})
    counters.close()
    return rows


def main() -> None:
    """Writes waits_sm90.json."""
    session = Session.of_command_line(__doc__)
    module = session.driver.load(session.cubin("waits"))
    columns = ("looks", "waits", "pairs")
    rows = [single_looks(session, module), waits(session, module)]
    session.save_rows("waits_sm90_looks", columns, rows)
    if not session.dry_run:
        session.save_rows("waits_sm90", columns, [*rows, pairs(session, module)])


if __name__ == "__main__":
    main()
