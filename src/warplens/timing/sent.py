"""Stores on their way from an SM to L2: which of them are sent together, and what of their sectors
is written in part."""

from __future__ import annotations

from warplens.timing import l2
from warplens.timing.state import SENT, STORED, Record, Trace, stage

# What is stored to a line is sent with what was stored to it before if that has not left yet: 24
# lines of a warp later it has not, 32 later it has (joined_stores_sm90.json); and it leaves so many
# cycles after the store began, and as many more for each of its lines, one line so many cycles
# after the other and more for each of all; later if accesses wait for the SM's units, which they
# share, or L2 is so much behind that the SM's stores wait, half of what it takes
# (stores_apart_sm90.json)
_LINES_KEPT, _TAKEN = 30, 0.5
_KEPT, _KEPT_LINE, _LINES_APART, _LINE_APART = 8.5, 2.2, 1.0, 0.11
# Where stores wait so many cycles, those of all sub-partitions take turns: of so many lines between
# two of a warp all are in time, of so many more none (the same recording)
STORES_WAIT, _ALL_IN_TIME, _NONE_IN_TIME = 100.0, 24.0, 36.0
# Cycles within which this holds for what other warps store, of parts of words only if no more lines
# come between (warps whose lanes store a byte to 16 lines each: generate_nms_bitmap of a public
# suite, whose stores are joined once in seven times); of how many stores the last ones tell whether
# others come in time (same_words_sm90.json)
_IN_TIME, _OF_OTHERS, _REMEMBERED = 60.0, 8, 16.0
# A line that is stored to again within so many cycles, but not in time, and not loaded meanwhile,
# is lost to L1 if the store has more lines of a kind than these, by the last bits of their numbers
# (fitted to stored_soon_sm90.json)
_AGAIN, _OF_A_KIND, _KINDS = 300.0, 2, 16
# Cycles from such a store until loads have its line, and until they ask L2 for one that is lost
# (the same recording)
_SETTLED, _LEFT_L1 = 400.0, 230.0
# The same for stores that come in no order, and where L2 is behind (flags_sm90.json); cycles
# between stores that are far apart
_IN_NO_ORDER, _IN_TIME_BEHIND, _APART = 30.0, 120.0, 1024.0


@stage
def joined(sm: Record, trace: Trace, place: int, busy: float, between: int, narrow: bool,
           index: int, now: float) -> int:  # fmt: skip
    """Sectors of a store's line that are sent with what an earlier store wrote of the line a moment
    ago, and << 4 those that it and others of its warp write as a whole, if these come in time as
    the last ones did. `busy`: for how long loads have passed L1's data; `between`: lines of stores
    that wait and come before the warp's next one."""
    line, sectors, likely = trace.lines[place] >> 4, trace.lines[place] & 15, trace.joins[place]
    slot = _sent_as(line)
    sm.lines_sent += 1
    since = sm.lines_sent - sm.sent_number[slot]
    is_same = sm.sent_line[slot] == line
    if trace.shares[place] > 0.0:
        is_late = _too_late(sm, slot, is_same, now)
    elif likely & 15 == 0:
        is_late = now - sm.sent_at[slot] > _IN_TIME
        is_late |= narrow and since > _OF_OTHERS and sm.sent_warp[slot] != index
    else:
        is_late = _has_left(sm, slot, busy, between, now)
    in_time = is_same and since <= _LINES_KEPT and not is_late
    before = _join(sm, slot, line, sectors, in_time, index, now)
    if likely & 15:
        sm.sent_in_time += (float(in_time) - sm.sent_in_time) / _REMEMBERED
    whole = likely & 0xF0 if in_time or sm.sent_in_time > 0.5 else 0
    return int(before | whole)


@stage
def joined_local(sm: Record, line: int, sectors: int, busy: float, between: int,
                 index: int, now: float) -> int:  # fmt: skip
    """The same for local memory (stored_again_sm90.json: bytes of one word after another)."""
    slot = _sent_as(line)
    sm.lines_sent += 1
    is_kept = sm.sent_line[slot] == line and sm.lines_sent - sm.sent_number[slot] <= _LINES_KEPT
    in_time = is_kept and not _has_left(sm, slot, busy, between, now)
    return _join(sm, slot, line, sectors, in_time, index, now)


@stage
def _has_left(sm: Record, slot: int, busy: float, between: int, now: float) -> bool:
    """Whether an earlier store has been sent on by its own."""
    return bool(now - busy > sm.sent_left[slot] or _passed_by(sm, between))


@stage
def _join(sm: Record, slot: int, line: int, sectors: int, in_time: bool, index: int,
          now: float) -> int:  # fmt: skip
    """Notes a warp's store to a line, and gives the sectors that earlier ones sent with it
    write."""
    before = sm.sent_sectors[slot] if in_time else 0
    if not in_time:
        sm.sent_warp[slot] = index
    sm.sent_line[slot], sm.sent_at[slot], sm.sent_number[slot] = line, now, sm.lines_sent
    sm.sent_sectors[slot] = before | sectors
    return int(before)


