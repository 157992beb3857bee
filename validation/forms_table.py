"""Makes the table of forms: `src/warplens/isa/data/forms_sm90.json.xz`.

`python validation/forms_table.py` reads what was recorded (`data/forms_sm90.npz.xz`), the forms
that compiled public code has (`data/corpus_sm90.json.xz`), the kernels whose recordings the tests
replay, and the rules of the instruction set, which say what is refused. Nothing in it is written
by hand.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "validation" / "recorder"), str(ROOT)]

import assembler  # noqa: E402
import build  # noqa: E402
import words as w  # noqa: E402
from recorded_forms import Recording  # noqa: E402

from warplens.isa import forms  # noqa: E402
from warplens.lift.coverage import gaps_of  # noqa: E402
from warplens.sass.model import Instruction  # noqa: E402
from warplens.sass.parser import load_kernels  # noqa: E402

DATA = Path(__file__).parent / "data"
TABLE = ROOT / "src" / "warplens" / "isa" / "data" / "forms_sm90.json.xz"
ROOM = 4000
# Kernels of the recorder whose results or counters the ordinary tests compare with recordings.
REPLAYED = ("operations", "mma", "semantics", "tensor_copies", "wgmma", "mufu")
# Opcodes whose results the tests compare with integers or IEEE arithmetic of the host.
COMPARED = frozenset("""
    IADD3 UIADD3 IADD IMAD UIMAD ISETP UISETP LOP3 ULOP3 LEA ULEA SHF USHF SEL USEL MOV UMOV PRMT
    UPRMT POPC UPOPC BREV UBREV FLO UFLO BMSK UBMSK SGXT USGXT IABS UIABS VIADD VIMNMX IMNMX
    FADD FMUL FFMA FSETP FSET FSEL FMNMX DADD DMUL DFMA DSETP HADD2 HMUL2 HFMA2 HSETP2 HSET2
    I2F I2FP F2I F2F FRND PLOP3 UPLOP3
""".split())


def carrier() -> bytes:
    """The kernel that instruction words are put into, to be read."""
    source = (build.KERNELS / "carrier.cu").read_text()
    return build.Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "-std=c++17"))


def read(words: Sequence[int]) -> list[tuple[Instruction, str]]:
    """Each word as an instruction, and why it is refused, or nothing."""
    found: list[tuple[Instruction, str]] = []
    empty = carrier()
    for start in range(0, len(words), ROOM):
        code = [w.controlled(word) for word in words[start : start + ROOM]]
        kernel = load_kernels(assembler.carried(empty, code, 255))[assembler.CARRIER]
        reasons = {gap.offset: gap.reason for gap in gaps_of(kernel)}
        own = kernel.instructions[: len(code)]
        found += [(inst, reasons.get(inst.address, "")) for inst in own]
    return found


def replayed_words() -> dict[str, list[int]]:
    """The instruction words of recorded kernels that the tests replay."""
    nvrtc, found = build.Nvrtc(), {}
    for name in REPLAYED:
        path = build.KERNELS / f"{name}.cu"
        if path.exists():
            text = path.read_text()
            options = ("-arch=sm_90a" if "wgmma" in name else "-arch=sm_90", "-std=c++17")
            cubin = nvrtc.compile(text, path.name, (*options, *build._options(text)))
            found[name] = list(dict.fromkeys(_all_words(cubin)))
    return found


def _all_words(cubin: bytes) -> Iterable[int]:
    from form_corpus import harvested

    return harvested([cubin])


def rows(recording: Recording, corpus: Iterable[str], refusals: dict[str, str],
         in_kernels: Iterable[str]) -> list[tuple[str, str, int, str, bool]]:  # fmt: skip
    """Name, status, inputs, where, whether the corpus has it."""
    gpu = str(recording.metadata["gpu"]).removeprefix("NVIDIA ")
    known = {name: recording.inputs(name) for name in recording.names()}
    opcodes = {name.split(" ")[0].split(".")[0] for name in known if name not in refusals}
    wanted = set(corpus)
    found = []
    for name in sorted({*known, *wanted, *in_kernels}):
        opcode = name.split(" ")[0].split(".")[0]
        if name in refusals:
            row = (forms.REFUSED, 0, refusals[name])
        elif name in known:
            row = (forms.RECORDED, known[name], gpu)
        elif name in in_kernels:
            row = (forms.RECORDED, 0, "H200, in recorded kernels")
        elif opcode in COMPARED and opcode in opcodes:
            row = (forms.EXACT, 0, "")
        else:
            row = (forms.INFERRED, 0, "")
        found.append((name, *row, name in wanted))
    return found


def packed(found: Iterable[tuple[str, str, int, str, bool]], metadata: dict[str, Any]) -> bytes:
    """The table's file."""
    groups: dict[tuple[str, int, str, bool], list[str]] = {}
    for name, status, inputs, where, in_corpus in found:
        groups.setdefault((status, inputs, where, in_corpus), []).append(name)
    document = {"metadata": metadata, "exact": sorted(COMPARED),
                "groups": [[*k, v] for k, v in sorted(groups.items())]}  # fmt: skip
    return lzma.compress(json.dumps(document, separators=(",", ":")).encode(), preset=9)


def main() -> None:
    """Writes the table and says what it holds."""
    recording = Recording(DATA / "forms_sm90.npz.xz")
    corpus = json.loads(lzma.decompress((DATA / "corpus_sm90.json.xz").read_bytes()))
    words = {*recording.words(), *(int(word, 16) for word in corpus["words"])}
    refusals, names = {}, {}
    kernels = [word for own in replayed_words().values() for word in own]
    every = list(dict.fromkeys([*words, *kernels]))
    for word, (inst, reason) in zip(every, read(every), strict=True):
        names[word] = forms.form_of(inst)
        if reason:
            refusals[names[word]] = reason
    recording.name(names)
    found = rows(recording, [names[int(x, 16)] for x in corpus["words"]], refusals,
                 {names[word] for word in kernels})  # fmt: skip
    TABLE.write_bytes(packed(found, recording.metadata))
    for status in (forms.RECORDED, forms.EXACT, forms.INFERRED, forms.REFUSED):
        own = [row for row in found if row[1] == status]
        print(f"{status:9} {len(own):6} forms, {sum(row[4] for row in own):5} in the corpus")


if __name__ == "__main__":
    main()
