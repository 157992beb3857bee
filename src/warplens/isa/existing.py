"""Which opcodes each architecture has: those that nvdisasm knows (validation/opcodes.py)."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)


@cache
def existing() -> dict[str, frozenset[int]]:
    """Opcode -> the architectures, as 90 for sm_90, that have it."""
    text = resources.files("warplens.isa").joinpath("data/opcodes.json").read_text()
    return {name: frozenset(sms) for name, sms in json.loads(text)["opcodes"].items()}
