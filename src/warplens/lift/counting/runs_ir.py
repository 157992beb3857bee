"""Helper functions in LLVM IR that make use of offsets that rise with the lane.

Threads that walk along rows of their own access offsets that rise with the lane: what is the same
then stands side by side, and no lane need be compared with all others.
"""

from __future__ import annotations

from warplens.lift.vector_ir import P, V, splat

UP = "<" + ", ".join(f"i32 {max(0, i - 1)}" for i in range(32)) + ">"


def count_runs() -> dict[str, str]:
    """@wl.rises: lanes whose offset is not below that of the lane before.

    @wl.runs: of such offsets, how many different ones there are after a shift, on the lanes of a
    mask. @wl.runs.from: the same where the first lanes of equal ones are known. A run of lanes
    counts if one of its lanes is on: the lanes of a run but the last are added to all ones, so
    that the last lane's bit becomes their carry.
    """
    rises = f"""define internal i32 @wl.rises({V} %off) alwaysinline {{
  %before = shufflevector {V} %off, {V} poison, {V} {UP}
  %up = icmp uge {V} %off, %before
  %bits = bitcast {P} %up to i32
  ret i32 %bits
}}"""
    runs = f"""define internal i32 @wl.runs({V} %off, i32 %mask, i32 %grain) alwaysinline {{
  %before = shufflevector {V} %off, {V} poison, {V} {UP}
  %changed = xor {V} %off, %before
{splat("%gv", "%grain")}
  %starts = icmp uge {V} %changed, %gv
  %first = bitcast {P} %starts to i32
  %n = call i32 @wl.runs.from(i32 %first, i32 %mask)
  ret i32 %n
}}"""
    known = """define internal i32 @wl.runs.from(i32 %first, i32 %mask) alwaysinline {
  %next = lshr i32 %first, 1
  %last = or i32 %next, -2147483648
  %inner = xor i32 %last, -1
  %some = and i32 %mask, %inner
  %carry = add i32 %some, %inner
  %any = or i32 %carry, %mask
  %runs = and i32 %any, %last
  %n = call i32 @llvm.ctpop.i32(i32 %runs)
  ret i32 %n
}"""
    return {"wl.rises": rises, "wl.runs.from": known, "wl.runs": runs}


def _rows_of(n: int, otherwise: str) -> str:
    """Lines that load rows of so many neighbouring lanes each; other patterns go to a label."""
    leads = "<" + ", ".join(f"i32 {i - i % n}" for i in range(32)) + ">"
    steps = "<" + ", ".join(f"i32 {4 * (i % n)}" for i in range(32)) + ">"
    loads = "\n".join(
        f"""  %e{n}.{k}.o = extractelement {V} %win, i32 {n * k}
  %e{n}.{k}.z = zext i32 %e{n}.{k}.o to i64
  %e{n}.{k}.p = getelementptr i8, ptr %host, i64 %e{n}.{k}.z
  %e{n}.{k}.v = load <{n} x i32>, ptr %e{n}.{k}.p, align 4
  %e{n}.{k}.q = getelementptr i8, ptr %io, i64 {4 * n * k}
  store <{n} x i32> %e{n}.{k}.v, ptr %e{n}.{k}.q, align {4 * n}"""
        for k in range(32 // n)
    )
    return f"""  %lead{n} = shufflevector {V} %win, {V} poison, {V} {leads}
  %row{n} = add {V} %lead{n}, {steps}
  %ee{n} = icmp eq {V} %win, %row{n}
  %eb{n} = bitcast {P} %ee{n} to i32
  %em{n} = and i32 %eb{n}, %mask
  %is{n} = icmp eq i32 %em{n}, -1
  br i1 %is{n}, label %rows{n}, label %{otherwise}
rows{n}:
{loads}
  br label %fetched"""


def load_short_rows() -> str:
    """Lines that load four rows of eight lanes each, or eight of four, as tiles have them: a load
    for each, no gather.

    From offsets %win on %host to %io; other patterns go to label gather, these to label fetched.
    """
    return f"""{_rows_of(8, "fours")}
fours:
{_rows_of(4, "gather")}"""
