"""Makes the table of forms: `src/warplens/isa/data/forms_sm90.json.xz`.

`python validation/forms_table.py` reads what was recorded (`data/forms_sm90.npz.xz`), the forms
that compiled public code has (`data/corpus_sm90.json.xz`), the kernels whose recordings the tests
replay, the forms executed in kernels that left the GPU's bits (`data/kernels_sm90.json`), and the
rules of the instruction set, which say what is refused. Nothing in it is written by hand.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "validation" / "recorder"), str(ROOT)]

import assembler  # noqa: E402
import build  # noqa: E402
import slots  # noqa: E402
import wgmma_kernels  # noqa: E402
import words as w  # noqa: E402
from form_corpus import harvested  # noqa: E402
from recorded_forms import Recording  # noqa: E402
from tests.hopper.test_tensor_copies import module as tensor_copies  # noqa: E402

from warplens.errors import SassError  # noqa: E402
from warplens.isa import families, forms, refused  # noqa: E402
from warplens.lift.coverage import gaps_of  # noqa: E402
from warplens.lift.decode.binding import BindingError, bind  # noqa: E402
from warplens.sass.link import pieces_of, symbols_of  # noqa: E402
from warplens.sass.model import Instruction  # noqa: E402
from warplens.sass.parser import load_kernels, parse_instructions  # noqa: E402
from warplens.toolchain.cubin import read_cubin  # noqa: E402
from warplens.toolchain.nvdisasm import disassemble  # noqa: E402

DATA = Path(__file__).parent / "data"
TABLE = ROOT / "src" / "warplens" / "isa" / "data" / "forms_sm90.json.xz"
ROOM = 4000
# Kernels of the recorder whose results or counters the ordinary tests compare with recordings;
# so they do those of wgmma and of tensor copies.
REPLAYED = ("operations", "counters", "joins", "surfaces")
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


def read(words: Sequence[int]) -> list[tuple[Instruction | None, str]]:
    """Each word as an instruction, if it can be read, and why it is refused, or nothing."""
    found: list[tuple[Instruction | None, str]] = []
    empty = carrier()
    for start in range(0, len(words), ROOM):
        code = [w.controlled(word) for word in words[start : start + ROOM]]
        parsed = _parsed(_cubin(empty, code))
        own = [(inst, _refusal(inst)) for inst in parsed]
        # Jumps need targets, so only what binds and goes on to the next instruction is lifted.
        straight = [inst is not None and not why and not _is_control(inst) for inst, why in own]
        code = [word if ok else assembler.nop() for word, ok in zip(code, straight, strict=False)]
        kernel = load_kernels(_cubin(empty, code))[assembler.CARRIER]
        late = {gap.offset // 16: gap.reason for gap in gaps_of(kernel)}
        found += [(inst, why or late.get(i, "")) for i, (inst, why) in enumerate(own[: len(code)])]
    return found


def _cubin(empty: bytes, code: Sequence[int]) -> bytes:
    return assembler.carried(empty, [*code, assembler.leave()], 255)


def _parsed(data: bytes) -> Iterator[Instruction | None]:
    """Every instruction of the carrier; None where an operand cannot be read."""
    cubin = read_cubin(data)
    kernel = cubin.kernels[assembler.CARRIER]
    piece = pieces_of(cubin, kernel, disassemble(data))[0]
    symbols = symbols_of(cubin, kernel, {})
    for i in range(len(piece.listed)):
        own = slice(16 * i, 16 * i + 16)
        alone = replace(piece, listed=piece.listed[i : i + 1], code=piece.code[own], lines=())
        try:
            yield parse_instructions(alone, symbols=symbols)[0]
        except SassError:
            yield None


def _refusal(inst: Instruction | None) -> str:
    if inst is None:
        return "its operands cannot be read"
    entry, feature = families.find(inst), refused.feature_of(inst.opcode, inst.modifiers)
    unknown = [m for m in inst.modifiers if entry is None or m not in entry.modifiers]
    if entry is None or unknown:
        known = f"unknown modifier .{unknown[0]}" if unknown else "unknown opcode"
        return feature.name if feature else known
    try:
        bind(inst, entry)
    except BindingError as error:
        return str(error)
    return ""


def _is_control(inst: Instruction) -> bool:
    entry = families.find(inst)
    return entry is None or entry.pipe == "cbu"


def replayed_words() -> list[int]:
    """The instruction words of recorded kernels and programs that the tests replay."""
    nvrtc, found = build.Nvrtc(), dict[int, None]()
    for name in REPLAYED:
        path = build.KERNELS / f"{name}.cu"
        text = path.read_text()
        options = ("-arch=sm_90", "-std=c++17", *build._options(text))
        found |= dict.fromkeys(harvested([nvrtc.compile(text, path.name, options)]))
    source = wgmma_kernels.source(list(wgmma_kernels.KERNELS.values()))
    products = nvrtc.compile(source, "wgmma.cu", ("-arch=sm_90a", "-std=c++17"))
    copies = tensor_copies().unit.compiled(()).cubin
    found |= dict.fromkeys(harvested([products, copies]))
    return [word for word, text in zip(found, w.texts(list(found)), strict=True) if text]


Row = tuple[str, str, int, str, bool]


def rows(recording: Recording, corpus: Iterable[str], refusals: dict[str, str],
         in_kernels: Iterable[str]) -> list[Row]:  # fmt: skip
    """Name, status, inputs, where, whether the corpus has it."""
    gpu = str(recording.metadata["gpu"]).removeprefix("NVIDIA ")
    known = dict.fromkeys(recording.names(), slots.THREADS)
    alike = {forms.core(name): name for name in known if name not in refusals}
    opcodes = {forms.opcode_of(name) for name in alike.values()}
    wanted, kernels = set(corpus), set(in_kernels)

    def status(name: str) -> tuple[str, int, str]:
        if name in refusals:
            return forms.REFUSED, 0, refusals[name]
        if name in known:
            return forms.RECORDED, known[name], gpu
        if forms.core(name) in alike:
            return forms.RECORDED, slots.THREADS, f"{gpu}, as {alike[forms.core(name)]}"
        if name in kernels:
            return forms.RECORDED, 0, "in recorded kernels"
        is_exact = forms.opcode_of(name) in COMPARED & opcodes
        return (forms.EXACT if is_exact else forms.INFERRED), 0, ""

    return [(name, *status(name), name in wanted) for name in sorted({*known, *wanted, *kernels})]


def packed(found: Iterable[Row], metadata: dict[str, Any]) -> bytes:
    """The table's file."""
    groups: dict[tuple[str, int, str, bool], list[str]] = {}
    for name, status, inputs, where, in_corpus in found:
        groups.setdefault((status, inputs, where, in_corpus), []).append(name)
    document = {"metadata": metadata, "exact": sorted(COMPARED),
                "groups": [[*k, v] for k, v in sorted(groups.items())]}  # fmt: skip
    return lzma.compress(json.dumps(document, separators=(",", ":")).encode(), preset=9)


