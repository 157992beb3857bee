"""What warps waited for: one bar per state, always in the same colour and with the same letter."""

from __future__ import annotations

from warplens.report.plots import Plot
from warplens.report.svg import Axis, box, figure, text
from warplens.result import STATE_LETTERS, LaunchResult

# Every state has a colour of its own; letters tell them apart without colours.
_COLOURS = {
    name: number
    for number, name in enumerate((
        "long_scoreboard", "short_scoreboard", "barrier", "wait", "lg_throttle", "selected",
        "membar", "not_selected", "mio_throttle", "math_pipe_throttle", "no_instruction",
        "branch_resolving", "drain", "dispatch_stall", "imc_miss", "tex_throttle", "sleeping",
        "gmma", "misc",
    ))
}  # fmt: skip


def colour_of(state: str) -> str:
    """The class of a state's colour."""
    return f"s{_COLOURS.get(state.replace(' ', '_'), 18)}"


def letter_of(state: str) -> str:
    """The letter of a state."""
    return STATE_LETTERS.get(state.replace(" ", "_"), "?")


_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def warp_states(launch: LaunchResult) -> tuple[tuple[str, float], ...]:
    """(state, warps per issue), the largest first; empty without a timing model."""
    head, tail = _STALL.split("{}")
    found = []
    for name, value in launch.metrics.items():
        if name.startswith(head) and name.endswith(tail):
            number = value.number
            if isinstance(number, int | float) and number > 0:
                found.append((name.removeprefix(head).removesuffix(tail), float(number)))
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


def warp_state_plot(launch: LaunchResult) -> Plot | None:
    """One bar per state, and all of them stacked on top."""
    states = warp_states(launch)
    if not states:
        return None
    total = sum(number for _, number in states)
    x = Axis(low=0, high=max(number for _, number in states), start=170, end=520)
    parts, left = [], 10.0
    for index, (name, number) in enumerate(states):
        width = 580 * number / total
        parts.append(
            f'<rect x="{left:.1f}" y="6" width="{max(width - 1, 0.5):.1f}" height="22" '
            f'class="state {colour_of(name)}"><title>{name.replace("_", " ")}: {number:.2f}</title>'
            "</rect>"
        )
        if width > 14:
            parts.append(text(left + width / 2, 22, letter_of(name), anchor="middle",
                              kind="letter onbar"))  # fmt: skip
        left += width
        y = 42 + 20 * index
        parts.append(text(164, y + 11, f"{name.replace('_', ' ')} {letter_of(name)}", anchor="end",
                          kind="tick"))
        parts.append(box(170, y, x.at(number) - 170, 14, f"state {colour_of(name)}"))
        parts.append(text(x.at(number) + 6, y + 11, f"{number:.2f} ~", kind="tick"))
    height = 52 + 20 * len(states)
    rows = tuple(
        (name.replace("_", " "), f"{number:.3f} ~", f"{100 * number / total:.1f} %")
        for name, number in states
    )
    note = (
        f"Warp cycles per issued instruction, by warp state; {total:.2f} in total. In each "
        "cycle a warp is in one state; 'selected' means that it issued."
    )
    told = ", ".join(f"{name} {number}" for name, number, _ in rows[:4])
    return Plot(title="Warp states", svg=figure(600, height, f"Warp states: {told}", parts),
                note=note, columns=("state", "warp cycles per issue", "share"),
                rows=rows)  # fmt: skip
