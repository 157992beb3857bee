"""What the headers of NVIDIA's host libraries declare, as the types that our entries use."""

from __future__ import annotations

import re
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_LINE = re.compile(r"^\s*#[^\n]*(?:\\\n[^\n]*)*", re.MULTILINE)
_PROTOTYPE = re.compile(r"\b((?:cublas|cufft|cusparse|cusolver|curand)\w+)\s*\(([^(){};]*)\)\s*;")
_POINTERS = re.compile(r"\w*(?:Handle_t|Descr_t|Info_t|Params_t|Stream_t|Desc_t|"
                       r"Layout_t|Preference_t|curandGenerator_t|"
                       r"curandDirectionVectors32_t|Info|Plan_t|Distribution_t)$")  # fmt: skip
_PLAIN = {
    "int": "I32", "int64_t": "I64", "size_t": "U64", "float": "F32", "double": "F64",
    "unsigned": "U32", "unsigned int": "U32", "unsigned long long": "U64", "long long": "I64",
    "long long int": "I64", "int32_t": "I32", "cufftHandle": "I32", "uint64_t": "U64",
}  # fmt: skip


def prototypes(header: Path) -> dict[str, tuple[str, ...]]:
    """Each declared function's parameter types."""
    text = _LINE.sub("", _COMMENT.sub("", header.read_text(errors="replace")))
    found: dict[str, tuple[str, ...]] = {}
    for name, parameters in _PROTOTYPE.findall(text):
        words = " ".join(parameters.split())
        parts = [] if words in ("", "void") else words.split(",")
        found.setdefault(name, tuple(map(_type, parts)))  # behind it, inline functions call it
    return found


def _type(parameter: str) -> str:
    if "*" in parameter or "[" in parameter:
        return "Pointer"
    words = [word for word in parameter.split() if word not in ("const", "enum", "struct")]
    for n in (len(words), len(words) - 1):
        kind = " ".join(words[:n])
        if kind in _PLAIN:
            return _PLAIN[kind]
    return "Pointer" if _POINTERS.match(words[0]) else "I32"
