"""Records in which order the parts of diverged warps run, and the state of the warp's scheduler.

`turns.py CUBINS OUT` needs CUBINS/carrier.cubin. Small random programs of control flow with YIELD
and BREAK note at every place their clock, the lanes that are here, and, in a second run, what BMOV
reads: THREAD_STATE_ENUM (of each lane 0 ended, 1 ready, 3 at YIELD, 11 at WARPSYNC, 16 + n at BSYNC
of Bn), OPT_STACK (how many parts are put aside in bits 25 and above, and the lowest lane of each,
five bits each, the oldest lowest) and the masks of B0 to B4. Reading them changes no order.
"""

from __future__ import annotations

import random
from typing import Any

import assembler as a
import isolated
import numpy as np
import paths
import slots
import words as w
from cuda_driver import Driver
from session import Session

import programs

PROGRAMS, COUNT = 8, 4160  # of a kernel; recorded
ROOM, WORDS, REGISTERS = 512, 16, 96  # notes of a warp, words of a note
UNWRITTEN = 0xEEEEEEEE
# THREAD_STATE_ENUM.0 to .4, OPT_STACK, MACTIVE, MEXITED, B0 to B4
SOURCES = (16, 17, 18, 19, 20, 28, 26, 24, 0, 1, 2, 3, 4)
_NOTE, _COUNT, _ADDRESS, _LIST, _TOTAL = 64, 80, 82, 84, 20  # the last one a uniform register
_BREAK, _BSYNC, _YIELD, _WARPSYNC = 0x7942, 0x7941, 0x7946, 0x7348
MIXES = (
    ("either", "yield"), ("either", "skip", "yield"), ("either", "yield", "loop"),
    ("either", "break"), ("either", "break", "skip", "loop"), ("either", "break", "exit"),
    ("either", "break", "yield"), ("either", "break", "loop", "yield", "exit"),
    ("either", "yield", "exit"), ("either", "yield", "sync"), ("either", "break", "sync"),
    ("either", "switch", "yield", "break"), ("either", "call", "yield", "break", "exit"),
)  # fmt: skip


def note(place: int, sources: tuple[int, ...]) -> list[int]:
    """Adds clock, lanes, place, the number of the note and what `sources` hold to a list."""
    code = [
        w.controlled(w.put(0x50 << 72 | 0x7805, 16, 8, _NOTE)),
        w.controlled(w.put(w.put(0x038E0100 << 64 | 0x7806, 16, 8, _NOTE + 1), 72, 2, 1)),
        a.from_uniform(_COUNT, _TOTAL), a.uniform_add(_TOTAL, _TOTAL, 1),
        a.move(_NOTE + 2, place), a.multiply_add(_NOTE + 2, _COUNT, 1 << 16, _NOTE + 2),
    ]  # fmt: skip
    for i, source in enumerate(sources):
        word = w.put(w.put(0x7355, 16, 8, _NOTE + 3 + i), 24, 6, source)  # BMOV.32 R, source
        code.append(w.controlled(word, write=1))
    code += [a.logic(_COUNT, _COUNT, ROOM - 1, 0xC0), a.wide(_ADDRESS, _COUNT, WORDS * 4, _LIST)]
    return code + [a.store(_ADDRESS, 16 * i, _NOTE + 4 * i) for i in range(4 if sources else 1)]


