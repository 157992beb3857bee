"""Compiles a file that nvcc takes and NVRTC does not: with nvcc's preamble, without its host code.

nvcc declares much before a file's first line and gives host code to the host's compiler. A file
that fails as it is gets that preamble and empty host headers; then the host parts at which errors
point are left out, until it compiles or an error points at device code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from warplens.errors import CompileError
from warplens.toolchain import headers
from warplens.toolchain.host_code import host_parts_at, name_of, plain_host_functions, without

_MOST_ROUNDS = 20  # NVRTC stops after a hundred errors
_ERROR = re.compile(r"^(.+?)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)", re.MULTILINE)
# Errors that come of host code; others in declarations are the user's mistakes.
_OF_HOST_CODE = re.compile(
    r'identifier "(?!(?:concept|requires|consteval|constinit|char8_t|co_\w+)")\w+" is undefined'
    r'|has no member|incomplete type|name followed by "::"|execution space|__host__|host function'
    r"|not a template"
)
_SHOWN_NAMES = 8
DEFAULT_DEVICE = "-default-device"
OPTIONS = (DEFAULT_DEVICE, f"--pre-include={headers.PREAMBLE_NAME}")

_Result = TypeVar("_Result")


def compile_device_code(
    texts: Mapping[str, str], attempt: Callable[[Mapping[str, str]], _Result]
) -> tuple[_Result, tuple[str, ...]]:
    """What `attempt` makes of the files without the host code at which it fails, and the names of
    what was left out.

    Args:
        texts: the user's files by name, as errors name them.

    Raises:
        CompileError: with the errors of the device code.
    """
    left_out: list[str] = []
    current = dict(texts)
    for name, text in texts.items():  # at once, what else would take a compile each
        parts = plain_host_functions(text)
        current[name] = without(text, parts)
        left_out += [name_of(part) for part in parts]
    for _ in range(_MOST_ROUNDS):
        try:
            return attempt(current), tuple(left_out)
        except CompileError as error:
            if _leave_out(current, error.log or "", left_out):
                continue
            if not left_out:
                raise
            message = f"{error.message}\n{note(tuple(left_out))}"
            raise CompileError(message, log=error.log, hint=error.hint) from None
    return attempt(current), tuple(left_out)


def _leave_out(texts: dict[str, str], log: str, left_out: list[str]) -> bool:
    """Takes the host parts with errors out of the texts; False if there are none."""
    places = _ERROR.findall(log)
    found = False
    for name, text in texts.items():
        here = [(int(line), what) for file, line, what in places if file == name]
        parts = [
            part
            for line, what in here
            for part in host_parts_at(text, [line])
            if part.kind == "function" or _OF_HOST_CODE.search(what)
        ]
        if parts:
            texts[name] = without(text, parts)
            left_out += [name_of(part) for part in parts]
            found = True
    return found


def note(left_out: tuple[str, ...]) -> str:
    """What the module's log says of it, once."""
    names = tuple(dict.fromkeys(left_out))
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    text = "compiled with nvcc's implicit declarations; unmarked functions count as __device__"
    if names:
        text += f"; left out as host code: {', '.join(names[:_SHOWN_NAMES])}{more}"
    return f"warplens: {text}."
