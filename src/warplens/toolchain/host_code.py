"""Finds host code in a CUDA source and takes it out, line numbers unchanged.

NVRTC compiles device code only, users' files hold both. The parts of a file are found by its braces
and semicolons, at namespace level and inside classes; which of them are left out is decided by the
compiler's errors (`nvrtc.py`): never a part that is marked `__global__` or `__device__`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\r?\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_DEVICE_WORDS = re.compile(r"__(?:global|device|constant|shared|managed|grid_constant)__")
_DEVICE_MACRO = re.compile(r"[A-Z0-9_]*(?:DEVICE|GLOBAL|KERNEL)[A-Z0-9_]*")
# What only host code does: launch kernels, call the runtime, use the standard library's containers.
HOST_USES = re.compile(
    r"<<<|\bcuda[A-Z]\w*\s*\(|\bcu[A-Z]\w*\s*\(|\bstd::(?:cout|cerr|endl|vector|string|ifstream"
    r"|ofstream|stringstream|chrono|map|thread|mt19937|exception|runtime_error)\b"
    r"|\b(?:fprintf|fopen|exit|rand|srand|getenv|fflush)\s*\("
)
_PREFIX = re.compile(r"\s*(?:(?:public|private|protected)\s*:\s*)*")
_TEMPLATE = re.compile(r"template\s*<")
_CLASS = re.compile(r"(?:typedef\s+)?(?:class|struct|union)\b")
_ALIGNMENT = re.compile(r"(?:alignas|__align__|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)")
_SCOPE = re.compile(r"(?:inline\s+)?namespace\b|extern\s*$")
_WORD = re.compile(r"\w+")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Part:
    """A declaration or definition: text[start:end].

    Attributes:
        kind: "function" (with its body), "prototype", "class" or "declaration".
        in_class: whether it is a member of a class.
        inner: the members of a class.
    """

    start: int
    end: int
    kind: str
    head: str
    in_class: bool
    inner: tuple[Part, ...] = ()


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a file in order; what stands in namespaces counts as standing outside."""
    code = _NO_CODE.sub(_blanked, text)
    return tuple(_parts(code, 0, len(code), False))


def without(text: str, parts: Iterable[Part]) -> str:
    """The text with parts replaced by blanks; lines stay where they are."""
    for part in parts:
        blank = re.sub(r"[^\n]", " ", text[part.start : part.end])
        text = text[: part.start] + blank + text[part.end :]
    return text


