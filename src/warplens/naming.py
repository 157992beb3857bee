"""Kernel names: mangled, demangled, bare, and how a user's spelling is matched."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CASTS = re.compile(r"\((?:unsigned |signed )?(?:int|long long|long|char|short|bool)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelNames:
    """Every name by which one kernel may be asked for; `spellings` are squeezed."""

    mangled: str
    demangled: str
    bare: str
    spellings: frozenset[str]


def names_of(mangled: str, demangled: str) -> KernelNames:
    """The names of a kernel.

    >>> "scale<3>" in names_of("_Z5scaleILi3EEvPKf", "void scale<3>(float const*)").spellings
    True
    """
    plain = without_parameters(demangled)
    bare = bare_name(demangled)
    names = {mangled, demangled, plain, bare, _without_result(plain), _without_result(demangled)}
    return KernelNames(
        mangled=mangled,
        demangled=demangled,
        bare=bare,
        spellings=frozenset(squeezed(name) for name in names),
    )


def squeezed(name: str) -> str:
    """A name with blanks between words only and no demangler's casts: `f<(int)3>` is `f<3>`.

    >>> squeezed(" f< unsigned  int , (int)3 >"), squeezed("go od")
    ('f<unsigned int,3>', 'go od')
    """
    return re.sub(r"\s+(?=\W|$)|(?<!\w)\s+", "", _CASTS.sub("", re.sub(r"\s+", " ", name)))


def without_parameters(demangled: str) -> str:
    """A signature without its parameter list: `void reduce<256>`."""
    text = demangled.strip()
    if not text.endswith(")"):
        return text
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        depth += (text[position] == ")") - (text[position] == "(")
        if depth == 0:
            return text[:position]
    return text


def _without_result(name: str) -> str:
    """A signature without its result type, which template instances carry."""
    return name.removeprefix("void ").strip()


def bare_name(demangled: str) -> str:
    """The function's own name: no result type, namespace, template arguments or parameters."""
    text = _without_result(without_parameters(demangled))
    depth, kept = 0, []
    for letter in text:
        depth += letter == "<"
        if depth == 0:
            kept.append(letter)
        depth -= letter == ">"
    return "".join(kept).rpartition("::")[2].strip() or text