class Small(paths.Traced):
    """A small program of some kinds of statements."""

    def __init__(self, seed: int, size: int, yields: int, sources: tuple[int, ...],
                 kinds: tuple[str, ...]) -> None:  # fmt: skip
        super().__init__(seed, size, yields)
        self.sources, self.kinds = sources, kinds

    def note(self) -> None:
        """Adds a place to the warp's list."""
        self.places += 1
        self.emit(*note(self.places, self.sources))

    def branch_to(self, label: int) -> None:
        """A plain branch."""
        self.emit(self.jump(label, 0, self.predicate()))

    def depart(self, depth: int, label: int) -> None:
        """Some lanes leave a barrier by BREAK and go to a label."""
        guard = self.predicate()
        leave = a.guarded(self.barrier_word(_BREAK, depth), *guard)
        self.emit(leave, self.jump(label, 0, guard))

    def loop(self, depth: int) -> None:
        """Counted by lanes' predicates; some leave by BREAK."""
        counter = programs._COUNTER + depth
        top, after, outside = self.label(), self.label(), self.label()
        self.emit(a.move(counter, 0))
        for _ in range(self.rng.randrange(1, 3)):
            more = a.add_value(counter, counter, self.rng.randrange(1, 3))
            self.emit(a.guarded(more, *self.predicate()))
        self.emit(self.region(depth, after), programs._Label(top))
        self.body(depth + 1, 3)
        if "break" in self.kinds and self.rng.random() < 0.6:
            self.depart(depth, outside)
        again = w.put(0x03F06270 << 64 | 0x780C, 24, 8, counter)  # ISETP.GE.AND Pn, PT, R, 0, PT
        again = w.put(w.put(again, 81, 3, programs._LOOPS), 32, 32, 0)
        self.emit(a.add_value(counter, counter, 0xFFFFFFFF), w.controlled(again),
                  self.jump(top, 0, (programs._LOOPS, False)), self.barrier_word(_BSYNC, depth),
                  programs._Label(after), programs._Label(outside))  # fmt: skip

    def escape(self, depth: int) -> None:
        """A region that some lanes leave by BREAK from its branches."""
        other, join, after = self.label(), self.label(), self.label()
        self.emit(self.region(depth, after))
        self.branch_to(other)
        self.body(depth + 1, 3)
        self.depart(depth, after)
        if self.rng.random() < 0.4:
            self.note()
        self.emit(self.jump(join), programs._Label(other))
        if self.rng.random() < 0.7:
            self.body(depth + 1, 3)
            if self.rng.random() < 0.3:
                self.depart(depth, after)
        self.emit(programs._Label(join), self.barrier_word(_BSYNC, depth), programs._Label(after))

    def gather(self, depth: int) -> None:
        """WARPSYNC of all lanes outside of everything, else now and then of those that are here."""
        if depth == 0:
            self.emit(w.controlled(programs._FLOW | 0x7948))
        elif self.rng.random() >= 0.5:
            word = w.put(programs._FLOW | _WARPSYNC, 24, 8, 8)
            self.emit(self.lanes_here(), w.controlled(word))

    def meet(self, depth: int) -> None:
        """YIELD."""
        self.emit(w.controlled(programs._FLOW | _YIELD))

    def body(self, depth: int, limit: int = 5) -> None:
        """A few statements, a place behind each."""
        table = {"either": [self.either] * 3, "skip": [self.skip], "loop": [self.loop] * 2,
                 "yield": [self.meet] * self.yields, "break": [self.escape] * 2,
                 "exit": [self.leave], "sync": [self.gather], "call": [self.call],
                 "switch": [self.switch]}  # fmt: skip
        flow = [f for kind in self.kinds for f in table[kind]]
        self.note()
        for _ in range(self.rng.randrange(1, limit)):
            roll = self.rng.random()
            if roll < 0.75 and self.places < self.size:
                made = self.rng.choice(flow)
                deep = made not in (self.meet, self.leave, self.gather)
                if (depth >= programs._DEPTH and deep) or (
                    depth >= 3 and made in (self.call, self.switch)
                ):
                    continue
                made(depth)
                self.note()
            elif roll < 0.85:
                self.compute()


def generated(seed: int, sources: tuple[int, ...] = ()) -> programs.Program:
    """The program of a seed. Programs with calls depend on how long a note is."""
    for attempt in range(300):
        rng = random.Random(seed * 1009 + attempt)
        size, yields = rng.choice((6, 8, 10, 14, 18)), rng.choice((1, 2, 3, 5))
        made = Small(seed * 300 + attempt, size, yields, sources, MIXES[seed % len(MIXES)])
        program = made.write(seed * 5)
        opcodes = {x & 0xFFF for x in program.items if isinstance(x, int)}
        if opcodes & {_YIELD & 0xFFF, _BREAK & 0xFFF} and 6 <= made.places <= 34:
            return program
    raise ValueError(f"seed {seed} gives no program")