@stage
def _stored_as(line: int) -> int:
    """Where a line is noted among those that loads may have to wait for."""
    return int((line ^ line >> 8) % STORED)


@stage
def is_again(sm: Record, line: int, now: float) -> bool:
    """Whether a line that is stored to was stored to a moment ago, too, and not loaded since."""
    at = _stored_as(line)
    found = sm.stored_line[at] == line and now - sm.stored_at[at] <= _AGAIN
    sm.stored_line[at], sm.stored_at[at], sm.stored_until[at] = line, now, 0.0
    return bool(found)


@stage
def is_lost(trace: Trace, first: int, count: int, line: int) -> bool:
    """Whether L1 loses a line that is stored to again, on its own, with the other lines of the
    store."""
    alike = 0
    for i in range(first, first + count):
        alike += int((trace.lines[i] >> 4) % _KINDS == line % _KINDS)
    return alike > _OF_A_KIND


@stage
def settle(sm: Record, line: int, is_lost: bool, now: float) -> None:
    """Loads of a line that was stored to again have to wait."""
    sm.stored_until[_stored_as(line)] = now + (_LEFT_L1 if is_lost else _SETTLED)


@stage
def loaded(sm: Record, line: int) -> float:
    """A line is loaded: until when that has to wait for what was stored to it."""
    at = _stored_as(line)
    if sm.stored_line[at] != line:
        return 0.0
    sm.stored_at[at] = -_AGAIN - 1.0
    return float(sm.stored_until[at])


@stage
def leave_at(sm: Record, spec: Record, lines: int, begin: float, now: int) -> float:
    """When a store of so many lines leaves the SM that begins and was issued then."""
    return float(max(_stores_go(sm, spec), 2.0 * begin - now) + _KEPT + _KEPT_LINE * lines)


@stage
def note_leaving(sm: Record, line: int, leaves: float, lines: int, number: int,
                 index: int) -> None:  # fmt: skip
    """Notes when a line of a warp's store leaves, by which of its lines it is. What another warp
    has stored to the line and has not left yet goes when it would have gone without this one
    (leaving_lanes_sm90.json)."""
    slot = _sent_as(line)
    if sm.sent_warp[slot] == index:
        sm.sent_left[slot] = leaves + (_LINES_APART + _LINE_APART * lines) * number


@stage
def _stores_go(sm: Record, spec: Record) -> float:
    """When the stores that wait in the SM begin to leave."""
    behind = sm.partial_free - spec.partial_held * _TAKEN
    return float(max(sm.port_write_free, behind))


@stage
def _sent_as(line: int) -> int:
    """Where a line is remembered among those that were stored to."""
    return int((line ^ line >> 6 ^ line >> 36) % SENT)


@stage
def _passed_by(sm: Record, between: int) -> bool:
    """Whether so many lines of other warps' stores come before a warp's next store and take the
    places of what it stored; evenly often."""
    lot = l2.lot(int(sm.lines_sent) >> 4)
    return bool(between > _ALL_IN_TIME + lot * (_NONE_IN_TIME - _ALL_IN_TIME))


@stage
def _too_late(sm: Record, slot: int, is_same: bool, now: float) -> bool:
    """Whether a store to a line that most blocks store to is sent on its own: stores of other warps
    come in no order, those of the replay too much together, so the mean time between them tells how
    many are. More are joined while L2 is behind with that line."""
    if not is_same:
        sm.sent_gap[slot], sm.sent_again[slot] = _APART, 0.0
        return True
    gap = min(now - sm.sent_at[slot], _APART)
    sm.sent_gap[slot] += (gap - sm.sent_gap[slot]) / _REMEMBERED
    x = (_IN_TIME_BEHIND if sm.behind > now else _IN_NO_ORDER) / max(1.0, sm.sent_gap[slot])
    sm.sent_again[slot] += 1.0 / (1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0)))  # nearly exp(-x)
    if sm.sent_again[slot] < 1.0:
        return False
    sm.sent_again[slot] -= 1.0
    return True


@stage
def in_part(trace: Trace, place: int, together: int, lacking: float, is_first: bool,
            is_last: bool) -> int:  # fmt: skip
    """Sectors of a store's line that it writes in part; `lacking`: what it leaves out of all of
    its sectors, in sectors: of a stretch less than two, at both ends. `together`: see `joined`."""
    sectors = trace.lines[place] & 15
    partial = l2.count_bits(sectors) if lacking >= 2.0 else 0
    if 0.0 < lacking < 2.0:
        partial = min(l2.count_bits(sectors), int(is_first) + int(is_last))
    if partial:
        partial = min(partial, l2.count_bits(sectors & ~(together >> 4)))
    return int(partial)
