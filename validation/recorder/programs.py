"""Random programs of machine code with control flow, several in one kernel.

A program works on sixteen data registers, six predicates and shared memory. It is built from
statements: recorded forms of instructions, branches of every kind with and without a convergence
barrier, jumps through registers, loops whose lanes leave at different times, BREAK, nested calls,
early EXIT, WARPSYNC, votes, shuffles, uniform predicates, barriers. Every lane notes in a hash
which places it came by, in half of the programs also with which other lanes; some programs draw
tickets, which tell in which order the parts of a warp ran.

Every program ends: loops count down, branches else go forward, and lanes leave a convergence region
only by its BSYNC, by BREAK or by EXIT.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import assembler as a
import words as w

THREADS = 64
ROW = THREADS * 16
ROWS = 7  # of a program's results: 4 data, hash and predicates, shared memory, hash at exit
POOL_ROWS = 512
SHARED = 0x400
DATA = range(16, 32)
REGISTER_COUNT = 64
LONGEST = 300  # instructions of a program
PROGRAMS = 16  # of a kernel
_IN, _OUT, _OWN, _TICKETS = 2, 4, 6, 7
_T, _ONE = 8, 15  # temporaries 8 to 14
_HASH, _ORDER, _MASKS, _PREDICATES = 32, 33, 34, 35  # one row
_RETURN, _COUNTER = 36, 40  # two pairs; a counter for each depth
_LOOPS = 6  # the predicate of loops and of masks
_DEPTH = 4
_BRA, _BSSY, _BSYNC, _BREAK = 0x7947, 0x7945, 0x7941, 0x7942
_FLOW = 0x03800000 << 64
_ANY = 1 << 84  # of a BRA.U
COMPUTED = (0x949, 0x950)  # BRX and RET add their register to an address


@dataclass(frozen=True)
class Piece:
    """An instruction that programs may contain.

    Attributes:
        word: with any registers.
        registers: where they stand.
        predicates: where predicates stand.
        is_variable: it signals its end by a scoreboard.
    """

    word: int
    registers: tuple[int, ...]
    predicates: tuple[int, ...]
    is_variable: bool


@dataclass
class _Jump:
    """An instruction with a label in place of its target."""

    word: int
    label: int
    is_region: bool = False  # BSSY keeps its target in fewer bits


@dataclass
class _Label:
    number: int


@dataclass
class _Address:
    """A move of a label's address in the kernel to a register."""

    register: int
    label: int
    guard: tuple[int, bool] = (w.PT, False)


@dataclass
class _Switch:
    """BRX, and where it may go."""

    word: int
    labels: list[int]


@dataclass
class Kernel:
    """The code of one kernel, where the BRX at each byte offset may go, and its programs."""

    code: list[int] = field(default_factory=list)
    targets: dict[int, list[int]] = field(default_factory=dict)
    count: int = PROGRAMS


@dataclass
class Program:
    """The statements of one program."""

    items: list[int | _Jump | _Label | _Address | _Switch] = field(default_factory=list)
    is_ordered: bool = False

    def __len__(self) -> int:
        return sum(not isinstance(item, _Label) for item in self.items)

    def put_into(self, kernel: Kernel, start: int) -> None:
        """Adds its words to a kernel, in which it begins at instruction `start`."""
        places, at = {}, start
        for item in self.items:
            if isinstance(item, _Label):
                places[item.number] = at
            else:
                at += 1
        code: list[int] = []
        for item in self.items:
            here = start + len(code)
            if isinstance(item, int):
                code.append(item)
            elif isinstance(item, _Address):
                move = a.move(item.register, 16 * places[item.label])
                code.append(a.guarded(move, *item.guard))
            elif isinstance(item, _Switch):
                kernel.targets[16 * here] = [16 * places[label] for label in item.labels]
                code.append(item.word)
            elif isinstance(item, _Jump):
                distance = places[item.label] - here - 1
                if item.is_region:
                    code.append(w.put(item.word, 34, 30, 4 * distance))
                else:
                    code.append(a.with_target(item.word, distance))
        # these go to an address in the kernel: their target is the kernel's begin
        kernel.code += [
            a.with_target(x, -(start + i + 1)) if x & 0xFFF in COMPUTED else x
            for i, x in enumerate(code)
        ]


