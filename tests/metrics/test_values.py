"""Metric values against arithmetic done by hand on hand-made counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.metrics.handmade import launch, line
from warplens.errors import UnknownMetric
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import override
from warplens.metrics.needs import needs, needs_of_sections
from warplens.session.launch import Launch


@pytest.fixture
def run() -> Launch:
    """128 warps: a coalesced load, a strided store, a 4-way conflict, a divergent branch."""
    full = {"inst_executed": 128, "thread_inst_executed": 4096, "thread_inst_executed_true": 4096}
    return launch(
        line("S2R", 3, **full),
        line("LDG.E", 4, **full, global_requests=128, global_sectors=512,
             global_sectors_ideal=512, global_bytes=16384, global_lines=128),
        line("LD.E", 4, **full, global_requests=100, global_sectors=400,
             global_sectors_ideal=400, global_bytes=12800, global_lines=100,
             shared_requests=28, shared_wavefronts=28, shared_wavefronts_ideal=28,
             shared_passes=28,
             shared_bytes=3584),
        line("FFMA", 5, inst_executed=128, thread_inst_executed=4096,
             thread_inst_executed_true=2048),
        line("STS.64", 6, **full, shared_requests=128, shared_wavefronts=1024,
             shared_wavefronts_ideal=256, shared_passes=1024, shared_conflicts=768,
             shared_bytes=32768),
        line("BRA", 7, **full, branch_uniform=96, branch_divergent=32),
        line("STG.E", 6, **full, global_requests=128, global_sectors=4096,
             global_sectors_ideal=512, global_bytes=16384, global_lines=4096),
        line("EXIT", 8, **full),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("smsp__inst_executed.sum", 1024),
        ("smsp__inst_executed.avg", 1024 / (132 * 4)),
        ("sm__inst_executed.avg", 1024 / 132),
        ("smsp__thread_inst_executed_per_inst_executed.ratio", 32),
        ("smsp__thread_inst_executed_pred_on_per_inst_executed.pct", 100 * 30720 / 1024 / 32),
        ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2048),
        ("derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2", 4096),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 228),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 912),
        ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 4),
        ("l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum", 4096 * 32),
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", 4),
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", 12.5),
        ("smsp__inst_executed_op_global_ld.sum", 128),
        ("smsp__inst_executed_op_generic_ld.sum", 128),
        ("smsp__sass_inst_executed_op_global_ld.sum", 228),
        ("smsp__sass_inst_executed_op_shared_ld.sum", 28),
        ("smsp__sass_inst_executed_op_ld.sum", 256),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", 768),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 1052),
        ("memory_l1_wavefronts_shared_ideal", 284),
        ("derived__memory_l1_conflicts_shared_nway", 1052 / 156),
        ("derived__memory_l2_theoretical_sectors_global_excessive", 3584),
        ("smsp__sass_average_branch_targets_threads_uniform.pct", 75),
        ("smsp__sass_branch_targets_threads_divergent.sum", 32),
        ("derived__smsp__inst_executed_op_branch_pct", 256 / 1024),
        ("smsp__sass_inst_executed_op_memory_64b.sum", 128),
        ("smsp__average_inst_executed_per_warp.ratio", 8),
        ("launch__waves_per_multiprocessor", 32 / (132 * 16)),
        ("launch__thread_count", 4096),
        ("sm__maximum_warps_per_active_cycle_pct", 100),
    ],
)
def test_values(run: Launch, name: str, expected: float) -> None:
    """The value is what its definition gives on these counts."""
    assert run.metric(name) == pytest.approx(expected, abs=0, rel=1e-15)


def test_bases_and_units(run: Launch) -> None:
    """Counted, defined, modelled and specified values say so, with ncu's unit."""
    found = {
        name: (run[name].basis, run[name].unit)
        for name in (
            "smsp__inst_executed.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
            "gpu__time_duration.sum",
            "launch__sm_count",
            "smsp__inst_executed.sum.per_second",
        )
    }

    assert found == {
        "smsp__inst_executed.sum": ("exact", "inst"),
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": ("definition", ""),
        "gpu__time_duration.sum": ("model", "ns"),
        "launch__sm_count": ("spec", "SM"),
        "smsp__inst_executed.sum.per_second": ("model", "inst/s"),
    }