def kernel(number: int, sources: tuple[int, ...] = ()) -> programs.Kernel:
    """The kernel of eight programs; block i runs the i-th of them."""
    code = [
        a.special(0, 33), a.special(8, 37), a.descriptor(), a.parameter(2, a.PARAMETERS),
        a.parameter(_LIST, a.PARAMETERS + 8), a.wide(2, 0, 16, 2),
        a.wide(_LIST, 8, ROOM * WORDS * 4, _LIST), a.special(10, 0), a.move(paths._BIT, 1),
        w.controlled(paths._SHIFT), a.uniform_add(_TOTAL, w.URZ, 0), a.barrier(),
    ]  # fmt: skip
    first = PROGRAMS * number
    made = [generated(seed, sources) for seed in range(first, first + PROGRAMS)]
    starts = [len(code) + 2 * len(made)]
    for program in made:
        starts.append(starts[-1] + len(program))
    programs.choose(code, starts[:-1])
    whole = programs.Kernel(code, count=PROGRAMS)
    for program, start in zip(made, starts, strict=False):
        program.put_into(whole, start)
    return whole


class Bench:
    """Runs kernels, by their numbers."""

    def __init__(self, driver: Any, carrier: bytes, sources: tuple[int, ...]) -> None:
        self.driver, self.carrier, self.sources = driver, carrier, sources
        self.given = driver.upload(slots.pool())
        self.count = PROGRAMS * ROOM * WORDS
        self.out = driver.alloc(4 * self.count)

    def results(self, items: list[int]) -> dict[int, list[np.ndarray]]:
        """Of each kernel the notes of its programs."""
        found = {}
        for i in items:
            own = kernel(i, self.sources)
            cubin = a.carried(self.carrier, own.code, REGISTERS, own.targets)
            module = self.driver.load(cubin)
            self.driver.fill(self.out, 0xEE, 4 * self.count)
            cells = (self.given, self.out, self.out, slots.constants_cell())
            function = self.driver.function(module, a.CARRIER)
            self.driver.launch(function, (PROGRAMS,), (32,), cells)
            self.driver.synchronize()
            out = self.driver.download(self.out, self.count, np.uint32)
            self.driver.unload(module)
            found[i] = noted(out.reshape(PROGRAMS, ROOM, WORDS))
        return found


def noted(lists: np.ndarray) -> list[np.ndarray]:
    """The notes that each program made; in place of the clock the cycles since the last one."""
    found = [own[: int((own[:, 0] != UNWRITTEN).sum())].copy() for own in lists]
    for own in found:
        own[1:, 0] = own[1:, 0] - own[:-1, 0]
        own[0, 0] = 0
    return found


def record(session: Session) -> None:
    """Writes turns_sm90.npz, kept as data/turns_sm90.npz.xz: orders, and orders with states."""
    arrays, carrier = {}, session.cubin("carrier")
    for name, sources in (("plain", ()), ("states", SOURCES)):
        found: dict[int, list[np.ndarray]] = {}
        crew = isolated.Crew(lambda s=sources: Bench(Driver(), carrier, s).results,  # type: ignore[misc]
                             found.update, 60.0)  # fmt: skip
        errors = crew.run([[i] for i in range(COUNT // PROGRAMS)])
        lists = [own for _, kept in sorted(found.items()) for own in kept]
        arrays[f"{name}_counts"] = np.array([len(own) for own in lists], np.int16)
        arrays[f"{name}_rows"] = np.concatenate(lists)[:, : WORDS if sources else 3]
        print(name, len(lists), "programs recorded,", len(errors), "kernels failed")
    session.save("turns_sm90", **arrays)


if __name__ == "__main__":
    record(Session.of_command_line(__doc__))
