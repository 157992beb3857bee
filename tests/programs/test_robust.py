"""Nothing is left of programs and engines however they end, and neither reaches into the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.conftest import WARPLENS

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_nonsense_does_not_reach_the_engine() -> None:
    """Malformed messages, every call with bad words, copies at the engine's own addresses.

    The engine lives on, its memory is neither changed nor told.
    """
    done = subprocess.run([sys.executable, "-m", "tests.programs.fuzz_engine", "7", "1"], cwd=ROOT,
                          capture_output=True, text=True, timeout=600, check=False)  # fmt: skip

    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """A shell starts what runs in its background deaf to Ctrl-C, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _started(many: Path) -> tuple[subprocess.Popen[str], int]:
    """`warplens run` with a program that hangs in a kernel's wait, and the program's number."""
    engine = subprocess.Popen(
        [*WARPLENS, "run", str(many), "hangs"], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert engine.stdout is not None
    assert engine.stdout.readline() == "ready\n"
    children = Path(f"/proc/{engine.pid}/task/{engine.pid}/children").read_text().split()
    return engine, int(children[0])


def _is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _waits(condition: object) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("to_program", "number"),
    [(True, signal.SIGKILL), (False, signal.SIGINT), (False, signal.SIGKILL)],
    ids=["program killed", "Ctrl-C", "engine killed"],
)
def test_nothing_is_left(many: Path, to_program: bool, number: int) -> None:
    """A killed program, a killed engine and Ctrl-C leave no process, socket or shared memory."""
    shared = set(os.listdir("/dev/shm"))
    engine, program = _started(many)

    if to_program:
        os.kill(program, number)
    elif number == signal.SIGINT:
        os.killpg(engine.pid, number)  # as a terminal does
    else:
        os.kill(engine.pid, number)

    assert engine.wait(60) == -number
    assert _waits(lambda: _is_gone(program))
    assert f"warplens-{engine.pid}-" not in Path("/proc/net/unix").read_text()
    assert {name for name in set(os.listdir("/dev/shm")) - shared if "warplens" in name} == set()


@pytest.mark.parametrize("late", [False, True], ids=["program first", "warplens first"])
def test_an_interrupt_at_the_end(tmp_path: Path, late: bool) -> None:
    """Ctrl-C counts once: what reaches warplens when the program has ended by it changes nothing.

    The program ends by SIGINT and makes sure that warplens has one too, before or after.
    """
    program = tmp_path / "ends"
    both = ["kill -INT $PPID", "kill -INT $$"]
    delayed = "(while kill -0 $$; do :; done; kill -INT $PPID) 2>/dev/null &"
    program.write_text("#!/bin/sh\n" + "\n".join(both if late else [delayed, both[1]]) + "\n")
    program.chmod(0o755)

    done = subprocess.run([*WARPLENS, "run", str(program)], capture_output=True, text=True,
                          start_new_session=True, timeout=120, check=False)  # fmt: skip

    assert done.returncode == -signal.SIGINT
    assert "stopped" not in done.stderr


def test_two_at_once(many: Path) -> None:
    """Two programs that run side by side give what each gives alone."""
    both = [subprocess.Popen([*WARPLENS, "run", str(many), "streams", "3"], text=True,
                             stdout=subprocess.PIPE) for _ in range(2)]  # fmt: skip

    assert [one.communicate(timeout=300)[0] for one in both] == ["right\n"] * 2
    assert [one.returncode for one in both] == [0, 0]
