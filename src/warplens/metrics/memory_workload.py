"""Memory workload: traffic through shared memory, L1, L2 and DRAM."""

from __future__ import annotations

from warplens.metrics.registry import Row, SectionSpec, Table, metric, rows, section
from warplens.metrics.timed import timed

metric("derived__local_spilling_requests", unit="request", formula=None,
       doc="Requests of register spills; SASS does not distinguish them from other local "
       "accesses.")  # fmt: skip
metric("derived__local_spilling_requests_pct", unit="%", formula=None,
       doc="Requests of register spills over all local memory requests.")  # fmt: skip
metric("launch__persisting_l2_cache_size", unit="byte", formula=lambda c: 0,
       doc="L2 set aside for persisting accesses.")  # fmt: skip
timed("lts__gcomp_input_sectors", "sector", "Sectors that L2 tried to compress.")
for _name in (
    "lts__average_gcomp_output_sector_compression_achieved_rate",
    "lts__average_gcomp_input_sector_success_rate",
):
    metric(_name, kind="ratio", unit="", basis="model", formula=None, max_rate=1.0,
           doc="L2 compression; not modelled.")  # fmt: skip

_PCT = "avg.pct_of_peak_sustained_elapsed"
section(
    SectionSpec(
        identifier="MemoryWorkloadAnalysis",
        title="Memory Workload Analysis",
        order=30,
        sets=frozenset({"detailed", "full"}),
        rows=(
            *rows(
                ("Memory Throughput", "dram__bytes.sum.per_second"),
                ("Mem Busy", f"gpu__compute_memory_access_throughput.{_PCT}"),
                ("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"),
                ("Max Bandwidth", f"gpu__compute_memory_request_throughput.{_PCT}"),
                ("L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
                ("Mem Pipes Busy", f"sm__memory_throughput.{_PCT}"),
                ("Local Memory Spilling Requests", "derived__local_spilling_requests"),
                (
                    "Local Memory Spilling Request Overhead",
                    "derived__local_spilling_requests_pct",
                ),
            ),
            Row(
                label="L2 Persisting Size",
                name="launch__persisting_l2_cache_size",
                since=(8, 0),
            ),
        ),
    )
)
section(
    SectionSpec(
        identifier="MemoryWorkloadAnalysis_Chart",
        title="Memory Workload Analysis Chart",
        order=31,
        sets=frozenset({"detailed", "full"}),
        rows=(),
        extra=rows(
            ("", "lts__t_sectors.sum"),
            ("", "lts__t_sectors_srcunit_tex.sum"),
            ("", "dram__bytes_read.sum"),
            ("", "dram__bytes_write.sum"),
        ),
    )
)


def _per_access(space: str, op: str) -> str:
    return f"pipe_lsu_mem_{space}_op_{op}"


def _shared_row(label: str, op: str, instructions: str, wavefronts: str) -> tuple[str, ...]:
    return (
        label,
        instructions,
        wavefronts,
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{op}.sum",
    )


_L1 = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
_SASS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
_SHARED_TABLE = Table(
    title="Shared Memory",
    columns=("", "Instructions", "Wavefronts", "Bank Conflicts"),
    rows=(
        _shared_row("Shared Load", "_op_ld", "smsp__sass_inst_executed_op_shared_ld.sum",
                    f"{_L1}_op_ld.sum"),
        ("Shared Load Matrix", "smsp__inst_executed_op_ldsm.sum", f"{_SASS}_ldsm.sum",
         "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"),
        _shared_row("Shared Store", "_op_st", "smsp__sass_inst_executed_op_shared_st.sum",
                    f"{_L1}_op_st.sum"),
        _shared_row("Shared Store From Global Load", "_op_ldgsts",
                    "smsp__inst_executed_op_ldgsts.sum", f"{_SASS}_ldgsts.sum"),
        _shared_row("Shared Atomic", "_op_atom", "smsp__inst_executed_op_shared_atom.sum",
                    f"{_L1}_op_atom.sum"),
        _shared_row("Total", "", "smsp__sass_inst_executed_op_shared.sum", f"{_L1}.sum"),
    ),
)  # fmt: skip
_ACCESSES = (
    ("Global Load", "global", "ld"),
    ("Global Store", "global", "st"),
    ("Global Atomic", "global", "atom"),
    ("Global Reduction", "global", "red"),
    ("Local Load", "local", "ld"),
    ("Local Store", "local", "st"),
)
_BY_TEXTURE_UNITS = (
    ("Texture", "smsp__inst_executed_op_texture.sum", "texture"),
    ("Surface Load", "smsp__inst_executed_op_surface_ld.sum", "surface_op_ld"),
    ("Surface Store", "smsp__inst_executed_op_surface_st.sum", "surface_op_st"),
    ("Surface Reduction", "smsp__inst_executed_op_surface_red.sum", "surface_op_red"),
)
_L1_TABLE = Table(
    title="L1/TEX Cache",
    columns=("", "Instructions", "Requests", "Sectors", "Sectors/Req", "Hit Rate", "Bytes"),
    rows=(
        *(
            (
                label,
                f"smsp__sass_inst_executed_op_{space}_{op}.sum",
                f"l1tex__t_requests_{_per_access(space, op)}.sum",
                f"l1tex__t_sectors_{_per_access(space, op)}.sum",
                f"l1tex__average_t_sectors_per_request_{_per_access(space, op)}.ratio",
                f"l1tex__t_sector_{_per_access(space, op)}_hit_rate.pct",
                f"l1tex__t_bytes_{_per_access(space, op)}.sum",
            )
            for label, space, op in _ACCESSES
        ),
        *(
            (
                label,
                executed,
                f"l1tex__t_requests_pipe_tex_mem_{what}.sum",
                f"l1tex__t_sectors_pipe_tex_mem_{what}.sum",
                f"l1tex__average_t_sectors_per_request_pipe_tex_mem_{what}.ratio",
                "",
                f"l1tex__t_bytes_pipe_tex_mem_{what}.sum",
            )
            for label, executed, what in _BY_TEXTURE_UNITS
        ),
        (
            "Total",
            "",
            "l1tex__t_requests.sum",
            "l1tex__t_sectors.sum",
            "l1tex__average_t_sectors_per_request.ratio",
            "l1tex__t_sector_hit_rate.pct",
            "l1tex__t_bytes.sum",
        ),
    ),
)
_L2_TABLE = Table(
    title="L2 Cache",
    columns=("", "Sectors"),
    rows=(
        ("Reads", "lts__t_sectors_op_read.sum"),
        ("Writes", "lts__t_sectors_op_write.sum"),
        ("Atomics", "lts__t_sectors_op_atom.sum"),
        ("Reductions", "lts__t_sectors_op_red.sum"),
        ("Total", "lts__t_sectors.sum"),
    ),
)
_DRAM_TABLE = Table(
    title="Device Memory",
    columns=("", "Sectors", "Bytes"),
    rows=(
        ("Load", "dram__sectors_read.sum", "dram__bytes_read.sum"),
        ("Store", "dram__sectors_write.sum", "dram__bytes_write.sum"),
        ("Total", "", "dram__bytes.sum"),
    ),
)

section(
    SectionSpec(
        identifier="MemoryWorkloadAnalysis_Tables",
        title="Memory Workload Analysis Tables",
        order=32,
        sets=frozenset({"full"}),
        rows=(),
        extra=rows(
            *(
                (
                    "",
                    f"smsp__sass_average_data_bytes_per_sector_mem_{space}_op_{op}.{suffix}",
                )
                for space in ("global", "local")
                for op in ("ld", "st")
                for suffix in ("ratio", "max_rate")
            )
        ),
        tables=(_SHARED_TABLE, _L1_TABLE, _L2_TABLE, _DRAM_TABLE),
    )
)
