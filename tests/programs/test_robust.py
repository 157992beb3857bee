"""Nothing is left of programs and engines however they end, and neither reaches into the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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


def _waits(condition: object, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
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
        while engine.poll() is None:  # as a terminal does, and a person who waits in vain again
            os.killpg(engine.pid, number)
            _waits(lambda: engine.poll() is not None, 15)
    else:
        os.kill(engine.pid, number)

    assert engine.wait(60) == -number
    assert _waits(lambda: _is_gone(program))
    assert f"warplens-{engine.pid}-" not in Path("/proc/net/unix").read_text()
    assert {name for name in set(os.listdir("/dev/shm")) - shared if "warplens" in name} == set()


def test_two_at_once(many: Path) -> None:
    """Two programs that run side by side give what each gives alone."""
    both = [subprocess.Popen([*WARPLENS, "run", str(many), "streams", "3"], text=True,
                             stdout=subprocess.PIPE) for _ in range(2)]  # fmt: skip

    assert [one.communicate(timeout=300)[0] for one in both] == ["right\n"] * 2
    assert [one.returncode for one in both] == [0, 0]