class Generator:
    """Writes one program."""

    def __init__(self, seed: int, pieces: Sequence[Piece]) -> None:
        self.rng = random.Random(seed)
        self.pieces = pieces
        self.program = Program()
        self.program.is_ordered = self.rng.random() < 0.25
        self.labels = 0
        self.regions = 0
        self.functions: list[tuple[int, int, int]] = []  # label, depth, level
        self.has_masks = self.rng.random() < 0.5
        self.level = 0  # of functions: each has a register for its return

    # --- parts

    def emit(self, *items: int | _Jump | _Label | _Address | _Switch) -> None:
        """Adds to the program."""
        self.program.items += items

    def label(self) -> int:
        """A new label."""
        self.labels += 1
        return self.labels

    def data(self) -> int:
        """A data register."""
        return self.rng.choice(DATA)

    def predicate(self) -> tuple[int, bool]:
        """A data predicate, maybe negated."""
        return self.rng.randrange(6), self.rng.random() < 0.5

    def guarded(self, word: int) -> int:
        """The word under a random predicate."""
        return a.guarded(word, *self.predicate())

    def jump(self, label: int, kind: int = 0, guard: tuple[int, bool] | None = None) -> _Jump:
        """BRA; kind 1 .U, 2 .DIV, 3 .CONV."""
        word = a.guarded(w.controlled(_FLOW | _BRA | kind << 32), *(guard or (7, False)))
        return _Jump(word, label)

    def region(self, barrier: int, label: int) -> _Jump:
        """BSSY."""
        return _Jump(w.controlled(_FLOW | _BSSY | barrier << 16), label, True)

    def barrier_word(self, opcode: int, barrier: int) -> int:
        """BSYNC or BREAK."""
        return w.controlled(_FLOW | opcode | barrier << 16)

    # --- statements

    def compute(self) -> None:
        """A recorded form on data registers."""
        piece = self.rng.choice(self.pieces)
        word = piece.word
        for low in piece.registers:
            word = w.put(word, low, 8, self.data())
        numbers = self.rng.sample(range(6), len(piece.predicates))  # no two results in one place
        for low, number in zip(piece.predicates, numbers, strict=True):
            word = w.put(word, low, 3, number)
        if self.rng.random() < 0.3:
            word = self.guarded(word)
        self.emit(w.controlled(word, write=1 if piece.is_variable else w.NO_SCOREBOARD))

    def note(self) -> None:
        """Notes in the lane's hash that it was here."""
        self.emit(a.multiply_add(_HASH, _HASH, 0x01000193, _HASH),
                  a.logic(_HASH, _HASH, self.rng.getrandbits(32), 0x3C))  # fmt: skip
        if self.has_masks:
            self.emit(self.lanes_here(), a.multiply_add(_MASKS, _MASKS, 5, _T))

    def lanes_here(self) -> int:
        """VOTE.ANY R, PT, PT: the mask of the lanes that run together."""
        return w.controlled(w.put(w.put(0x038E0100 << 64 | 0x7806, 16, 8, _T), 72, 2, 1))

    def ticket(self) -> None:
        """Draws a number that tells which part of the warp was here first."""
        draw = w.put(w.put(w.put(0x738C, 16, 8, _T), 24, 8, _TICKETS), 32, 8, _ONE)
        self.emit(w.controlled(draw, write=1), a.multiply_add(_ORDER, _ORDER, 33, _T))

    def vote(self) -> None:
        """Which lanes are here, and for which a predicate holds."""
        word = w.put(0x000E0100 << 64 | 0x7806, 72, 2, self.rng.choice((0, 1, 1, 2)))
        number, negated = self.predicate()
        word = w.put(w.put(word, 87, 3, number), 90, 1, negated)
        word = w.put(word, 81, 3, self.rng.randrange(6))
        self.emit(w.controlled(w.put(word, 16, 8, _T)), a.multiply_add(_MASKS, _MASKS, 9, _T))

    def elect(self) -> None:
        """One of the lanes that are here."""
        word = w.put(0x03800000 << 64 | 0x3F782F, 81, 3, self.rng.randrange(6))
        self.emit(w.controlled(word))

    def uniform(self) -> None:
        """A vote into uniform registers, an instruction under a uniform predicate, and back."""
        vote = w.put(0x000E0100 << 64 | 0x07886, 72, 2, self.rng.choice((0, 1, 2)))
        number, negated = self.predicate()
        vote = w.put(w.put(w.put(vote, 87, 3, number), 90, 1, negated), 81, 3, 2)
        vote = w.put(w.put(vote, 12, 4, 7), 16, 6, 9)
        add = a.guarded(a.uniform_add(9, 9, self.rng.getrandbits(16)), 2, self.rng.random() < 0.5)
        # PLOP3.LUT Pn, PT, PT, PT, UP2, 0x80, 0x0
        back = w.put(0x03F2F028 << 64 | 0x781C, 81, 3, self.rng.randrange(6))
        self.emit(w.controlled(vote), add, w.controlled(back), a.from_uniform(_T, 9),
                  a.multiply_add(_MASKS, _MASKS, 9, _T))  # fmt: skip

    def exchange(self) -> None:
        """SHFL of any kind, MATCH, or the lowest lane's register."""
        if self.rng.random() < 0.6:
            word = 0x000E0000 << 64 | 0x7589 | self.rng.randrange(4) << 58
            word = w.put(word, 40, 13, self.rng.choice((0x1F, 0x0, 0x181F, 0x1C1F, 0x1C00)))
            word = w.put(word, 81, 3, self.rng.choice((7, 7, self.rng.randrange(6))))
            for low in (16, 24, 32):
                word = w.put(word, low, 8, self.data())
            self.emit(w.controlled(word, write=1))
        elif self.rng.random() < 0.5:
            word = w.put(w.put(0x000E8000 << 64 | 0x73A1, 16, 8, _T), 24, 8, self.data())
            self.emit(w.controlled(word, write=1), a.multiply_add(_MASKS, _MASKS, 9, _T))
        else:
            self.emit(a.to_uniform(8, self.data()), a.from_uniform(self.data(), 8))

    def share(self) -> None:
        """The thread's own words of shared memory."""
        at, register = 4 * self.rng.randrange(4), self.data()
        if self.rng.random() < 0.5:
            word = w.put(w.put(0x00000800 << 64 | 0x7388, 32, 8, register), 24, 8, _OWN)
            self.emit(w.controlled(w.put(word, 40, 24, at), read=0))
        else:
            word = w.put(w.put(0x00000800 << 64 | 0x7984, 16, 8, register), 24, 8, _OWN)
            self.emit(w.controlled(w.put(word, 40, 24, at), write=1))

    def either(self, depth: int, limit: int = 5) -> None:
        """If and else within a convergence region."""
        other, join, after = self.label(), self.label(), self.label()
        barrier = depth
        self.emit(self.region(barrier, after))
        self.branch_to(other)
        self.body(depth + 1, limit)
        if self.rng.random() < 0.7:
            self.emit(self.jump(join), _Label(other))
            self.body(depth + 1, limit)
        else:
            self.emit(_Label(other))
        self.emit(_Label(join), self.barrier_word(_BSYNC, barrier), _Label(after))

    def branch_to(self, label: int) -> None:
        """A conditional branch of some kind."""
        kind = self.rng.choice((0, 0, 0, 0, 1, 4, 5, 6))
        if kind < 2:
            self.emit(self.jump(label, kind, self.predicate()))
        elif kind == 6:
            jump = self.jump(label, 1, self.predicate())
            jump.word |= _ANY
            self.emit(jump)
        elif kind == 4:  # a second predicate
            jump = self.jump(label, 0, self.rng.choice((self.predicate(), (7, False))))
            number, negated = self.predicate()
            jump.word = w.put(w.put(jump.word, 87, 3, number), 90, 1, negated)
            self.emit(jump)
        else:
            self.divided(label)

    def divided(self, label: int) -> None:
        """BRA.DIV or BRA.CONV on a mask: all lanes, or those of a predicate."""
        if self.rng.random() < 0.5:
            mask = [a.uniform_add(9, w.URZ, 0xFFFFFFFF)]
        else:
            number, _ = self.predicate()
            vote = w.put(w.put(0x000E0100 << 64 | 0x7806, 87, 3, number), 81, 3, w.PT)
            mask = [w.controlled(w.put(vote, 16, 8, _T)), a.to_uniform(9, _T)]
        jump = self.jump(label, self.rng.choice((2, 2, 3)))
        jump.word = w.put(jump.word | 1 << 91, 24, 6, 9)
        if self.rng.random() < 0.2:
            jump.word = a.guarded(jump.word, *self.predicate())
        self.emit(*mask, jump)

    def skip(self, depth: int) -> None:
        """A branch over a few statements without a convergence region."""
        after = self.label()
        self.branch_to(after)
        self.body(depth + 1, 2)
        self.emit(_Label(after))

    def switch(self, depth: int) -> None:
        """BRX: each lane goes to one of two to four places, and all meet again."""
        cases = [self.label() for _ in range(self.rng.randrange(2, 5))]
        join, after = self.label(), self.label()
        self.emit(self.region(depth, after), _Address(_T, cases[0]), a.move(_T + 1, 0))
        self.emit(*[_Address(_T, case, self.predicate()) for case in cases[1:]])
        self.emit(_Switch(w.controlled(w.put(_FLOW | 0x7949, 24, 8, _T)), cases))
        for case in cases:
            # a label that nothing else jumps to begins behind a branch
            self.emit(_Label(case))
            self.note()
            self.rng.choice((self.compute, self.vote))()
            self.emit(self.jump(join))
        self.emit(_Label(join), self.barrier_word(_BSYNC, depth), _Label(after))

    def loop(self, depth: int) -> None:
        """Each lane goes round one to four times; some leave by BREAK."""
        counter, top, after, outside = _COUNTER + depth, self.label(), self.label(), self.label()
        self.emit(a.logic(counter, self.data(), 3, 0xC0), self.region(depth, after), _Label(top))
        self.body(depth + 1)
        if self.rng.random() < 0.4:
            guard = self.predicate()
            leave = a.guarded(self.barrier_word(_BREAK, depth), *guard)
            self.emit(leave, self.jump(outside, 0, guard))
        again = w.put(0x03F06270 << 64 | 0x780C, 24, 8, counter)  # ISETP.GE.AND Pn, PT, R, 0, PT
        again = w.put(w.put(again, 81, 3, _LOOPS), 32, 32, 0)
        self.emit(a.add_value(counter, counter, 0xFFFFFFFF), w.controlled(again),
                  self.jump(top, 0, (_LOOPS, False)),
                  self.barrier_word(_BSYNC, depth), _Label(after), _Label(outside))  # fmt: skip

    def call(self, depth: int) -> None:
        """CALL.REL and RET: a function of a few statements, which may call another."""
        if self.level > 1:
            self.compute()
            return
        function, back = self.label(), self.label()
        jump = _Jump(w.controlled(0x03C00000 << 64 | 0x7944), function)
        if self.rng.random() < 0.3:
            jump.word = a.guarded(jump.word, *self.predicate())
        register = _RETURN + 2 * self.level
        self.emit(_Address(register, back), a.move(register + 1, 0), jump, _Label(back))
        self.functions.append((function, depth + 1, self.level))

    def write_function(self, function: int, depth: int, level: int) -> None:
        """The body of a function and its RET; not all lanes of the warp need be there."""
        self.level = level + 1
        self.emit(_Label(function))
        self.note()
        for _ in range(self.rng.randrange(1, 4)):
            if self.rng.random() < 0.2 and depth < _DEPTH and len(self.program) < LONGEST - 60:
                self.either(depth, 2)
            elif self.rng.random() < 0.2:
                self.call(depth)
            else:
                self.rng.choice((self.compute, self.compute, self.vote))()
        back = w.put(0x03C00000 << 64 | 0x7950, 24, 8, _RETURN + 2 * level)
        self.emit(w.controlled(back))

    def leave(self, depth: int) -> None:
        """Some lanes end."""
        self.emit(a.store(_OUT, self.rows(6), _HASH), self.guarded(a.leave()))

    def gather(self, depth: int) -> None:
        """WARPSYNC of the lanes that are here; of all lanes outside of everything."""
        if depth == 0:
            self.emit(w.controlled(_FLOW | 0x7948))
            return
        word = w.put(_FLOW | 0x7348, 24, 8, _T)
        kind = self.rng.choice((0, 0, 1, 2))
        if kind == 2:  # COLLECTIVE names the end of what the lanes do together
            after = self.label()
            word |= 2 << 85
            self.emit(self.lanes_here(), _Jump(w.controlled(word), after))
            self.vote()
            self.emit(w.controlled(_FLOW | 0x791B), _Label(after))  # ENDCOLLECTIVE
        else:  # plain or EXCLUSIVE
            self.emit(self.lanes_here(), w.controlled(word | kind << 85))

    def meet(self, depth: int) -> None:
        """BAR.SYNC of the block, and a look at what the neighbour wrote to shared memory."""
        if depth:
            self.emit(w.controlled(_FLOW | 0x7946))  # YIELD
            return
        self.emit(w.controlled(_FLOW | 0x7948), a.barrier(), a.logic(_T, _OWN, 0x10, 0x3C))
        word = w.put(w.put(0x00000800 << 64 | 0x7984, 16, 8, self.data()), 24, 8, _T)
        self.emit(w.controlled(word, write=1), w.controlled(_FLOW | 0x7948), a.barrier())

    def rows(self, number: int) -> int:
        """The offset of a row of the results; the kernel's place is added at assembly."""
        return number * ROW

    def body(self, depth: int, limit: int = 5) -> None:
        """A few statements."""
        flow: list[Callable[[int], None]] = [
            self.either, self.either, self.either, self.skip, self.loop, self.loop, self.call,
            self.call, self.switch, self.leave, self.gather, self.meet,
        ]  # fmt: skip
        plain: list[Callable[[], None]] = [
            *[self.compute] * 6, self.vote, self.exchange, self.share, self.uniform, self.elect,
        ]  # fmt: skip
        self.note()
        for _ in range(self.rng.randrange(1, limit)):
            roll = self.rng.random()
            if roll < 0.4 and depth < _DEPTH and len(self.program) < LONGEST * 2 // 3:
                self.rng.choice(flow)(depth)
            elif roll < 0.5 and self.program.is_ordered:
                self.ticket()
            else:
                self.rng.choice(plain)()

    def write(self, first_row: int) -> Program:
        """The whole program, with inputs from this row of the pool on."""
        for i in range(4):
            row = (first_row + i) % (POOL_ROWS // 2)
            self.emit(a.load(DATA[4 * i], _IN, 4 * row * ROW))
        self.emit(a.to_predicates(DATA[0], 0x7F), *[a.move(r, 0) for r in (32, 33, 34, 35)])
        self.emit(a.store_shared(_OWN, DATA[4]))
        for _ in range(self.rng.choice((1, 1, 2, 3, 4, 6))):
            self.body(0)
        self.note()
        self.emit(a.from_predicates(_PREDICATES, 0x3F))
        for i in range(4):
            self.emit(a.store(_OUT, self.rows(i), DATA[4 * i]))
        self.emit(a.store(_OUT, self.rows(4), _HASH), a.load_shared(_T, _OWN),
                  a.store(_OUT, self.rows(5), _T), a.leave())  # fmt: skip
        while self.functions:
            self.write_function(*self.functions.pop(0))
        return self.program


def generated(seed: int, pieces: Sequence[Piece]) -> Program:
    """The program of a seed, not too long for its place in a kernel."""
    for attempt in range(100):
        program = Generator(seed * 100 + attempt, pieces).write(seed * 5)
        if len(program) <= LONGEST:
            return program
    raise ValueError(f"seed {seed} gives no short program")


def kernel(programs: Sequence[Program]) -> Kernel:
    """One kernel: block i runs program i."""
    code = [
        a.special(0, 33), a.special(_T, 37), a.descriptor(), a.parameter(_IN, a.PARAMETERS),
        a.parameter(_OUT, a.PARAMETERS + 8), a.wide(_IN, 0, 16, _IN),
        a.multiply_add(_T + 1, _T, ROWS * THREADS, 0), a.wide(_OUT, _T + 1, 16, _OUT),
        a.multiply_add(_OWN, 0, 16, w.RZ), a.add_value(_OWN, _OWN, SHARED),
        a.logic(_TICKETS, 0, 0x20, 0xC0), a.add_value(_TICKETS, _TICKETS, SHARED + ROW),
        a.move(_ONE, 1), a.store_shared(_TICKETS, w.RZ), a.barrier(),
    ]  # fmt: skip
    starts = [len(code) + 2 * len(programs)]
    for program in programs:
        starts.append(starts[-1] + len(program))
    choose(code, starts[:-1])
    made = Kernel(code, count=len(programs))
    for program, start in zip(programs, starts, strict=False):
        program.put_into(made, start)
    return made


def choose(code: list[int], starts: Sequence[int]) -> None:
    """Adds the comparisons with which block i goes to the i-th of these places."""
    for i, start in enumerate(starts):
        unequal = w.put(0x03F05270 << 64 | 0x780C, 24, 8, _T)  # ISETP.NE.AND P0, PT, R, i, PT
        code.append(w.controlled(w.put(unequal, 32, 32, i)))
        code.append(a.guarded(a.branch(start - len(code) - 1), 0, True))
