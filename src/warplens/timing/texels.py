"""Sectors of textures in the replay: which of them L1 and L2 hold.

A sector that L1 does not hold comes once for each SM that looks at it, from DRAM where L2 has not
got it either. None of that takes time here: samples have latencies of their own (dispatch.py).
"""

from __future__ import annotations

from warplens.timing import l1, l2
from warplens.timing.lsu import IDEAL_L1, has_access
from warplens.timing.state import Record, Records, Trace, stage


@stage
def look_up(sm: Record, sets: Records, spec: Record, inst: Record, trace: Trace, warp: Record,
            now: int) -> None:  # fmt: skip
    """Counts what a warp's samples bring into L1."""
    sm.tex_looked += inst.tex_sectors
    while has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        for place in range(access.first_line, access.first_line + access.n_lines):
            line, sectors = trace.lines[place] >> 4, trace.lines[place] & 15
            group = l1.find(sets, line)
            way = l1.look_up(group, line, now)
            missing = sectors & ~group.valid[way] if way >= 0 else sectors
            if missing == 0 or spec.ideal & IDEAL_L1:
                continue
            l1.fill(group, way if way >= 0 else -1 - way, line, missing, now, now, 0)
            sm.tex_missed += l2.count_bits(missing)
            l2.bring(sm, trace, place, missing, now)
