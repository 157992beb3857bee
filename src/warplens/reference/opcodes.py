"""Pages of opcodes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from warplens.isa.refused import feature_of
from warplens.lift.coverage import Coverage, coverage
from warplens.reference.page import Page


def opcode_pages() -> Iterator[Page]:
    """One page for each opcode that nvdisasm knows."""
    for one in coverage():
        yield Page(kind="opcode", name=one.opcode, body=partial(_body, one))


def with_modifiers(text: str) -> Page | None:
    """The page of an instruction such as `HMMA.16816.F32`; it tells what of it is refused."""
    opcode, *modifiers = text.split(".")
    one = next((one for one in coverage() if one.opcode.casefold() == opcode.casefold()), None)
    if one is None or not modifiers:
        return None
    spelt = {known.casefold(): known for known in one.modifiers}
    asked = [spelt.get(word.casefold(), word.upper()) for word in modifiers]

    def body() -> str:
        feature = feature_of(one.opcode, asked)
        unknown = [word for word in asked if word not in one.modifiers]
        if feature and one.is_supported:
            told = f"Not supported in this form: {feature.name}. Instead: {feature.advice}.\n\n"
        elif unknown and one.is_supported:
            forms = ", ".join(f"`.{word}`" for word in unknown)
            told = f"Not supported with {forms}.\n\n"
        else:
            told = ""
        return told + _body(one)

    return Page(kind="opcode", name=".".join((one.opcode, *asked)), body=body)


def _body(one: Coverage) -> str:
    where = ", ".join(f"sm_{sm}" for sm in sorted(one.architectures))
    parts = [f"A SASS instruction of {where}."]
    if not one.is_supported:
        feature = feature_of(one.opcode)
        refused = f"Not supported: {one.meaning}." if one.meaning else "Not supported."
        return "\n\n".join([*parts, refused, *(_instead(feature.advice) if feature else ())])
    parts += [one.meaning, f"Pipe {one.pipe}, counted as {one.category}."]
    if one.modifiers:
        parts.append("Supported modifiers: " + " ".join(f"`.{m}`" for m in one.modifiers))
    if one.refused:
        parts.append("Unsupported forms: " + "; ".join(one.refused) + ".")
    parts.append("`warplens list opcodes FILE.cu` lists the unsupported instructions of a source "
                 "file.")
    return "\n\n".join(parts)


def _instead(advice: str) -> Iterator[str]:
    yield f"Instead: {advice}."
