"""Records which lanes of random programs of control flow run where, in which order.

`paths.py CUBINS OUT` needs CUBINS/paths.npz and CUBINS/carrier.cubin; `paths.py --make COUNT
CUBINS` writes the former without a GPU. Programs are those of programs.py with control flow
only. At every place each lane writes clock, the lanes it runs with and the place's number to
its own list; these lists are joined to one for each warp. Each program runs three times.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import assembler as a
import isolated
import numpy as np
import slots
import words as w
from cuda_driver import Driver
from session import Session

import fuzz
import programs

ROOM = 128  # places of a lane
LONGEST = 310
UNWRITTEN = 0xEEEEEEEE
_T, _IN = 8, 2
_CLOCK, _MASK, _PLACE, _NUMBER = 44, 45, 46, 47  # one row
_COUNT, _ADDRESS, _LIST, _BIT = 48, 50, 52, 54
_READ_CLOCK = w.put(0x50 << 72 | 0x7805, 16, 8, _CLOCK)  # CS2R.32 R, SR_CLOCKLO
_SHIFT = w.put(w.put(w.put(0x6FF << 64 | 0x7219, 16, 8, _BIT), 24, 8, _BIT), 32, 8, _T + 2)


class Traced(programs.Generator):
    """Control flow by predicates that are constants of the lanes."""

    def __init__(self, seed: int, size: int, yields: int) -> None:
        super().__init__(seed, [])
        self.program.is_ordered = self.has_masks = False
        self.size, self.yields, self.places = size, yields, 0

    def compute(self) -> None:
        """Gives a predicate to random lanes."""
        mask, roll = self.rng.getrandbits(32), self.rng.random()
        if roll < 0.2:
            mask &= self.rng.getrandbits(32)
        elif roll < 0.4:
            mask |= self.rng.getrandbits(32)
        elif roll < 0.45:
            mask = 1 << self.rng.randrange(32)
        self.give(self.rng.randrange(6), mask)

    vote = ticket = elect = uniform = exchange = share = compute

    def give(self, number: int, mask: int) -> None:
        """Sets a predicate in the lanes of a mask: LOP3, and ISETP.NE.AND Pn, PT, R, 0, PT."""
        test = w.put(w.put(0x03F05270 << 64 | 0x780C, 24, 8, _T), 81, 3, number)
        self.emit(a.logic(_T, _BIT, mask, 0xC0), w.controlled(test))

    def note(self) -> None:
        """Adds a place to the lists of the lanes that are here."""
        self.places += 1
        self.emit(w.controlled(_READ_CLOCK),
                  w.controlled(w.put(w.put(0x038E0100 << 64 | 0x7806, 16, 8, _MASK), 72, 2, 1)),
                  a.move(_PLACE, self.places), a.logic(_NUMBER, _COUNT, 0, 0xFC),
                  a.logic(_T, _COUNT, ROOM - 1, 0xC0), a.wide(_ADDRESS, _T, 16, _LIST),
                  a.store(_ADDRESS, 0, _CLOCK), a.add_value(_COUNT, _COUNT, 1))  # fmt: skip

    def leave(self, depth: int) -> None:
        """Some lanes end."""
        self.emit(self.guarded(a.leave()))

    def meet(self, depth: int) -> None:
        """BAR.SYNC outside of everything, else YIELD."""
        inner = [w.controlled(programs._FLOW | 0x7946)]
        self.emit(*(inner if depth else [w.controlled(programs._FLOW | 0x7948), a.barrier()]))

    def body(self, depth: int, limit: int = 5) -> None:
        """A few statements, a place behind each."""
        flow = [self.either] * 3 + [self.skip, self.loop, self.loop, self.call, self.switch]
        flow += [self.leave, self.gather] + [self.meet] * self.yields
        self.note()
        for _ in range(self.rng.randrange(1, limit)):
            roll = self.rng.random()
            if roll < 0.6 and depth < programs._DEPTH and len(self.program) < self.size:
                self.rng.choice(flow)(depth)
                self.note()
            elif roll < 0.8:
                self.compute()

    def write(self, first_row: int) -> programs.Program:
        """The whole program."""
        for i in range(4):
            row = (first_row + i) % (programs.POOL_ROWS // 2)
            self.emit(a.load(programs.DATA[4 * i], _IN, 4 * row * programs.ROW))
        self.emit(a.to_predicates(programs.DATA[0], 0x7F))
        for number in range(6):
            self.give(number, self.rng.getrandbits(32))
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.body(0)
        self.note()
        self.emit(a.leave())
        while self.functions:
            self.write_function(*self.functions.pop(0))
        return self.program


def generated(seed: int) -> programs.Program:
    """The program of a seed."""
    for attempt in range(200):
        rng = random.Random(seed * 977 + attempt)
        size, yields = rng.choice((60, 100, 160, 220)), rng.choice((0, 2, 4, 6))
        program = Traced(seed * 200 + attempt, size, yields).write(seed * 5)
        if 60 < len(program) <= LONGEST:
            return program
    raise ValueError(f"seed {seed} gives no program")


def kernel(program: programs.Program) -> programs.Kernel:
    """One kernel of one program."""
    code = [
        a.special(0, 33), a.descriptor(), a.parameter(_IN, a.PARAMETERS),
        a.parameter(_LIST, a.PARAMETERS + 8), a.wide(_IN, 0, 16, _IN),
        a.multiply_add(_T, 0, ROOM, w.RZ), a.wide(_LIST, _T, 16, _LIST), a.move(_COUNT, 0),
        a.special(_T + 2, 0), a.move(_BIT, 1), w.controlled(_SHIFT), a.barrier(),
    ]  # fmt: skip
    made = programs.Kernel(code)
    program.put_into(made, len(code))
    return made


def joined(lists: np.ndarray) -> list[np.ndarray]:
    """Of each warp what happened, in order: clock, lanes, place. From [thread, room, 4]."""
    found = []
    for own in lists.reshape(-1, 32 * ROOM, 4):
        rows = own[own[:, 2] != UNWRITTEN]
        if (rows[:, 3] >= ROOM).any():
            raise ValueError("a lane came by more places than its list has room for")
        rows = np.unique(rows[:, :3], axis=0)
        since = rows[:, 0] - rows[:1, 0]  # modulo 2**32
        rows = rows[np.argsort(since.view(np.int32), kind="stable")]
        found.append(rows)
    return found


class Bench:
    """Runs kernels."""

    def __init__(self, driver: Any, carrier: bytes, kernels: list[programs.Kernel]) -> None:
        self.driver, self.carrier, self.kernels = driver, carrier, kernels
        self.given = driver.upload(slots.pool())
        self.count = programs.THREADS * ROOM * 4
        self.out = driver.alloc(4 * self.count)

    def results(self, items: list[int]) -> dict[int, list[list[np.ndarray]]]:
        """Of each kernel what its two warps did, three times."""
        found = {}
        for i in items:
            own = self.kernels[i]
            cubin = a.carried(self.carrier, own.code, programs.REGISTER_COUNT, own.targets)
            module = self.driver.load(cubin)
            function, runs = self.driver.function(module, a.CARRIER), []
            for _ in range(3):
                self.driver.fill(self.out, 0xEE, 4 * self.count)
                cells = (self.given, self.out, self.out, slots.constants_cell())
                self.driver.launch(function, (1,), (programs.THREADS,), cells)
                self.driver.synchronize()
                out = self.driver.download(self.out, self.count, np.uint32)
                runs.append(joined(out.reshape(programs.THREADS, ROOM, 4)))
            self.driver.unload(module)
            found[i] = runs
        return found


def record(session: Session) -> None:
    """Writes paths_sm90.npz."""
    with np.load(session.cubins / "paths.npz") as data:
        kept = dict(data)
    carrier, found = session.cubin("carrier"), {}
    kernels = fuzz.as_kernels(kept)
    crew = isolated.Crew(lambda: Bench(Driver(), carrier, kernels).results, found.update, 60.0)
    errors = crew.run([[i] for i in range(len(kernels))])
    rows, keys = [], []
    for i, runs in sorted(found.items()):
        for warp, own in enumerate(runs[0]):
            agrees = all(np.array_equal(own[:, 1:], run[warp][:, 1:]) for run in runs[1:])
            keys.append((i, warp, len(own), agrees))
            rows.append(own)
    session.save("paths_sm90", **kept, keys=np.array(keys), rows=np.concatenate(rows))
    print(len(found), "programs recorded,", len(errors), "failed")


def main() -> None:
    """Makes programs, or records them."""
    if sys.argv[1:2] == ["--make"]:
        kernels = [kernel(generated(seed)) for seed in range(int(sys.argv[2]))]
        np.savez_compressed(Path(sys.argv[3]) / "paths.npz", **fuzz.as_arrays(kernels))
        return
    record(Session.of_command_line(__doc__))


if __name__ == "__main__":
    main()
