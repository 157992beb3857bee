"""`run.step(block, warp)`: steps a warp through its SASS, with every lane's registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.execute import steps as recorded
from warplens.execute.executable import ExecutableLaunch
from warplens.result import WarpAccess, WarpStep, WarpTrace
from warplens.sass.model import PT, RZ, URZ, Instruction, Mem, Pred, Reg, SassKernel
from warplens.stepping.explain import descriptor_texts, phase_text
from warplens.stepping.fragments import Fragment, fragments
from warplens.wording import count

Words = npt.NDArray[np.uint32]
_MAX_STEPS = 20_000_000  # loop iterations; a block that waits for others would never end
_SPACES = ("global", "shared", "local")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One memory access of a step: the addresses of its lanes."""

    space: str
    is_store: bool
    size: int
    mask: int
    addresses: tuple[int | None, ...]

    @property
    def sectors(self) -> tuple[int, ...]:
        """The 32-byte sectors it touches (global and local memory), ascending."""
        return tuple(sorted({
            (a + k) // 32 for a in self.addresses if a is not None for k in range(self.size)
        }))  # fmt: skip

    @property
    def banks(self) -> dict[int, tuple[int, ...]]:
        """Bank of shared memory -> the distinct words it must serve."""
        words = {
            (a + k) // 4 for a in self.addresses if a is not None for k in range(0, self.size, 4)
        }
        found: dict[int, list[int]] = {}
        for word in sorted(words):
            found.setdefault(word % 32, []).append(word)
        return {bank: tuple(served) for bank, served in sorted(found.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction about to be executed by some lanes, with the state before it."""

    number: int
    instruction: Instruction
    mask: int
    state: Words
    accesses: tuple[Access, ...]
    barrier: int | None = None  # the mbarrier that it names, as an address in shared memory
    phase: int = 0  # the word that the mbarrier holds

    @property
    def fragments(self) -> dict[str, Fragment]:
        """A, B and C of a matrix instruction, as far as they are in registers."""
        return fragments(self.instruction, self.register)

    @property
    def descriptors(self) -> list[str]:
        """The matrices in shared and tensor memory that wgmma or tcgen05.mma names, in words."""
        return descriptor_texts(self.instruction, self.uniform)

    @property
    def lanes(self) -> tuple[int, ...]:
        """The active lanes."""
        return tuple(lane for lane in range(32) if self.mask >> lane & 1)

    def register(self, index: int) -> Words:
        """R<index> of all 32 lanes, as bits; `.view(np.float32)` reads them as floats."""
        start = recorded.REGISTERS + 32 * index
        if index == 255 or start >= len(self.state):
            return np.zeros(32, np.uint32)
        return self.state[start : start + 32]

    def uniform(self, index: int) -> int:
        """UR<index>, one value for the warp."""
        return int(self.state[recorded.UNIFORM + index])

    def predicate(self, index: int) -> int:
        """P<index> as a mask of lanes; 7 is the predicate that is always true."""
        return 0xFFFFFFFF if index == 7 else int(self.state[recorded.PREDICATES + index])

    @property
    def executing(self) -> int:
        """The predicated-on lanes."""
        guard = self.instruction.guard
        if not isinstance(guard, Pred):
            return self.mask
        holds = self.predicate(guard.index)
        return self.mask & (~holds if guard.negate else holds) & 0xFFFFFFFF


class Stepper:
    """A recorded warp with a position; printing it shows the step there."""

    def __init__(
        self, steps: tuple[Step, ...], *, block: int, warp: int, notes: tuple[str, ...]
    ) -> None:
        self.steps = steps
        self.block = block
        self.warp = warp
        self.notes = notes
        self.position = 0

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, number: int) -> Step:
        return self.steps[number]

    @property
    def current(self) -> Step:
        """The step at the present position."""
        return self.steps[self.position]

    def forward(self, count: int = 1) -> Step:
        """Steps forward, up to the last step."""
        return self.goto(min(self.position + count, len(self.steps) - 1))

    def back(self, count: int = 1) -> Step:
        """Steps back, up to the first step."""
        return self.goto(max(self.position - count, 0))

    def goto(self, number: int) -> Step:
        """Goes to a step."""
        if not 0 <= number < len(self.steps):
            raise InputError(f"step {number} is outside 0 to {len(self.steps) - 1}")
        self.position = number
        return self.current

    def find(self, text: str) -> Step:
        """Steps forward to the next step whose SASS contains a text.

        Raises:
            InputError: there is none.
        """
        for step in self.steps[self.position + 1 :]:
            if text in step.instruction.text:
                return self.goto(step.number)
        raise InputError(f"no later step contains {text!r}")

    def written(self) -> tuple[int, ...]:
        """Registers that the current step changes in some lane."""
        if self.position + 1 >= len(self.steps):
            return ()
        first = recorded.REGISTERS
        now, after = self.current.state[first:], self.steps[self.position + 1].state[first:]
        return tuple(int(i) for i in np.unique(np.flatnonzero(now != after) // 32))

    def trace(self) -> WarpTrace:
        """The first steps as plain data, for result files and the HTML report."""
        return warp_trace(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        step = self.current
        one = step.instruction
        where = f"  {one.file.rsplit('/', 1)[-1]}:{one.line}" if one.file and one.line else ""
        yield (
            f"step {step.number + 1} of {len(self.steps)}, block {self.block} warp {self.warp}: "
            f"{one.address:#06x} {one.text}{where}"
        )
        yield f"  lanes   {_mask_text(step.mask, step.executing)}"
        for index in _registers_read(one):
            yield f"  R{index:<6} {_row(step.register(index), step.mask)}"
        if self.position + 1 < len(self.steps):
            after = self.steps[self.position + 1]
            for index in self.written():
                yield f"  R{index:<4}<- {_row(after.register(index), step.mask)}"
        for fragment in step.fragments.values():
            yield f"  {fragment}"
        for text in step.descriptors:
            yield f"  {text}"
        if step.barrier is not None:
            yield f"  mbarrier at shared {step.barrier:#x}: {phase_text(step.phase)}"
        for access in step.accesses:
            yield f"  {_access_text(access)}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _mask_text(mask: int, executing: int) -> str:
    """Lane 0 on the left: # is predicated on, o active but predicated off, . inactive."""
    return "".join(
        "#" if executing >> lane & 1 else "o" if mask >> lane & 1 else "." for lane in range(32)
    )


def _registers_read(one: Instruction) -> tuple[int, ...]:
    places = [o for o in one.operands if isinstance(o, Reg)]
    places += [o.base for o in one.operands if isinstance(o, Mem) and isinstance(o.base, Reg)]
    return tuple(dict.fromkeys(o.index for o in places if o.index != 255))


def _row(values: Words, mask: int) -> str:
    """All lanes in hexadecimal, or one value where the active lanes agree."""
    active = {int(values[lane]) for lane in range(32) if mask >> lane & 1}
    if len(active) == 1:
        return f"{active.pop():08x} in all active lanes"
    return " ".join(
        f"{int(values[lane]):08x}" if mask >> lane & 1 else "-" * 8 for lane in range(32)
    )


def _access_text(access: Access) -> str:
    lanes = sum(address is not None for address in access.addresses)
    what = "store" if access.is_store else "load"
    if access.space == "shared":
        worst = max((len(words) for words in access.banks.values()), default=0)
        place = f"{count(len(access.banks), 'bank')}, at most {count(worst, 'word')} per bank"
    else:
        place = count(len(access.sectors), "sector")
    each = count(access.size, "byte")
    return f"{access.space} {what}: {count(lanes, 'lane')}, {each} each; {place}"


def step_warp(
    launch: ExecutableLaunch, *, block: int, warp: int, notes: tuple[str, ...] = ()
) -> Stepper:
    """Runs one block again and records one warp of it; nothing that it writes stays."""
    config, sass = launch.config, launch.sass
    blocks, warps = prod(config.grid), -(-prod(config.block) // 32)
    if not 0 <= block < blocks or not 0 <= warp < warps:
        raise InputError(
            f"block {block} warp {warp}: the launch has {count(blocks, 'block')} of "
            f"{count(warps, 'warp')}"
        )
    named = {o.index for i in sass.instructions for o in i.operands if isinstance(o, Reg)}
    n_registers = max(sass.registers, max((n for n in named if n != 255), default=0) + 1)
    recorder = recorded.StepRecorder(block, warp, n_registers, _barriers(sass))
    alone = replace(
        config, deterministic=True, workers=1, max_steps=config.max_steps or _MAX_STEPS,
        observer=recorder.observer, block_order=(block,), restore=True, progress=None,
    )  # fmt: skip
    launch.with_config(alone).run(launch.code.stepped)
    if recorder.overflowed:
        notes = (*notes, "The warp executes more steps than are recorded; the later ones are "
                         "missing.")
    return Stepper(_steps(sass, recorder), block=block, warp=warp, notes=notes)


def _barriers(kernel: SassKernel) -> npt.NDArray[np.void]:
    """Which instructions name an mbarrier, and by which registers."""
    found = np.zeros(len(kernel.instructions), recorded.BARRIER)
    for row, inst in zip(found, kernel.instructions, strict=True):
        places = [o for o in inst.operands if isinstance(o, Mem)]
        if inst.opcode != "SYNCS" or "EXCH" in inst.modifiers or len(places) != 1:
            continue
        base, uniform = places[0].base, places[0].uniform
        row["is_one"], row["offset"] = 1, places[0].offset
        row["register"] = base.index if isinstance(base, Reg) and base.index != RZ else -1
        guard = inst.guard if isinstance(inst.guard, Pred) and inst.guard.index != PT else None
        row["guard"] = guard.index if guard is not None else -1
        row["negated"] = guard is not None and guard.negate
        row["uniform"] = uniform.index if uniform is not None and uniform.index != URZ else -1
    return found


def _steps(kernel: SassKernel, recorder: recorded.StepRecorder) -> tuple[Step, ...]:
    accesses: dict[int, list[Access]] = {}
    for row in recorder.accesses:
        accesses.setdefault(int(row["step"]), []).append(_access(row))
    instructions = kernel.instructions
    return tuple(
        Step(
            number=number,
            instruction=instructions[int(place["instruction"])],
            mask=int(place["mask"]),
            state=state,
            accesses=tuple(accesses.get(number, ())),
            barrier=int(place["barrier"]) if place["barrier"] >= 0 else None,
            phase=int(place["word"]) & (1 << 64) - 1,
        )
        for number, (place, state) in enumerate(
            zip(recorder.places, recorder.states, strict=True)
        )
    )


def _access(row: np.void) -> Access:
    mask, addresses = int(row["mask"]), row["addresses"].view(np.uint64)
    return Access(
        space=_SPACES[int(row["space"])],
        is_store=bool(int(row["kind"]) & 2),
        size=int(row["size"]),
        mask=mask,
        addresses=tuple(
            int(addresses[lane]) if mask >> lane & 1 else None for lane in range(32)
        ),
    )


_TRACED = 400  # steps of a warp that a result file keeps


def warp_trace(stepper: Stepper) -> WarpTrace:
    """A stepped warp as plain data for reports: what each step changes, not whole states."""
    first = recorded.REGISTERS
    index = {id(step.instruction): step.instruction.address // 16 for step in stepper.steps}
    kept = []
    for number, step in enumerate(stepper.steps[:_TRACED]):
        changed: list[tuple[int, tuple[int, ...]]] = []
        if number + 1 < len(stepper.steps):
            after = stepper.steps[number + 1]
            differ = np.flatnonzero(step.state[first:] != after.state[first:]) // 32
            changed = [
                (int(r), tuple(after.register(int(r)).tolist())) for r in np.unique(differ)
            ]
        kept.append(
            WarpStep(
                instruction=index[id(step.instruction)],
                mask=step.mask,
                executing=step.executing,
                changed=tuple(changed),
                accesses=tuple(_plain_access(access) for access in step.accesses),
            )
        )
    return WarpTrace(
        block=stepper.block, warp=stepper.warp, total=len(stepper.steps), steps=tuple(kept)
    )


def _plain_access(access: Access) -> WarpAccess:
    lanes = [address for address in access.addresses if address is not None]
    if access.space == "shared":
        pieces = [(bank, len(words)) for bank, words in access.banks.items()]
    else:
        pieces = [
            (sector, sum(a // 32 <= sector <= (a + access.size - 1) // 32 for a in lanes))
            for sector in access.sectors
        ]
    return WarpAccess(
        space=access.space,
        what="store" if access.is_store else "load",
        size=access.size,
        lanes=len(lanes),
        pieces=tuple(pieces),
    )
