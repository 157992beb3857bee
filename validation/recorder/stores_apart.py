"""Counts which of two stores of a warp to the same sectors L1 sends on together: by the time
between them, lines that each touches, warps, how much else they store and what others load."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

# bytes of a lane's store, from one lane to the next: 1, 2, 4, 8 and 16 lines
SHAPES = (2, 4), (4, 8), (16, 32), (4, 16), (2, 16), (4, 32), (4, 64)
STEPS = 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128  # waits of the warp for itself between
STALLS = 1, 2, 4, 6, 8, 10  # cycles between two stores that follow each other
WARPS = 1, 4, 8, 16, 32  # of an SM
RESTS = 0, 60
LOADS = (0, 0, 0), (8, 16, 400), (8, 64, 60), (8, 256, 0)  # warps that load, how often, their rests
ROUNDS, SMS = 32, 132
STORE, MASK, STALL = 0x986, 0xFFF, 105  # the opcode of a store, and where cycles of stall stand
METRICS = (
    "sm__cycles_active.avg", "lts__t_requests_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
)  # fmt: skip
COLUMNS = ("bytes", "pitch", "warps", "rest", "loads", "steps", "stall", "between", *METRICS)


def stalled(cubin: bytes, cycles: int) -> bytes:
    """The machine code with so many cycles between any two stores that follow each other."""
    code = bytearray(cubin)
    for at in range(0, len(code) - 31, 8):
        first, second = (int.from_bytes(code[i : i + 16], "little") for i in (at, at + 16))
        if first & MASK == STORE == second & MASK:
            first = first & ~(31 << STALL) | (16 | cycles) << STALL
            code[at : at + 16] = first.to_bytes(16, "little")
    return bytes(code)


def main() -> None:
    """Writes stores_apart_sm90.json; `between`: mean cycles from before one store to behind the
    next."""
    session = Session.of_command_line(__doc__)
    driver, cubin = session.driver, session.cubin("stores_apart")
    gaps = [(steps, 0, driver.load(cubin)) for steps in STEPS]
    gaps += [(0, cycles, driver.load(stalled(cubin, cycles))) for cycles in STALLS]
    out, data = driver.alloc(4 * SMS * 32), session.zeros(SMS * 32 * ROUNDS * 32 * 64 + 128)
    counted = counter_of(session, METRICS)
    rows = []
    for (size, pitch), warps, rest, (loading, loads, load_rest), (steps, stall, module) in (
        itertools.product(SHAPES, WARPS, RESTS, LOADS, gaps)
    ):
        if loading and (warps > 8 or not rest):
            continue
        function = driver.function(module, f"apart_{size}_{steps}")
        numbers = pitch, ROUNDS, rest, warps, loads, load_rest
        given = out, data, *(np.uint32(one) for one in numbers)
        launch = partial(driver.launch, function, (SMS,), (32 * (warps + loading),), given)
        found = counted(launch)
        took = driver.download(out, SMS * (warps + loading), np.uint32).reshape(SMS, -1)
        between = round(float(took[:, :warps].mean()) / ROUNDS, 1)
        rows.append((size, pitch, warps, rest, loads, steps, stall, between, *found))
    session.save_rows("stores_apart_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
