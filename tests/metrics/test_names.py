"""Every metric has a name that NVIDIA publishes, and every section row names a metric."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from warplens.errors import InputError, UnknownMetric
from warplens.isa.table import all_ops
from warplens.metrics import registry
from warplens.metrics.classes import load_isa

# Names from ncu's documentation that CUPTI's list of hardware metrics does not hold: launch and
# device properties, source metrics and derived ones.
DOCUMENTED = frozenset(
    """
    derived__local_spilling_requests derived__local_spilling_requests_pct
    derived__memory_l1_conflicts_shared_nway derived__memory_l1_wavefronts_shared_excessive
    derived__memory_l2_theoretical_sectors_global_excessive
    derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2
    derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2
    derived__smsp__inst_executed_op_branch_pct
    derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2
    derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2
    device__attribute_compute_capability_major device__attribute_compute_capability_minor
    device__attribute_display_name device__attribute_l2_cache_size
    device__attribute_max_warps_per_multiprocessor device__attribute_multiprocessor_count
    inst_executed launch__cluster_max_active launch__cluster_max_potential_size
    launch__occupancy_cluster_gpu_pct launch__occupancy_cluster_pct launch__tpc_count
    launch__tpc_enabled launch__barrier_count launch__block_dim_x launch__block_dim_y
    launch__block_dim_z launch__block_size launch__cluster_size launch__context_id
    launch__func_cache_config launch__grid_dim_x launch__grid_dim_y launch__grid_dim_z
    launch__grid_size launch__occupancy_limit_barriers launch__occupancy_limit_blocks
    launch__occupancy_limit_registers launch__occupancy_limit_shared_mem
    launch__occupancy_limit_warps launch__persisting_l2_cache_size launch__registers_per_thread
    launch__registers_per_thread_allocated launch__shared_mem_config_size
    launch__shared_mem_per_block launch__shared_mem_per_block_allocated
    launch__shared_mem_per_block_driver launch__shared_mem_per_block_dynamic
    launch__shared_mem_per_block_static launch__sm_count launch__stack_size launch__stream_id
    launch__thread_count launch__uses_green_context launch__waves_per_multiprocessor
    memory_l1_tag_requests_global memory_l1_wavefronts_shared memory_l1_wavefronts_shared_ideal
    memory_l2_theoretical_sectors_global memory_l2_theoretical_sectors_global_ideal
    memory_l2_theoretical_sectors_local sass__inst_executed_global_loads
    sass__inst_executed_global_stores sass__inst_executed_local_loads
    sass__inst_executed_local_stores sass__inst_executed_per_opcode
    sass__inst_executed_per_opcode_category sass__inst_executed_shared_loads
    sass__inst_executed_shared_stores sm__maximum_warps_avg_per_active_cycle
    sm__maximum_warps_per_active_cycle_pct smsp__branch_targets_threads_divergent
    smsp__maximum_warps_avg_per_active_cycle thread_inst_executed thread_inst_executed_true
    smsp__thread_inst_executed_per_inst_executed
    smsp__thread_inst_executed_pred_on_per_inst_executed
    profiler__pmsampler_buffer_size_bytes profiler__pmsampler_dropped_samples
    profiler__pmsampler_interval_cycles profiler__pmsampler_interval_time
    profiler__pmsampler_pass_groups
    """.split()
)
# Counters that only sampling over time has, under names with a trigger group in CUPTI's list.
SAMPLED = frozenset(
    """
    dram__read_throughput dram__write_throughput lts__average_t_sector_hit_rate_realtime
    sm__pipe_fp64_cycles_active_realtime
    """.split()
)


def published_names() -> frozenset[str]:
    """The base names that CUPTI 13.0's host library lists."""
    path = Path(__file__).parents[1] / "data" / "metric_names.txt.gz"
    return frozenset(gzip.decompress(path.read_bytes()).decode().split())


def test_every_name_is_published() -> None:
    """No metric has a name of our own."""
    known = published_names() | DOCUMENTED
    own = [one.name for one in registry.all_metrics() if one.name not in known]
    sampled = [name for name in own if name.startswith("pmsampling:")]

    assert [name for name in own if name not in sampled] == []
    bases = [name.removeprefix("pmsampling:").partition(".")[0] for name in sampled]
    assert [base for base in bases if base not in known | SAMPLED] == []


def test_every_metric_is_described() -> None:
    """Every declaration says what it means."""
    assert [m.name for m in registry.all_metrics() if len(m.doc) < 8] == []


def test_every_class_of_the_opcode_table_is_counted() -> None:
    """Each category and pipe of the table has a metric: nothing falls between the classes."""
    load_isa()
    long = {"inter_thread": "inter_thread_communication"}
    names = {one.name for one in registry.all_metrics()}
    missing = [
        (op.opcode, op.category, op.pipe)
        for op in all_ops()
        if f"smsp__sass_thread_inst_executed_op_{long.get(op.category, op.category)}_pred_on"
        not in names
        or (op.pipe != "none" and f"sm__inst_executed_pipe_{op.pipe}" not in names)
    ]

    assert missing == []


def test_sections_name_known_metrics() -> None:
    """Every row and table cell of a section resolves."""
    for spec in registry.all_sections():
        names = [row.name for row in (*spec.rows, *spec.extra)]
        names += [cell for table in spec.tables for row in table.rows for cell in row[1:]]
        for name in names:
            if name:
                registry.resolve(name)


def test_expand_adds_first_level() -> None:
    """A base name stands for its roll-ups, as `--metrics` takes it."""
    names = registry.expand("smsp__inst_executed")

    assert names == tuple(f"smsp__inst_executed.{r}" for r in ("avg", "max", "min", "sum"))
    assert registry.expand("launch__grid_size") == ("launch__grid_size",)
    assert "smsp__inst_executed_op_branch.sum" in registry.expand("regex:op_branch$")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("smsp__inst_execute.sum", "smsp__inst_executed"),
        ("smsp__inst_executed.total", ".sum"),
        ("smsp__inst_executed", ".sum"),
        ("launch__grid_size.sum", "launch__grid_size"),
        ("", "list metrics"),
    ],
)
def test_unknown_metric_suggests(name: str, hint: str) -> None:
    """A wrong name gives a typed error that names close ones."""
    with pytest.raises(UnknownMetric, match=hint.replace(".", r"\.")):
        registry.resolve(name)


def test_bad_expression_is_refused() -> None:
    """A broken regex is the user's mistake, not a crash."""
    with pytest.raises(InputError):
        registry.expand("regex:(")