def test_time_is_not_available_without_a_model(run: Launch) -> None:
    """What needs time is n/a, never a number."""
    names = (
        "gpu__time_duration.sum",
        "smsp__inst_executed.max",
        "sm__warps_active.avg",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "l1tex__t_sector_hit_rate.pct",
        "smsp__inst_executed.avg.per_cycle_active",
    )

    assert [run.metric(name) for name in names] == [None] * len(names)


def test_per_instruction_adds_up(run: Launch) -> None:
    """The values per instruction and per line add up to the total."""
    name = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    by_line = run.per_line(name)

    assert run.per_instruction(name) == (0, 512, 400, 0, 0, 0, 0, 0)
    assert by_line[("kernel.cu", 4)] == 912
    assert sum(int(value or 0) for value in by_line.values()) == run.metric(name)


def test_classes_are_a_partition(run: Launch) -> None:
    """The threads of all classes together are all threads, the pipes' instructions all."""
    values = run.metrics()
    classes = ("fp16", "fp32", "fp64", "integer", "bit", "conversion", "control", "memory",
               "inter_thread_communication", "misc", "uniform")  # fmt: skip
    pipes = ("alu", "fma", "fp64", "xu", "lsu", "tex", "adu", "cbu", "uniform", "tensor")
    threads = [
        values[f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"].number for name in classes
    ]
    issued = [values[f"sm__inst_executed_pipe_{name}.sum"].number for name in pipes]

    assert sum(int(n or 0) for n in threads) == 30720
    assert sum(int(n or 0) for n in issued) == 1024 - 128  # a plain branch is on no pipe


def test_halves_run_where_the_chip_runs_them() -> None:
    """Packed halves have a pipe of their own up to 8.0 and count as FMA afterwards."""
    lines = (line("HFMA2", 1, inst_executed=5), line("FFMA", 1, inst_executed=3))
    names = ("pipe_fp16", "pipe_fma", "pipe_fma_type_fp16")

    def found(gpu: str) -> list[Any]:
        run = launch(*lines, gpu=gpu)
        return [run.metric(f"sm__inst_executed_{name}.sum") for name in names]

    assert found("A100") == [5, 3, None]
    assert found("RTX 3090") == [None, 8, 5]


def test_copies_and_switched_off_accesses() -> None:
    """Asynchronous copies split by their way; an access with no thread on is no request."""
    run = launch(
        line("LDGSTS.E.BYPASS.128", 1, inst_executed=4, global_requests=4, global_sectors=64),
        line("LDGSTS.E", 1, inst_executed=3, global_requests=3, global_sectors=12),
        line("LDG.E", 2, inst_executed=10, global_requests=7, global_sectors=28),
    )
    base = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts"

    assert run.metric(f"{base}.sum") == 76
    assert run.metric(f"{base}_cache_bypass.sum") == 64
    assert run.metric(f"{base}_cache_access.sum") == 12
    assert run.metric("smsp__inst_executed_op_global_ld_pred_on_any.sum") == 7
    assert run.metric("smsp__inst_executed_op_global_ld_pred_off_all.sum") == 3


def test_per_instruction_ratio(run: Launch) -> None:
    """A ratio per instruction divides per instruction."""
    values = run.per_instruction("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio")

    assert values == (32, 32, 32, 16, 32, 32, 32, 32)


def test_time_has_no_value_per_instruction(run: Launch) -> None:
    """Asking a timed metric per instruction is a typed error."""
    with pytest.raises(UnknownMetric):
        run.per_instruction("gpu__time_duration.sum")


def test_opcode_instances(run: Launch) -> None:
    """The opcode mix holds each opcode's count."""
    value = run["sass__inst_executed_per_opcode"]

    assert value.number == 1024
    assert dict(value.instances)["FFMA"] == 128
    assert sum(count for _, count in value.instances) == value.number


def test_every_metric_evaluates(run: Launch) -> None:
    """All metrics with all first-level values give a number, text or n/a."""
    values = run.metrics()

    assert len(values) > 1000
    assert values["launch__grid_size"].number == 32


def test_empty_launch_divides_by_nothing() -> None:
    """Ratios of nothing are 0, branch efficiency without branches too, as on hardware."""
    run = launch(line("EXIT", 1, inst_executed=1))

    assert run.metric("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio") == 0
    assert run.metric("smsp__sass_average_branch_targets_threads_uniform.pct") == 0


def test_recorder_finds_columns() -> None:
    """What a metric needs is found by running its formula."""
    loads = needs(["smsp__sass_sectors_mem_global.sum"])
    time = needs(["smsp__sass_inst_executed.sum.per_second"])

    assert (loads.columns, loads.timing) == ({"global_sectors", "global_sectors_split"}, False)
    assert (time.columns, time.timing) == ({"inst_executed"}, True)
    assert needs(["launch__grid_size"]).columns == frozenset()
    assert needs_of_sections(["LaunchStats"]).timing is False
    assert needs_of_sections(["SpeedOfLight"]).timing is True


# Launch and occupancy sections of reports that users published: GPU, number of SMs, grid, threads
# of a block, registers, static shared bytes; then block limits (registers, shared, warps, SM),
# configured shared bytes, waves as printed.
PUBLISHED = (
    ("sm_86", 40, 64, 256, 20, 0, (10, 8, 6, 16), 8192, 0.27),
    ("sm_86", 40, 64, 256, 22, 0, (10, 8, 6, 16), 8192, 0.27),
    ("sm_86", 40, 16384, 256, 16, 1024, (16, 8, 6, 16), 16384, 68.27),
    ("sm_86", 40, 32768, 256, 16, 0, (16, 8, 6, 16), 8192, 136.53),
    ("sm_86", 40, 640, 256, 16, 128, (16, 14, 6, 16), 16384, 2.67),
    ("T4", 40, 16384, 256, 49, 0, (4, 16, 4, 16), 32768, 102.40),
    ("T4", 40, 16384, 256, 39, 2048, (6, 16, 4, 16), 32768, 102.40),
    ("T4", 40, 1024, 256, 64, 32768, (4, 2, 4, 16), 65536, 12.80),
    ("T4", 40, 256, 256, 128, 32768, (2, 2, 4, 16), 65536, 3.20),
    ("H100", 132, 16384, 1024, 31, 12288, (2, 2, 2, 32), 32768, 62.06),
)


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_reports(case: tuple[Any, ...]) -> None:
    """Limits, carve-out and waves equal those of published reports."""
    gpu, sms, grid, threads, registers, shared, limits, config, waves = case
    run = launch(
        line("EXIT", 1),
        gpu=override(find_gpu(gpu), {"counts.sm": sms}),
        grid=(grid, 1, 1),
        block=(threads, 1, 1),
        registers=registers,
        static_shared=shared,
    )
    names = ("registers", "shared_mem", "warps", "blocks")
    found = tuple(run.metric(f"launch__occupancy_limit_{name}") for name in names)

    assert found == limits
    assert run.metric("launch__shared_mem_config_size") == config
    assert float(run["launch__waves_per_multiprocessor"]) == pytest.approx(waves, abs=0.0051)


def test_published_large_shared_memory() -> None:
    """67,584 dynamic bytes leave room for one block in 102,400."""
    run = launch(line("EXIT", 1), gpu="RTX 3090", dynamic_shared=67_584, block=(256, 1, 1))

    assert run.metric("launch__occupancy_limit_shared_mem") == 1


def test_published_sectors_per_request() -> None:
    """A coalesced load is 4 sectors, 12.5 % of 32; a strided one 32 and 100 %, as printed."""
    base = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld"
    for sectors, percent in ((4, 12.5), (32, 100.0)):
        run = launch(line("LDG.E", 1, global_requests=10, global_sectors=10 * sectors))

        assert run.metric(f"{base}.ratio") == sectors
        assert run.metric(f"{base}.pct") == percent
        assert run.metric(f"{base}.max_rate") == 32
