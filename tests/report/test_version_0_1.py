"""Result files that warplens 0.1.0 wrote go on loading, showing and comparing."""

from __future__ import annotations

from pathlib import Path

import pytest

import warplens as wl
from warplens.cli.main import main

FOLDER = Path(__file__).parent / "version_0_1"
WARPS = 64 * 128 // 32


def test_values_are_those_of_the_kernels() -> None:
    """Sectors follow from the addresses: 4 a request in order, 32 with lanes 32 bytes apart."""
    saxpy, strided = (wl.load(FOLDER / name).launches[0] for name in ("saxpy", "strided"))
    loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

    assert wl.load(FOLDER / "saxpy.wlens").writer == "0.1.0"
    assert (saxpy.function_name, strided.function_name) == ("saxpy", "strided")
    assert (saxpy.gpu, saxpy.grid, saxpy.block) == ("H200 SXM", (64, 1, 1), (128, 1, 1))
    assert strided.metrics[loads].number == WARPS * 2 * 32
    assert strided.metrics["gpu__time_duration.sum"].basis == "model"
    assert saxpy.metrics["launch__thread_count"].number == 64 * 128


@pytest.mark.parametrize("form", ("text", "csv", "json", "html"))
@pytest.mark.parametrize("name", ("saxpy", "strided"))
def test_show(name: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every form of the report can be made from them."""
    assert main(["show", str(FOLDER / name), "--format", form]) == 0

    shown = capsys.readouterr()
    assert name in shown.out and "docs/" not in shown.out
    assert shown.err == ""


def test_advice_leads_to_a_page_that_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Advice of an old file names the command that explains it, not a file of its checkout."""
    rules = [rule for section in wl.load(FOLDER / "strided").launches[0].sections
             for rule in section.rules]  # fmt: skip
    main(["show", str(FOLDER / "strided"), "--format", "html"])
    page = capsys.readouterr().out

    assert "UncoalescedGlobalAccess" in {rule.identifier for rule in rules}
    for rule in rules:
        assert f"warplens explain {rule.identifier}" in page
        assert main(["explain", rule.identifier]) == 0


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    """An old file is compared with a new one of the same launch."""
    import numpy as np

    kernel = wl.Device("H200").compile(FOLDER / "saxpy.cu")["strided"]
    x, y = np.ones(8192, np.float32), np.full(8192, 2, np.float32)
    now = kernel[64, 128](x, y, 3.0, 8192).result(section_set="full")
    then = wl.load(FOLDER / "strided").launches[0]
    counted = [name for name, value in then.metrics.items() if value.basis == "exact"]
    status = main(["compare", str(FOLDER / "saxpy"), str(FOLDER / "strided"), "--metrics",
                   "memory_l2_theoretical_sectors_global"])  # fmt: skip

    assert status == 0 and f"{WARPS * 3 * 32:,}" in capsys.readouterr().out
    assert len(counted) > 90
    changed = [name for name in counted if now.metrics[name].number != then.metrics[name].number]
    # 0.1 did not know that Hopper's driver leaves shared memory room for twice the blocks.
    assert changed == ["launch__occupancy_limit_shared_mem"]
