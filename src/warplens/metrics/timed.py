"""Counters that only a timing model can give: cycles, activity, caches, DRAM, throughputs."""

from __future__ import annotations

from warplens.metrics.registry import metric


def timed(name: str, unit: str, doc: str, *, cycle_unit: str | None = None) -> None:
    """A counter of the timing model."""
    metric(name, kind="counter", unit=unit, basis="model", formula=None, doc=doc,
           cycle_unit=cycle_unit)  # fmt: skip


def share(name: str, doc: str, max_rate: float | None = 1.0, unit: str = "") -> None:
    """A ratio of the timing model."""
    metric(name, kind="ratio", unit=unit, basis="model", formula=None, doc=doc,
           max_rate=max_rate)  # fmt: skip


def throughput(name: str, doc: str) -> None:
    """A throughput: the largest of its breakdown, in percent of the peak."""
    metric(name, kind="throughput", unit="%", basis="model", formula=None, doc=doc)


timed("gpu__time_duration", "ns", "Duration of the launch.")
for _unit in ("gpc", "sm", "smsp", "l1tex", "lts", "dram", "gpu"):
    timed(f"{_unit}__cycles_elapsed", "cycle", f"Elapsed {_unit.upper()} clock cycles.")
for _unit in ("gpc", "sm", "smsp", "l1tex", "lts", "dram", "gpu"):
    timed(f"{_unit}__cycles_active", "cycle", f"{_unit.upper()} clock cycles with work in flight.")

for _name, _doc in (
    ("sm__throughput", "Compute (SM) throughput: the most utilised part of the SMs."),
    ("sm__instruction_throughput", "The most utilised of issue slots and execution pipes."),
    ("sm__memory_throughput", "The most utilised memory pipe of the SM."),
    ("gpu__compute_memory_throughput", "Memory throughput: the most utilised part of the memory "
        "system."),
    ("gpu__compute_memory_access_throughput", "The most utilised cache or memory unit."),
    ("gpu__compute_memory_request_throughput", "The most utilised link between memory units."),
    ("gpu__dram_throughput", "DRAM bandwidth used."),
    ("dram__throughput", "DRAM bandwidth used."),
    ("l1tex__throughput", "The most utilised part of L1TEX."),
    ("lts__throughput", "The most utilised part of L2."),
):
    throughput(_name, f"{_doc} Percent of the sustained peak.")

for _name, _doc in (
    ("lts__t_sectors", "Sectors looked up in L2."),
    ("lts__t_sectors_op_read", "Sectors read through L2."),
    ("lts__t_sectors_op_write", "Sectors written through L2."),
    ("lts__t_sectors_op_atom", "Sectors of atomics in L2."),
    ("lts__t_sectors_op_red", "Sectors of reductions in L2."),
    ("lts__t_sectors_lookup_hit", "Sectors with an L2 hit."),
    ("lts__t_sectors_lookup_miss", "Sectors with an L2 miss."),
    ("lts__t_sectors_srcunit_tex", "Sectors requested from L2 by L1TEX."),
    ("dram__sectors_read", "Sectors read from DRAM."),
    ("dram__sectors_write", "Sectors written to DRAM."),
    ("l1tex__m_xbar2l1tex_read_sectors", "Sectors that L2 returned to L1TEX."),
    ("l1tex__t_sectors_lookup_hit", "Sectors with an L1 hit."),
    ("l1tex__t_sectors_lookup_miss", "Sectors with an L1 miss."),
):
    timed(_name, "sector", _doc)
for _name, _doc in (
    ("dram__bytes", "Bytes read from and written to DRAM."),
    ("dram__bytes_read", "Bytes read from DRAM."),
    ("dram__bytes_write", "Bytes written to DRAM."),
):
    timed(_name, "byte", _doc)
timed("lts__t_requests", "request", "Requests to L2.")
share("l1tex__t_sector_hit_rate", "L1 hit rate, in sectors.")
share("lts__t_sector_hit_rate", "L2 hit rate, in sectors.")
share("lts__t_sector_op_read_hit_rate", "L2 hit rate of reads, in sectors.")
share("lts__t_sector_op_write_hit_rate", "L2 hit rate of writes, in sectors.")

for _pipe in ("alu", "fma", "fp64", "shared", "tensor"):
    timed(f"sm__pipe_{_pipe}_cycles_active", "cycle",
          f"Cycles in which the {_pipe.upper()} pipe was busy.")  # fmt: skip

timed("smsp__issue_active", "cycle", "Cycles in which a scheduler issued an "
    "instruction.", cycle_unit="")
timed("smsp__issue_inst0", "cycle", "Cycles in which a scheduler issued no "
    "instruction.", cycle_unit="")
timed("smsp__warps_active", "warp", "Active warps of a scheduler, summed over cycles.",
      cycle_unit="warp")  # fmt: skip
timed("smsp__warps_eligible", "warp", "Eligible warps of a scheduler, summed over cycles.",
      cycle_unit="warp")  # fmt: skip
timed("smsp__issue_inst1", "cycle", "Cycles in which a scheduler issued one "
    "instruction.", cycle_unit="")
timed("dram__sectors", "sector", "Sectors read from and written to DRAM.")
timed("lts__d_sectors", "sector", "Sectors of data read or written in L2.")
for _quantity, _one in (("sectors", "sector"), ("requests", "request")):
    for _op in ("", "_op_read", "_op_write", "_op_atom", "_op_red"):
        for _found in ("", "_lookup_hit", "_lookup_miss"):
            _name = f"lts__t_{_quantity}_srcunit_tex{_op}{_found}"
            if _name != "lts__t_sectors_srcunit_tex":
                timed(_name, _one, f"L2 {_quantity} from L1TEX{(_op + _found).replace('_', ' ')}.")
for _op in ("read", "write", "atom", "red"):
    timed(f"lts__t_requests_op_{_op}", "request", f"Requests to L2: {_op}.")
for _where in ("", "_mem_lg_op_st", "_mem_global_op_atom", "_mem_global_op_red", "_pipe_lsu"):
    timed(f"l1tex__m_l1tex2xbar_write_sectors{_where}", "sector",
          f"Sectors that L1TEX sent to L2{_where.replace('_', ' ')}.")  # fmt: skip
timed("l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit", "sector",
      "Sectors of textures with an L1 hit.")  # fmt: skip
timed("l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss", "sector",
      "Sectors of textures with an L1 miss.")  # fmt: skip
timed("l1tex__m_xbar2l1tex_read_sectors_mem_texture", "sector",
      "Sectors that L2 returned to L1TEX for textures.")  # fmt: skip
timed("l1tex__m_xbar2l1tex_read_sectors_mem_surface_op_ld", "sector",
      "Sectors that L2 returned to L1TEX for surfaces.")  # fmt: skip
share("l1tex__t_sector_pipe_tex_mem_texture_hit_rate", "L1 hit rate of textures, in sectors.")
for _where in ("_mem_lg_op_ld", "_mem_global_op_atom", "_pipe_lsu"):
    timed(f"l1tex__m_xbar2l1tex_read_sectors{_where}", "sector",
          f"Sectors that L2 returned to L1TEX{_where.replace('_', ' ')}.")  # fmt: skip
