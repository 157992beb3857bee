"""Which opcodes each architecture has: every opcode field is offered to nvdisasm.

`python -m validation.opcodes [SEED]` adds to src/warplens/isa/data/opcodes.json. nvdisasm refuses
what is no instruction, so random operand and modifier bits are tried, and what one architecture
takes is offered to the others. What was found before stays: chance may miss some. About a minute
per architecture.
"""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from warplens.toolchain.nvdisasm import _program
from warplens.toolchain.packages import version_of

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
PLACE = Path(__file__).parent.parent / "src" / "warplens" / "isa" / "data" / "opcodes.json"
ROUNDS = 34
_NO_BARRIERS = 0x000FE200_00000000  # a control code that waits for nothing and signals nothing
_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*)", re.MULTILINE)
_REFUSED = re.compile(r"at address 0x([0-9a-f]+)")


def _disassemble(sm: int, words: list[tuple[int, int]]) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.bin"
        path.write_bytes(b"".join(struct.pack("<QQ", *word) for word in words))
        done = subprocess.run(
            [str(_program()), "-b", f"SM{sm}", str(path)], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    return done.stdout, done.stderr


def _accepted(sm: int, words: list[tuple[int, int]]) -> list[tuple[int, int]]:
    refused = {int(a, 16) // 16 for a in _REFUSED.findall(_disassemble(sm, words)[1])}
    return [word for i, word in enumerate(words) if i not in refused]


def _operands(rng: random.Random) -> tuple[int, int]:
    """Random bits; registers are often the zero register and predicates the true one."""
    low = sum(rng.choice((0, 0xFF, rng.getrandbits(8))) << shift for shift in range(16, 64, 8))
    high = sum(rng.choice((0, 0xFF, rng.getrandbits(8))) << shift for shift in (0, 8))
    high |= rng.choice((0, rng.getrandbits(9) & rng.getrandbits(9), rng.getrandbits(25))) << 16
    for shift in (17, 20, 23):
        high = high & ~(7 << shift) | rng.choice((0, 7)) << shift
    return low, high


def instructions_of(sm: int, seed: int, rounds: int = ROUNDS) -> list[tuple[int, int]]:
    """One accepted word for every opcode field that random bits made an instruction."""
    rng = random.Random(1000 * seed + sm)
    found: list[tuple[int, int]] = []
    todo = set(range(4096))
    for k in range(rounds):
        words = []
        for field in sorted(todo):
            low, high = _operands(rng) if k else (0, 0)
            words.append((field | 7 << 12 | low, high | (_NO_BARRIERS if k % 4 else 0)))
        taken = _accepted(sm, words)
        found += taken
        todo -= {word[0] & 0xFFF for word in taken}
    return found


def names_of(sm: int, words: list[tuple[int, int]]) -> set[str]:
    """The mnemonics of words that the architecture accepts."""
    return set(_LINE.findall(_disassemble(sm, _accepted(sm, words))[0]))


def main() -> None:
    """Adds to the table: what one architecture accepted is offered to all others too."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    known = json.loads(PLACE.read_text())["opcodes"] if PLACE.exists() else {}
    found = {name: set(sms) for name, sms in known.items()}
    words: list[tuple[int, int]] = []
    for sm in ARCHITECTURES:
        words += instructions_of(sm, seed)
        print(f"sm_{sm}", file=sys.stderr)
    for sm in ARCHITECTURES:
        for name in names_of(sm, words):
            found.setdefault(name, set()).add(sm)
    rows = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(sorted(found[name]))}" for name in sorted(found)
    )
    version = version_of("nvidia-cuda-nvdisasm")
    PLACE.write_text(f'{{\n "source": "nvdisasm {version}",\n "opcodes": {{\n{rows}\n }}\n}}\n')


if __name__ == "__main__":
    main()
