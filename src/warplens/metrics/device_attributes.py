"""The GPU's own numbers, as scripts read them from a raw page."""

from __future__ import annotations

from warplens.metrics.counters import Counters
from warplens.metrics.registry import Formula, metric

_ATTRIBUTES = {
    "multiprocessor_count": "sm_count",
    "max_warps_per_multiprocessor": "max_warps_per_sm",
    "l2_cache_size": "l2_size_bytes",
}
_BYTES = frozenset({"l2_cache_size"})


def _attribute(name: str) -> Formula:
    def formula(c: Counters) -> int:
        return int(getattr(c.gpu, name))

    return formula


def _capability(part: int) -> Formula:
    def formula(c: Counters) -> int:
        return int(c.gpu.compute_capability.split(".")[part])

    return formula


for _name, _field in _ATTRIBUTES.items():
    metric(f"device__attribute_{_name}", unit="byte" if _name in _BYTES else "", basis="spec",
           formula=_attribute(_field), doc=f"The GPU's {_name.replace('_', ' ')}.")  # fmt: skip
metric("device__attribute_compute_capability_major", unit="", basis="spec",
       formula=_capability(0), doc="The first part of the compute capability.")  # fmt: skip
metric("device__attribute_compute_capability_minor", unit="", basis="spec",
       formula=_capability(1), doc="The second part of the compute capability.")  # fmt: skip
metric("device__attribute_display_name", unit="", basis="spec", formula=lambda c: c.gpu.name,
       doc="The GPU's name.")  # fmt: skip
