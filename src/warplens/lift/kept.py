"""What is found out about a kernel before it runs, kept on disk: that it can be lifted, the tables
of its programs with the keys of their machine code, and what searches through its code found.

Lifting a kernel of thousands of instructions takes as long as predicting its launch, and a cache of
machine code cannot spare it, since its keys are digests of the IR. An entry is found by all that
decides it: the kernel's code and resources, what is asked of it, the processor, and the files of
this package that lift. Kernels with gaps have none: they are refused anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from warplens.lift import jit
from warplens.lift.decode.blocks import Layout, LiftedBlock, Region
from warplens.lift.decode.recent import Recent
from warplens.lift.decode.waiting import Waiting
from warplens.lift.engines.host import HostFeatures
from warplens.lift.lifter import lift
from warplens.lift.regions.lifted import Counters, Lifted
from warplens.lift.regions.watch import Watch
from warplens.sass.model import Instruction, SassKernel
from warplens.toolchain.cache import default_cache, key_of, sources

KIND = "lifted"  # in the cache
# the files that lift, with the model of what they read and what an instruction means
MADE_BY = ("lift/**/*.py", "isa/**/*.py", "isa/data/*", "sass/*.py")
_MALFORMED = (ValueError, TypeError, KeyError, IndexError, AttributeError)  # another one wrote it


def lifted(kernel: SassKernel, features: HostFeatures, observe: bool | Watch = False,
           tier: int = 0) -> Lifted:  # fmt: skip
    """A lifted kernel, see `lifter.lift`; without its IR if its tables were kept.

    Raises:
        Unsupported: it uses instructions that are not known; all of them are listed.
    """
    again = partial(lift, kernel, features, observe, tier)
    if default_cache().directory is None:
        return again()
    place = key(kernel, features, observe, tier)
    made = _from_bytes(kernel, tier, default_cache().get(KIND, place))
    if made is None:
        made = again()
        made.key = jit.key_of(made, features)
        default_cache().put(KIND, place, _to_bytes(made))
    made.again = again
    return made


def found(kernel: SassKernel, question: str, search: Callable[[], Any]) -> Any:
    """What a search through a kernel's code gives, as JSON has it."""
    if default_cache().directory is None:
        return search()
    place = _key(kernel, question)
    data = default_cache().get(KIND, place)
    if data is not None:
        with suppress(ValueError):
            return json.loads(data)
    answer = search()
    default_cache().put(KIND, place, json.dumps(answer).encode())
    return answer


def key(kernel: SassKernel, features: HostFeatures, observe: bool | Watch, tier: int) -> bytes:
    """Under which a lifted kernel's tables are kept."""
    question = f"{tier} {features} {jit.salt_of(features)} {_text_of(observe)}"
    return _key(kernel, question)


def _key(kernel: SassKernel, question: str) -> bytes:
    resources = [getattr(kernel, f.name) for f in fields(kernel) if f.name != "instructions"]
    code = _digests.of(kernel.instructions)
    return key_of(sources(*MADE_BY), code, repr(resources), question)


def _digest(code: tuple[Instruction, ...]) -> str:
    """Of all but lines and files; equal parts of instructions are mostly the same objects."""
    texts: dict[int, str] = {}
    lines = []
    for inst in code:
        parts = (inst.modifiers, inst.guard, *inst.operands)
        for part in parts:
            if id(part) not in texts:
                texts[id(part)] = repr(part)
        line = f"{inst.address} {inst.encoding} {inst.text} {inst.opcode} "
        lines.append(line + " ".join([texts[id(part)] for part in parts]))
    return sha256("\n".join(lines).encode()).hexdigest()


_digests = Recent(_digest)


def _text_of(observe: bool | Watch) -> str:
    """What is shown; sets have no order of their own."""
    if isinstance(observe, bool):
        return str(observe)
    values = [getattr(observe, f.name) for f in fields(observe)]
    return str([sorted(v) if isinstance(v, frozenset) else v for v in values])


def _to_bytes(made: Lifted) -> bytes:
    """Tables as a line of JSON, then the rows of the counters."""
    layout, waiting = made.layout, made.layout.waiting
    names = [f.name for f in fields(LiftedBlock)]
    blocks = [[getattr(block, name) for name in names] for block in layout.blocks]
    text = json.dumps({
        "key": made.key, "names": made.counters.names, "n_counters": made.n_counters,
        "sites": made.sites, "site_widths": made.site_widths, "n_registers": made.n_registers,
        "ordered_reason": made.ordered_reason, "blocks": blocks,
        "regions": [[r.index, r.first, r.last, r.entries, r.lazy] for r in layout.regions],
        "region_of": layout.region_of, "return_points": layout.return_points,
        "has_parts": layout.has_parts,
        "bodies": [[*ends, body] for ends, body in waiting.bodies.items()],
        "waiting": [waiting.is_certain, waiting.is_shared, waiting.takes],
    }, default=sorted)  # fmt: skip
    return text.encode() + b"\n" + made.counters.rows.astype("<i4").tobytes()


def _from_bytes(kernel: SassKernel, tier: int, data: bytes | None) -> Lifted | None:
    """What `_to_bytes` gave."""
    if data is None:
        return None
    try:
        text, rows = data.split(b"\n", 1)
        told = json.loads(text)
        table = np.frombuffer(rows, "<i4").astype(np.int64).reshape(-1, 5)
        return Lifted(
            kernel, "", _layout(told), Counters(tuple(told["names"]), table), told["n_counters"],
            told["sites"], told["site_widths"], told["n_registers"], told["ordered_reason"], tier,
            [], told["key"],
        )  # fmt: skip
    except _MALFORMED:
        return None


def _layout(told: dict[str, Any]) -> Layout:
    blocks = [LiftedBlock(*row) for row in told["blocks"]]
    for block in blocks:
        block.successors, block.cleans = tuple(block.successors), frozenset(block.cleans)
    certain, shared, takes = told["waiting"]
    bodies = {(last, head): frozenset(body) for last, head, body in told["bodies"]}
    return Layout(
        blocks, [Region(*row) for row in told["regions"]], told["region_of"],
        {block.start: block.index for block in blocks}, tuple(told["return_points"]),
        Waiting(bodies=bodies, is_certain=certain, is_shared=shared, takes=takes),
        told["has_parts"],
    )  # fmt: skip
