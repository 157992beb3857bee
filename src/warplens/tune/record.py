"""What is known of configurations, line by line in a file, so that a search can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import InputError
from warplens.tune.evaluate import FACTS, Answer
from warplens.tune.problem import Job
from warplens.version import __version__

_KEYS = {"stage", "gpu", "job", "facts", "metrics", "limiter", "problem", "seconds"}


class Record:
    """Answers by stage, GPU and job; with a path they are appended to it as they come.

    Raises:
        InputError: the file holds a line that is no answer, or was made for something else.
    """

    def __init__(self, path: Path | None, purpose: str) -> None:
        self.path = path
        self._known: dict[tuple[str, str, str], Answer] = {}
        if path is not None and path.exists():
            self._read(path, purpose)
        elif path is not None:
            self._append({"warplens": __version__, "purpose": purpose})

    def find(self, stage: str, gpu: str, job: Job) -> Answer | None:
        """What is known of a job."""
        return self._known.get((stage, gpu, key_of(job)))

    def keep(self, stage: str, gpu: str, job: Job, answer: Answer) -> None:
        """Keeps an answer, without the arrays."""
        key = key_of(job)
        self._known[stage, gpu, key] = answer
        if self.path is not None:
            self._append({
                "stage": stage, "gpu": gpu, "job": key, "facts": answer.facts,
                "metrics": answer.metrics, "limiter": answer.limiter, "problem": answer.problem,
                "seconds": answer.seconds,
            })  # fmt: skip

    def _append(self, row: Mapping[str, Any]) -> None:
        assert self.path is not None
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from error

    def _read(self, path: Path, purpose: str) -> None:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                if number == len(lines):
                    self._drop_last(path, lines)  # a run that was killed while it wrote
                    return
                raise _broken(path, number, f"not JSON ({error.msg})") from error
            if number == 1:
                if not isinstance(row, dict) or row.get("purpose") != purpose:
                    raise _broken(path, number, "made for another kernel, space or arguments")
                continue
            if not _is_answer(row):
                raise _broken(path, number, "not an answer of this version")
            self._known[row["stage"], row["gpu"], row["job"]] = Answer(
                facts=row["facts"], metrics=row["metrics"], limiter=row["limiter"],
                problem=row["problem"], seconds=row["seconds"],
            )  # fmt: skip

    @staticmethod
    def _drop_last(path: Path, lines: list[str]) -> None:
        path.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")


def _is_answer(row: Any) -> bool:
    """Whether a line says what this version writes."""
    if not isinstance(row, dict) or set(row) != _KEYS:
        return False
    facts, metrics = row["facts"], row["metrics"]
    texts = (row[name] for name in ("stage", "gpu", "job", "limiter", "problem"))
    return (
        all(isinstance(text, str) for text in texts)
        and isinstance(row["seconds"], int | float)
        and (facts is None or (_are_numbers(facts) and set(facts) == set(FACTS)))
        and (metrics is None or (_are_numbers(metrics) and len(metrics) > 0))
    )


def _are_numbers(values: Any) -> bool:
    return isinstance(values, dict) and all(isinstance(v, int | float) for v in values.values())


def _broken(path: Path, number: int, why: str) -> InputError:
    return InputError(f"{path}:{number}: {why}", hint="Name another file, or remove this one.")


def key_of(job: Job) -> str:
    """The job as text: what it compiles and how it is launched."""
    cluster = "" if job.cluster is None else f" cluster {job.cluster}"
    options = " ".join(job.options)
    return f"{job.kernel} {job.grid} {job.block} {job.shared}{cluster} {options}"


def purpose_of(sources: list[str], arguments: list[Any], extra: str) -> str:
    """A digest of what the answers depend on beside the job."""
    found = hashlib.sha256(extra.encode())
    for source in sources:
        found.update(source.encode())
    for value in arguments:
        is_array = isinstance(value, np.ndarray)
        found.update(value.tobytes() if is_array else repr(value).encode())
        found.update(str((value.shape, value.dtype)).encode() if is_array else b"")
    return found.hexdigest()[:24]
