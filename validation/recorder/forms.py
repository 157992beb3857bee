"""Records what every form of instruction does to edge-biased registers and predicates.

`forms.py CUBINS OUT` needs CUBINS/forms.json (form_corpus.py) and CUBINS/carrier.cubin (build.py);
CUBINS/forms_wanted.json may list the numbers of those to record, the most wanted first.
Each form runs twice, among others and in reverse order: what depends on anything but its inputs is
marked. Every form's changed registers are kept, one row of 256 inputs each.
"""

from __future__ import annotations

import json
from typing import Any

import assembler as a
import form_corpus
import isolated
import numpy as np
import slots
from cuda_driver import CudaError, Driver
from session import Session

SECONDS = 80.0
FILES = 6  # the results are spread over so many files
Entries = list[tuple[str, slots.Form]]
Found = dict[int, tuple[bool, np.ndarray, np.ndarray]]


class Bench:
    """The carrier, its inputs and buffers."""

    def __init__(self, driver: Any, carrier: bytes, entries: Entries, inputs: slots.Words) -> None:
        self.driver, self.carrier, self.entries, self.inputs = driver, carrier, entries, inputs
        self.given = driver.upload(inputs)
        self.out_bytes = (slots.OUT_ROWS + slots.FIRST_ROW) * slots.ROW
        self.out = driver.alloc(self.out_bytes)
        self.notes, self.noted = driver.host_words(slots.THREADS)
        self.constants = slots.constants_cell()

    def _run(self, items: list[int], is_noted: bool) -> dict[int, slots.Words]:
        forms = [self.entries[i][1] for i in items]
        code = slots.code_of(forms, [slots.first_row(i) for i in items], is_noted)
        module = self.driver.load(a.carried(self.carrier, code, slots.REGISTER_COUNT))
        function = self.driver.function(module, a.CARRIER)
        self.driver.fill(self.out, 0xEE, self.out_bytes)
        self.driver.synchronize()
        self.notes[:] = 0
        arguments = (self.given, self.out, self.noted, self.constants)
        self.driver.launch(function, (1,), (slots.THREADS,), arguments)
        try:
            self.driver.synchronize()
        except CudaError as error:
            if is_noted and self.notes.any():
                raise isolated.ItemFailed(items[int(self.notes.max()) - 1], str(error)) from error
            raise
        rows = sum(form.rows for form in forms)
        rows += slots.FIRST_ROW
        words = self.driver.download(self.out, rows * slots.ROW // 4, np.uint32)
        self.driver.unload(module)
        split = slots.split(words.reshape(rows, slots.THREADS, 4), forms)
        return dict(zip(items, split, strict=True))

    def changed(self, items: list[int]) -> Found:
        """Of each form: whether both runs agree, the changed (row, part)s, their values."""
        first, second = self._run(items, True), self._run(items[::-1], False)
        found: Found = {}
        for i in items:
            before = slots.given(self.entries[i][1], slots.first_row(i), self.inputs)
            places = np.argwhere((first[i] != before).any(axis=1)).astype(np.uint8)
            values = first[i][places[:, 0], :, places[:, 1]]
            found[i] = bool((first[i] == second[i]).all()), places, values
        return found


def wanted(session: Session, count: int) -> list[int]:
    """The numbers of the forms to record, in order: those of forms_wanted.json, or all."""
    path = session.cubins / "forms_wanted.json"
    return list(json.loads(path.read_text())) if path.exists() else list(range(count))


def save(session: Session, entries: list[tuple[str, slots.Form]], found: Found,
         errors: dict[int, str]) -> None:  # fmt: skip
    """Writes forms_0.npz and so on, and forms_errors.json."""
    numbers = sorted(found)
    for part in range(FILES):
        own = numbers[part::FILES]
        places = [found[i][1] for i in own]
        session.save(
            f"forms_{part}",
            numbers=np.array(own, np.int32),
            agree=np.array([found[i][0] for i in own], bool),
            counts=np.array([len(p) for p in places], np.uint8),
            places=np.concatenate([np.zeros((0, 2), np.uint8), *places]),
            values=np.concatenate(
                [np.zeros((0, slots.THREADS), np.uint32), *(found[i][2] for i in own)]
            ),
        )
    named = {i: [entries[i][0], text] for i, text in sorted(errors.items())}
    (session.out / "forms_errors.json").write_text(json.dumps(named, indent=0))


def main() -> None:
    """Runs everything, as far as the time goes."""
    session = Session.of_command_line(__doc__)
    entries = form_corpus.from_rows(json.loads((session.cubins / "forms.json").read_text()))
    carrier, inputs = session.cubin("carrier"), slots.pool()
    found: Found = {}
    chosen = wanted(session, len(entries))
    batches = slots.batches([entries[i][1] for i in chosen])
    tasks = [[chosen[i] for i in batch] for batch in batches]
    errors: dict[int, str] = {}
    if session.dry_run:
        bench = Bench(session.driver, carrier, entries, inputs)
        for task in tasks[:: max(1, len(tasks) // 4)]:
            found |= bench.changed(task)
    else:
        crew = isolated.Crew(
            lambda: Bench(Driver(), carrier, entries, inputs).changed, found.update, SECONDS
        )
        errors = crew.run(tasks)
    save(session, entries, found, errors)
    print(len(found), "forms recorded,", len(errors), "refused by the GPU,",
          sum(not ok for ok, _, _ in found.values()), "not repeatable")  # fmt: skip


if __name__ == "__main__":
    main()