def made() -> tuple[bytes, list[Row]]:
    """The table's file and its rows."""
    families.load_all()
    recording = Recording(DATA / "forms_sm90.npz.xz")
    corpus = json.loads(lzma.decompress((DATA / "corpus_sm90.json.xz").read_bytes()))["words"]
    kernels, common = replayed_words(), [int(word, 16) for word in corpus]
    every = list(dict.fromkeys([*recording.words(), *common, *kernels]))
    refusals, names = dict[str, str](), dict[int, str]()
    accepted = set()
    for word, (inst, reason) in zip(every, read(every), strict=True):
        if inst is not None:
            names[word] = forms.form_of(inst)
            if reason:
                refusals[names[word]] = reason
            else:
                accepted.add(names[word])
    # Forms with offsets are refused if those of no word are taken.
    refusals = {name: why for name, why in refusals.items() if name not in accepted}
    recording.name(names)
    in_corpus, in_kernels = ([names[x] for x in own if x in names] for own in (common, kernels))
    executed = json.loads((DATA / "kernels_sm90.json").read_text())["forms"]
    found = rows(recording, in_corpus, refusals, [*in_kernels, *executed])
    return packed(found, recording.metadata), found


def main() -> None:
    """Writes the table and says what it holds."""
    data, found = made()
    TABLE.write_bytes(data)
    for status in (forms.RECORDED, forms.EXACT, forms.INFERRED, forms.REFUSED):
        own = [row for row in found if row[1] == status]
        print(f"{status:9} {len(own):6} forms, {sum(row[4] for row in own):5} in the corpus")


if __name__ == "__main__":
    main()
