"""Records how many wavefronts shared and global accesses of every width take, by lane pattern."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from session import Session

from counters import Counters

Indices = npt.NDArray[np.int32]
LANE = np.arange(32)
KINDS = ("load", "store", "global")
KERNELS = [f"join_{kind}_{width}" for kind in KINDS for width in (32, 64, 128)]
METRICS = [
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_lgds_cmd_read.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
]


def patterns() -> dict[str, Indices]:
    """Named and random lane patterns; -1 is an inactive lane."""
    found: dict[str, Any] = {"linear": LANE, "none_active": LANE * 0 - 1}
    for bit in (1, 2, 4, 8, 16):
        found[f"same_xor{bit}"] = LANE & ~bit
        packed = np.unique(LANE & ~bit, return_inverse=True)[1]
        found[f"same_xor{bit}_packed"] = packed
        found[f"same_xor{bit}_conflict"] = packed * 16
        found[f"same_xor{bit}_low_half"] = np.where(LANE < 16, packed, LANE + 64)
        found[f"same_xor{bit}_one_lane_off"] = np.where(LANE == 5, 200, packed)
        found[f"only_bit{bit}_set"] = np.where(LANE & bit, LANE, -1)
        found[f"only_bit{bit}_clear"] = np.where(LANE & bit, -1, LANE)
    for count in (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31):
        found[f"first_{count}"] = np.where(count > LANE, LANE, -1)
        found[f"last_{count}"] = np.where(32 - count <= LANE, LANE, -1)
    rng = np.random.default_rng(5)
    for k in range(100):
        span = int(rng.choice([2, 4, 8, 16, 32, 64, 256, 900]))
        index = rng.integers(0, span, 32)
        if k % 4 == 1:
            index[1::2] = index[0::2]
        if k % 4 == 2:
            index[2::4], index[3::4] = index[0::4], index[1::4]
        if k % 3 == 0:
            index = np.where(rng.random(32) < rng.choice([0.3, 0.7, 0.9]), index, -1)
        found[f"random{k}"] = index
    return {k: v.astype(np.int32) for k, v in found.items()}


def main() -> None:
    """Records every kernel on every pattern."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("joins"))
    functions = {name: driver.function(module, name) for name in KERNELS}
    cases = patterns()
    if session.dry_run:
        print(len(cases), "patterns")
        return
    out = driver.alloc(4096)
    counters = Counters(driver.context, str(session.cubins / "counters.so"))
    counters.configure(METRICS)
    table = np.zeros((len(KERNELS), len(cases), len(METRICS)))
    for i, name in enumerate(KERNELS):
        for j, index in enumerate(cases.values()):
            given = np.zeros(1 << 16, np.int32)
            given[:32] = index
            source = driver.upload(given)

            def launch(f: Any = functions[name], s: Any = source) -> None:
                driver.launch(f, (1,), (32,), (out, s))

            values = counters.measure(launch, lambda: None, driver.synchronize)
            table[i, j] = [values[m] for m in METRICS]
    counters.close()
    session.save(
        "joins_sm90", kernels=np.array(KERNELS), patterns=np.array(list(cases)),
        index=np.stack(list(cases.values())), metrics=np.array(METRICS), values=table,
    )  # fmt: skip
    print(table.shape)


if __name__ == "__main__":
    main()
