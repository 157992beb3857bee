"""MkDocs hook: makes the reference pages from the registries of warplens."""

from __future__ import annotations

from typing import Any

from warplens.gpus.spec import list_gpus
from warplens.isa import forms
from warplens.isa.existing import ARCHITECTURES
from warplens.lift.coverage import coverage
from warplens.metrics.registry import all_metrics, all_sections, suffixes
from warplens.reference import pages
from warplens.reference.page import table


def _listed(kind: str) -> str:
    """All pages of a kind, each below its name."""
    chosen = (page for page in pages() if page.kind == kind)
    return "\n".join(f"## {page.name}\n\n{page.body().strip()}\n" for page in chosen)


def metrics_page() -> str:
    """Every metric with unit, basis and meaning, and every section."""
    rows = [
        (f"`{m.name}`", m.kind, m.unit, m.basis, len(suffixes(m)), m.doc) for m in all_metrics()
    ]
    sections = [
        (f"`{s.identifier}`", s.title, ", ".join(sorted(s.sets)), len(s.rows) + len(s.extra))
        for s in all_sections()
    ]
    return "\n".join([
        "# Metrics", "",
        f"{len(rows)} declarations. A counter offers `.sum`, `.avg`, `.min`, `.max` and what "
        "follows from them; `warplens list metrics NAME` shows every full name.", "",
        "## Sections", "", table(("identifier", "title", "sets", "metrics"), sections),
        "## Metrics", "",
        table(("name", "kind", "unit", "basis", "values", "meaning"), rows),
    ])  # fmt: skip


def opcodes_page() -> str:
    """Every opcode of every architecture: executed or refused, its pipe and meaning."""
    every = coverage()
    rows = [
        (f"`{one.opcode}`",
         *((("yes" if one.is_supported else "refused") if sm in one.architectures else "")
           for sm in ARCHITECTURES),
         one.pipe, one.category, one.meaning, "; ".join(one.refused))
        for one in every
    ]  # fmt: skip
    executed = sum(one.is_supported for one in every)
    return "\n".join([
        "# Instructions", "",
        f"{len(every):,} opcodes that nvdisasm lists for seven architectures; {executed:,} are "
        "supported. `warplens list opcodes FILE.cu` lists a file's unsupported instructions.", "",
        table(("opcode", *(f"sm_{sm}" for sm in ARCHITECTURES), "pipe", "category", "meaning",
                 "refused forms"), rows),
    ])  # fmt: skip


_MEANINGS = (
    (forms.RECORDED, "the results of edge-biased inputs on a GPU, or those of whole kernels, are "
     "replayed by the tests, bit for bit"),
    (forms.EXACT, "an integer or IEEE operation that the tests compare with host arithmetic, and "
     "that was recorded in another form"),
    (forms.INFERRED, "taken from documentation or from what compiled code does with it"),
    (forms.REFUSED, "a kernel that has it is refused by name"),
)  # fmt: skip


def forms_page() -> str:
    """What the meaning of every form of an instruction was compared with."""
    every = list(forms.table().values())
    statuses = [status for status, _ in _MEANINGS]
    summary = [
        (status, meaning, sum(f.status == status for f in every),
         sum(f.status == status and f.in_corpus for f in every))
        for status, meaning in _MEANINGS
    ]  # fmt: skip
    by_opcode: dict[str, list[forms.Form]] = {}
    for form in every:
        by_opcode.setdefault(forms.opcode_of(form.name), []).append(form)
    counts = [
        (f"`{opcode}`", *(sum(f.status == s for f in own) or "" for s in statuses))
        for opcode, own in sorted(by_opcode.items())
    ]
    common = [(f"`{f.name}`", f.status, f.inputs or "", f.where) for f in every if f.in_corpus]
    origin = forms.origin()
    return "\n".join([
        "# Instruction forms", "",
        "A form is an opcode with its modifiers and the kinds of its operands. Those of sm_90 were "
        f"recorded on an {origin['gpu']}, driver {origin['driver']}, on {origin['date']}. "
        "`warplens list opcodes --forms` lists all of them; a report says so where a kernel has "
        "forms whose meaning is inferred.", "",
        table(("status", "what it says", "forms", "in compiled code"), summary),
        "## By opcode", "", table(("opcode", *statuses), counts),
        "## Forms of compiled code", "",
        table(("form", "status", "inputs", "where, or why refused"), common),
    ])  # fmt: skip


def gpus_page() -> str:
    """Every GPU with its main numbers."""
    rows = [
        (g.name, g.compute_capability, g.sm_count, g.fp32_lanes, g.fp64_lanes,
         f"{g.dram_bandwidth_bytes_per_second / 1e9:,.0f}", f"{g.l2_size_bytes / 2**20:,.0f}")
        for g in list_gpus() if not g.is_architecture
    ]  # fmt: skip
    return "\n".join([
        "# GPUs", "", f"{len(rows)} products.", "",
        table(("name", "compute capability", "SMs", "FP32 lanes per SM", "FP64 lanes per SM",
                 "DRAM GB/s", "L2 MiB"), rows),
    ])  # fmt: skip


def rules_page() -> str:
    """Every rule of the advice, with examples."""
    intro = "The rules of [advice](../advice.md), which `warplens explain NAME` prints too."
    return f"# Rules\n\n{intro}\n\n{_listed('rule')}"


def checks_page() -> str:
    """Every check of the sanitizers."""
    intro = "The checks of the [sanitizers](../sanitizers.md). `warplens explain NAME` prints each."
    return f"# Checks\n\n{intro}\n\n{_listed('check')}"


PAGES = {
    "reference/metrics.md": metrics_page,
    "reference/opcodes.md": opcodes_page,
    "reference/forms.md": forms_page,
    "reference/gpus.md": gpus_page,
    "reference/rules.md": rules_page,
    "reference/checks.md": checks_page,
}


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to the site."""
    from mkdocs.structure.files import File

    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files
