"""Entry point: finds the verbs, parses, runs one, turns errors into one message and a status."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from warplens import cli
from warplens.cli._program import is_program
from warplens.errors import WarplensError
from warplens.version import __version__

EPILOG = """a session:
  warplens profile reduce.cu -k 'reduce<256>' --grid 4096 --block 256 \\
           --arg 'i32[1048576]=arange' --arg 'i32[1]=0' --arg i32=1048576
  warplens run script.py                         a program for GPUs, on this machine's CPU
  warplens run app.cu 100                        the same for a CUDA program
  warplens profile script.py                     every launch the script makes
  warplens profile ... --gpu H200 --gpu 'RTX 4090' --set full -o first
  warplens show first --page source --csv
  warplens compare first second
  warplens occupancy --gpu A100 --threads 512 --registers 33
  warplens list gpus
  warplens explain UncoalescedGlobalAccess       what a name in a report means

exit status: 0 clean, 1 findings or a failed comparison, 2 usage or internal error
"""


def _verbs() -> dict[str, ModuleType]:
    """Every module that offers a verb; what they share has names that start with `_`."""
    found = {}
    for entry in pkgutil.iter_modules(cli.__path__):
        if entry.name == "main" or entry.name.startswith("_"):
            continue
        module = importlib.import_module(f"{cli.__name__}.{entry.name}")
        if hasattr(module, "add_parser") and hasattr(module, "run"):
            found[entry.name] = module
    return found


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="warplens",
        description="Profile, check and tune CUDA kernels on a machine with no GPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"warplens {__version__}")
    subparsers = parser.add_subparsers(metavar="VERB", required=True)
    for module in _verbs().values():
        verb = module.add_parser(subparsers)
        verb.set_defaults(run=module.run)
    return parser


def script_split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parts the command from what is not its own.

    After `profile [options] script.py`, or a program, the rest is the script's; `build` leaves to
    nvcc what it does not know; `profile app.cu -- arguments` says where the program's begin.
    """
    if words and words[0] == "build":
        return _build_split(words)
    verb_takes_target = bool(words) and words[0] in ("run", "profile", "sanitize", "tune")
    for position, word in enumerate(words):
        if not (position and verb_takes_target):
            continue
        is_value = words[position - 1] in _WITH_VALUE
        if word.endswith(".py") or (not is_value and _is_whole_program(words, position)):
            return list(words[: position + 1]), list(words[position + 1 :])
        if word == "--":
            return list(words[:position]), list(words[position:])
    return list(words), []


# Options before a program whose values could be taken for it.
_WITH_VALUE = frozenset({
    "--gpu", "--clock", "-o", "--export", "--log-file", "-k", "--kernel-name", "--save", "-i",
    "--import", "--report", "-X",
})  # fmt: skip


def _is_whole_program(words: Sequence[str], position: int) -> bool:
    """Whether a word is a program: built, or a source that `run` builds."""
    word = words[position]
    if word.startswith("-"):
        return False
    if word.endswith(".cu"):
        return words[0] == "run"
    return "/" in word and is_program(word)


def _build_split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    own, rest, at = ["build"], [], 1
    while at < len(words):
        word = words[at]
        if word in ("-h", "--help"):
            own.append(word)
        elif word in ("--gpu", "-o", "--output") and at + 1 < len(words):
            own += words[at : at + 2]
            at += 1
        elif word.startswith(("--gpu=", "--output=")):
            own.append(word)
        else:
            rest.append(word)
        at += 1
    return own, rest


def _notes(error: BaseException) -> list[str]:
    """What was added to an error on its way: where a stopped launch stood."""
    return list(getattr(error, "__notes__", ()))


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    own, rest = script_split(sys.argv[1:] if words is None else words)
    arguments = build_parser().parse_args(own)
    arguments.script_arguments = rest
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except WarplensError as error:
        print(f"warplens: error: {error}", *_notes(error), sep="\n  ", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as stop:
        print("warplens: stopped", *_notes(stop), sep="\n  ", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away, as `| head` does; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
