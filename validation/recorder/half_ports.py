"""Measures what fused products of halves cost a sub-partition: operands of one bank, kept for
reuse, taken as pairs or as one half twice; see ports.py."""

from __future__ import annotations

import itertools
from functools import partial

import ports
from session import Session
from words import controlled

FORMS = {  # words whose registers are replaced
    "pairs": 0xFCC00000000070000000002027231,
    "low": 0x1FC4000000083D000000274E737231,
    "high": 0x80FE40000000C730000001F4E3A7231,
}
WARPS = 1, 2, 4
COLUMNS = "form", "a", "b", "bank_b", "bank_c", "warps", "cycles"


def placed(word: int, free: list[int], i: int, *, form: str, a: str, b: str, bank_b: int,
           bank_c: int) -> int:  # fmt: skip
    """The i-th instruction of the loop."""
    plain = controlled(FORMS[form], stall=ports.RUN, wait=0)
    return ports.instruction(plain, free, i, ((a, 0), (b, bank_b)), bank_c)


def main() -> None:
    """Writes half_ports_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench, cubin = ports.Bench(session), session.cubin("ports")
    rows = []
    for form, a, b, bank_b, bank_c in itertools.product(
        FORMS, ports.STATES, ports.STATES, (0, 1), (0, 1)
    ):
        made = ports.pattern(
            cubin, "ffma", partial(placed, form=form, a=a, b=b, bank_b=bank_b, bank_c=bank_c)
        )
        for warps in WARPS:
            rows.append((form, a, b, bank_b, bank_c, warps, bench.cycles(made, "ffma", warps)))
    session.save_rows("half_ports_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
