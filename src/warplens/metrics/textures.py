"""Counters of textures and surfaces in L1TEX: requests, sectors, sets of tags.

As an H100 counts them (`validation/data/texture_counts_sm90.json`); hits and misses need what other
warps have left in L1 and are not given.
"""

from __future__ import annotations

from warplens.metrics.counters import Choice, Counters, Quantity, ratio
from warplens.metrics.memory_access import SECTOR_BYTES
from warplens.metrics.registry import Formula, metric

_FETCHES = ("TLD", "TLD4")  # what the hardware's names call loads; all others sample
_KINDS: dict[str, tuple[dict[str, Choice], str]] = {
    "": ({}, "textures and surfaces"),
    "_mem_texture": ({"space": "texture"}, "textures"),
    "_mem_texture_op_ld": ({"opcode": _FETCHES}, "fetches and gathers of textures"),
    "_mem_texture_op_tex": ({"opcode": ("TEX", "TXD")}, "samples of textures"),
    "_mem_surface": ({"space": "surface"}, "surfaces"),
    "_mem_surface_op_ld": ({"space": "surface", "op": "ld"}, "reads of surfaces"),
    "_mem_surface_op_st": ({"space": "surface", "op": "st"}, "writes of surfaces"),
    "_mem_surface_op_red": ({"space": "surface", "op": "red"}, "reductions of surfaces"),
}
_COUNTED = {
    "t_requests": ("tex_requests", 1, "request", "Requests of {}: four lanes, or eight, each."),
    "t_sectors": ("tex_sectors", 1, "sector", "Sectors that {} look up: 16 bytes of two rows of "
                  "an array."),
    "t_bytes": ("tex_sectors", SECTOR_BYTES, "byte", "Bytes of the sectors that {} look up."),
    "t_set_accesses": ("tex_lines", 1, "", "Sets of tags that {} look up."),
}  # fmt: skip


def _summed(column: str, factor: int, chosen: dict[str, Choice]) -> Formula:
    def formula(c: Counters) -> Quantity:
        return factor * c.sum(column, **chosen)

    return formula


def _per_request(chosen: dict[str, Choice]) -> Formula:
    def formula(c: Counters) -> Quantity:
        return ratio(c.sum("tex_sectors", **chosen), c.sum("tex_requests", **chosen))

    return formula


for _suffix, (_chosen, _what) in _KINDS.items():
    for _name, (_column, _factor, _unit, _doc) in _COUNTED.items():
        metric(f"l1tex__{_name}_pipe_tex{_suffix}", kind="counter", unit=_unit, basis="definition",
               formula=_summed(_column, _factor, _chosen), per_instruction=True,
               doc=_doc.format(_what))  # fmt: skip
    metric(f"l1tex__average_t_sectors_per_request_pipe_tex{_suffix}", kind="ratio",
           unit="sector/request", basis="definition", per_instruction=True, max_rate=32.0,
           formula=_per_request(_chosen), doc=f"Sectors per request of {_what}.")  # fmt: skip

for _op, _what in (("st", "writes"), ("red", "reductions")):
    metric(f"l1tex__m_l1tex2xbar_write_sectors_mem_surface_op_{_op}", kind="counter",
           unit="sector", basis="definition", per_instruction=True,
           formula=_summed("tex_written", 1, {"space": "surface", "op": _op}),
           doc=f"Sectors that {_what} of surfaces send to L2.")  # fmt: skip