def host_parts_at(text: str, lines: Iterable[int]) -> list[Part]:
    """The parts without device code that hold these lines, without repetitions.

    A member function is a part of its own; a data member stands for its whole class, whose layout
    would be another without it.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    macros, parts = _device_macros(text), parts_of(text)
    found: dict[Part, None] = {}
    for line in lines:
        if not 0 < line <= len(starts):
            continue
        last = starts[line] if line < len(starts) else len(text)
        for part in parts:
            if part.start < last and part.end > starts[line - 1]:
                for chosen in _chosen(part, text, starts[line - 1], last, macros):
                    if not _has_device_code(chosen, text, macros):
                        found[chosen] = None
    return list(found)


def plain_host_functions(text: str) -> list[Part]:
    """Functions that are not marked as device code and do what only host code does."""
    macros = _device_macros(text)
    code = _NO_CODE.sub(_blanked, text)
    return [
        part
        for part in _functions(parts_of(text))
        if HOST_USES.search(code, part.start, part.end)
        and not _has_device_code(part, text, macros)
    ]


def _functions(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if part.kind == "function":
            yield part
        yield from _functions(part.inner)


def name_of(part: Part) -> str:
    """What a message calls a part: its function, its class, else the beginning of its text."""
    if part.kind == "function":
        match = re.search(r"([~\w:]+|operator\s*\S+)\s*\(", part.head)
        return f"{match[1]}()" if match else part.head.split("{")[0].strip()[:40]
    return " ".join(part.head.split())[:40]


def _chosen(part: Part, text: str, first: int, last: int, macros: frozenset[str]) -> list[Part]:
    """The host functions among the members there, else the part itself."""
    found: list[Part] = []
    for member in part.inner:
        if member.start < last and member.end > first:
            inner = _chosen(member, text, first, last, macros)
            found += [p for p in inner if p.kind != "declaration"]
    functions = [p for p in found if not _has_device_code(p, text, macros)]
    return functions or [part]


def _has_device_code(part: Part, text: str, macros: frozenset[str]) -> bool:
    looked_at = part.head if part.kind == "function" else text[part.start : part.end]
    if _DEVICE_WORDS.search(looked_at):
        return True
    words = _WORD.findall(looked_at)
    if any(word in macros or _DEVICE_MACRO.fullmatch(word) for word in words):
        return True
    # `NAME(...) {`: a macro that hides the function's head may hide `__global__` too.
    return part.kind == "function" and not part.in_class and re.match(
        r"\w+\s*\([^)]*\)\s*$", part.head.strip()
    ) is not None  # fmt: skip


def _device_macros(text: str) -> frozenset[str]:
    """Macros of the file that stand for device code, also through other macros."""
    bodies = {match[1]: match[2] for match in _DEFINE.finditer(text)}
    found = {name for name, body in bodies.items() if _DEVICE_WORDS.search(body)}
    while True:
        more = {
            name
            for name, body in bodies.items()
            if name not in found and found & set(_WORD.findall(body))
        }
        if not more:
            return frozenset(found)
        found |= more


def _blanked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _matching(code: str, at: int, end: int) -> int:
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, end):
        if code[i] in _OPENING:
            depth += 1
        elif code[i] in _CLOSING:
            depth -= 1
            if depth == 0:
                return i + 1
    return end


def _parts(code: str, start: int, end: int, in_class: bool) -> Iterator[Part]:
    at = start
    while True:
        prefix = _PREFIX.match(code, at, end)
        at = begin = prefix.end() if prefix else at
        if at >= end:
            return
        at, brace = _until_end(code, begin, end)
        head = code[begin : at if brace < 0 else brace]
        if brace < 0:
            is_prototype = "(" in head and not re.search(
                r"[^=!<>]=[^=]|\bvirtual\b|\busing\b", head
            )
            kind = "prototype" if is_prototype else "declaration"
            yield Part(begin, at, kind, head, in_class)
        elif _SCOPE.match(head.strip()):
            yield from _parts(code, brace + 1, at - 1, in_class)
        elif _is_class(head):
            inner = tuple(_parts(code, brace + 1, at - 1, True))
            at, _ = _until_end(code, at, end, only_semicolon=True)
            yield Part(begin, at, "class", head, in_class, inner)
        elif ")" in head and not re.match(r"(?:typedef\s+)?enum\b", head):
            yield Part(begin, at, "function", head, in_class)
        else:  # an enumeration
            at, _ = _until_end(code, at, end, only_semicolon=True)
            yield Part(begin, at, "declaration", head, in_class)


def _until_end(code: str, begin: int, end: int, only_semicolon: bool = False) -> tuple[int, int]:
    """The end of a part, and where its own brace opens (-1: it ends with a semicolon)."""
    at, initialised, constructing = begin, False, False
    if _TEMPLATE.match(code, begin, end):
        at = _behind_parameters(code, begin, end)
    while at < end:
        letter = code[at]
        if letter == ";":
            return at + 1, -1
        if letter in "([":
            at = _matching(code, at, end)
            continue
        if letter == "=":
            # operator== and the like are names, other equal signs begin a value
            initialised = initialised or not re.search(r"operator\s*\W*$", code[begin : at + 1])
        if letter == ":" and code[at - 1] != ":" and code[at + 1 : at + 2] != ":":
            constructing = constructing or code[begin:at].rstrip().endswith((")", "noexcept"))
        if letter == "{":
            closed = _matching(code, at, end)
            before = code[begin:at].rstrip()[-1:]
            member_value = constructing and (before.isalnum() or before in "_>")
            if not (initialised or only_semicolon or member_value):
                return closed, at
            at = closed
            continue
        at += 1
    return end, -1


def _behind_parameters(code: str, begin: int, end: int) -> int:
    """The place behind `template <...>`."""
    depth, at = 0, code.index("<", begin)
    while at < end:
        if code[at] in "([{":
            at = _matching(code, at, end)
            continue
        depth += (code[at] == "<") - (code[at] == ">")
        at += 1
        if depth == 0:
            return at
    return end


def _is_class(head: str) -> bool:
    text = head.strip()
    if _TEMPLATE.match(text):
        text = text[_behind_parameters(text, 0, len(text)) :].strip()
    # `struct S f() {` defines a function.
    return _CLASS.match(text) is not None and ")" not in _ALIGNMENT.sub("", text)
