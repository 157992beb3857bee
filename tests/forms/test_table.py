"""The table of forms: what it holds, how it is listed, and the note of a launch."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions
from warplens.cli.main import main
from warplens.isa import forms

ROOT = Path(__file__).parents[2]
SOURCE = """
extern "C" __global__ void plain(float* out) { out[threadIdx.x] = 2.0f * out[threadIdx.x]; }
extern "C" __global__ void least(long long* out) {
    out[threadIdx.x] = __reduce_min_sync(~0u, (int)out[threadIdx.x]);
}
"""


def test_forms_of_compiled_code_are_recorded() -> None:
    """Every form that the corpus has was recorded, or is exact and was recorded in its like."""
    found = {f.name: f.status for f in forms.table().values() if f.in_corpus}

    assert [name for name, status in found.items()
            if status not in (forms.RECORDED, forms.EXACT)] == []  # fmt: skip
    assert len(found) > 1500


def test_every_form_of_the_corpus_is_in_the_table() -> None:
    """Opcodes of the corpus's words stand in the table as compiled code's."""
    packed = (ROOT / "validation" / "data" / "corpus_sm90.json.xz").read_bytes()
    words = json.loads(lzma.decompress(packed))["words"]

    assert len(words) >= sum(f.in_corpus for f in forms.table().values())


def test_listing(capsys: pytest.CaptureFixture[str]) -> None:
    """`list opcodes --forms --json PATTERN` has a form's status and inputs."""
    assert main(["list", "opcodes", "^IADD3 ", "--forms", "--json"]) == 0
    rows = {row["Form"]: row for row in json.loads(capsys.readouterr().out)}

    row = rows["IADD3 R, R, R, R"]
    assert (row["Status"], row["Inputs"], row["In compiled code"]) == ("recorded", "256", "yes")


def test_forms_that_differ_in_hints_are_alike() -> None:
    """A cache hint or a descriptor changes no meaning; a width does."""
    assert forms.status_of("LDG.E.EF.LTC128B.64 R, [R.64]") == forms.RECORDED
    assert forms.status_of("R2P PR, R.B3, imm") == forms.RECORDED
    assert forms.status_of("LDG.E.96 R, [R.64]") == forms.INFERRED


@pytest.mark.parametrize(("name", "is_noted"), [("plain", False), ("least", True)])
def test_note_of_a_launch(name: str, is_noted: bool) -> None:
    """The report says once that a kernel has forms whose meaning is inferred."""
    device = wl.Device("sm_100", options=LaunchOptions(timing=False))
    run = device.compile(SOURCE)[name][1, 32](np.zeros(32, np.int64))
    notes = [note for note in run.notes() if "inferred" in note]

    assert len(notes) == is_noted
    assert not is_noted or "CREDUX" in notes[0]


@pytest.mark.long
def test_table_is_made_from_the_recordings() -> None:
    """The table in the package is what validation/forms_table.py makes now."""
    sys.path.insert(0, str(ROOT / "validation"))
    from forms_table import TABLE, made

    data, _ = made()

    assert lzma.decompress(data) == lzma.decompress(TABLE.read_bytes())
