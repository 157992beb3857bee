"""Records what warps that load constants by indices are counted to wait for, by how many different
words their lanes ask for and by warps."""

from __future__ import annotations

import itertools

import numpy as np
from launches import STATES
from session import Session

from counters import counter_on_all_sms

KERNELS = "chase", "four", "mixed"  # see constants.cu
GROUPS, WARPS, TURNS = (1, 2, 4, 8, 32), (1, 4, 8, 16, 32), 256
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kernel", "groups", "warps", *METRICS)  # of 132 blocks of so many warps


def main() -> None:
    """Writes constant_states_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("constants"))
    out = driver.alloc(8 * 32)
    counted = counter_on_all_sms(session, METRICS)
    rows = []
    for kernel, groups, warps in itertools.product(KERNELS, GROUPS, WARPS):
        function = driver.function(module, kernel)
        given = out, *(np.uint32(n) for n in (6 - groups.bit_length(), 1, TURNS))
        rows.append((kernel, groups, warps, *counted(function, warps, given)))
    session.save_rows("constant_states_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
