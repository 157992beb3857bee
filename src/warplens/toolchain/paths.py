"""File names as NVIDIA's compilers write them."""

from __future__ import annotations

import re

# A byte above 127 is written in octal behind a backslash; where a table splits paths into folder
# and name, the compiler takes the last backslash for a separator.
_ESCAPED = re.compile(r"\\[23][0-7]{2}(?:[\\/][23][0-7]{2})*")


def unescaped(path: str) -> str:
    r"""The path with its characters beyond ASCII.

    >>> unescaped(r"/tmp/\303\274/kern\303/251l.cu")
    '/tmp/ü/kernél.cu'
    """

    def character(found: re.Match[str]) -> str:
        data = bytes(int(digits, 8) for digits in re.findall(r"[23][0-7]{2}", found[0]))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return found[0]

    return _ESCAPED.sub(character, path)
