"""Variants of a kernel compiled by workers: what a sweep then finds in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from warplens.errors import WarplensError
from warplens.toolchain.cache import default_cache
from warplens.toolchain.nvdisasm import disassemble
from warplens.toolchain.source import SourceUnit
from warplens.workers import runner_of

Variant = tuple[SourceUnit, tuple[str, ...]]  # and its template instances


def _compiled(variant: Variant) -> None:
    """Fills the cache; what is refused is refused again by whoever asks for it."""
    unit, expressions = variant
    with suppress(WarplensError):
        disassemble(unit.compiled(expressions).cubin)


def _options(variant: Variant) -> tuple[str, ...]:
    return variant[0].options


def prepare(variants: Sequence[Variant], *, processes: int | None, scheduler: str | None) -> None:
    """Compiles and lists the variants at once; nothing where one process would do it anyway."""
    alone = scheduler is None and (processes == 1 or len(variants) < 2)
    if alone or default_cache().directory is None:
        return
    runner = runner_of(scheduler, processes)
    try:
        for _ in runner.results(_compiled, variants, _options):
            pass
    finally:
        runner.close()
