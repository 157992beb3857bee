"""The text pages against ncu's published layout."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.results import LAUNCH_STATS, RESULT, SPEED, launch, row
from warplens.errors import InputError
from warplens.report.columns import columns_page, is_comparison
from warplens.report.numbers import number_text, scaled
from warplens.report.options import PrintOptions
from warplens.report.summary import summary_csv, summary_page
from warplens.report.terminal import details_page, line_page, raw_page, source_page
from warplens.result import Result

OPT = "    OPT   {:<110}"
CONTINUED = "          {:<110}"
DETAILS = "\n".join(
    [
        "[1234] k.cu@127.0.0.1",
        "  void k<float>(T1 *, int) (3125000, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, "
        "CC 8.9",
        "    Section: GPU Speed Of Light Throughput",
        "    ---------------- ----------- ------------",
        "    Metric Name      Metric Unit Metric Value",
        "    ---------------- ----------- ------------",
        "    DRAM Frequency           Ghz         4.96 ~",
        "    Elapsed Cycles         cycle       51,058 ~",
        "    DRAM Throughput            %          n/a",
        "    Duration                  us        86.46 ~",
        "    SM Active Cycles       cycle    47,121.20 ~",
        "    ---------------- ----------- ------------",
        "",
        OPT.format("Est. Speedup: 98.86%"),
        CONTINUED.format('Look at "DRAM" first.'),
        "    ----- " + "-" * 110,
        OPT.replace("OPT", "INF").format("Nothing to do."),
        "",
        "    Section: Launch Statistics",
        "    ------------------------------ --------------- ---------------",
        "    Metric Name                        Metric Unit    Metric Value",
        "    ------------------------------ --------------- ---------------",
        "    Function Cache Configuration                   CachePreferNone",
        "    Grid Size                                            3,125,000",
        "    Registers Per Thread           register/thread              16",
        "    Driver Shared Memory Per Block     Kbyte/block            1.02",
        "    Waves Per SM                                              6.40",
        "    ------------------------------ --------------- ---------------",
        "",
        "    Hottest Source Lines",
        "    ---- ------------ ------- --------- ------ ------",
        "    Time Instructions Sectors Top Stall Line   Source",
        "    ---- ------------ ------- --------- ------ ------",
        "       -       100.0%       - -         k.cu:4",
        "       -         0.0%       - -         k.cu:1 <b>&",
        "    ---- ------------ ------- --------- ------ ------",
        "",
        "    ~ estimated by the timing model, not counted",
        "    Blocks ran in order.",
        "",
        "",
    ]
)


def test_details_page() -> None:
    """Indents, column widths, order, units and rules are ncu's; marks stand beside the table."""
    assert details_page(RESULT) == DETAILS


def test_rows_are_sorted_by_metric_name() -> None:
    """dram < gpc < gpu < sm, whatever the labels say."""
    lines = details_page(RESULT).splitlines()
    found = [line.split("  ")[2] for line in lines if line.endswith(" ~")]

    assert found == ["DRAM Frequency", "Elapsed Cycles", "Duration", "SM Active Cycles"]


def test_details_all_shows_extra_rows_and_tables() -> None:
    """--print-details all merges extra rows and prints the tables."""
    page = details_page(RESULT, PrintOptions(details="all"))

    assert "    # SMs" in page
    assert "    Table Name : Blocks\n    ---- ----\n    Axis Size\n" in page


def test_metric_names_and_base_units() -> None:
    """--print-metric-name and --print-units change the columns."""
    page = details_page(RESULT, PrintOptions(metric_name="name", units="base", separators=False))

    assert "dram__cycles_elapsed.avg.per_second" in page
    assert "4963609951.19" in page


def test_always_float() -> None:
    """--print-fp prints every number with decimals."""
    assert "3,125,000.00" in details_page(RESULT, PrintOptions(always_float=True))


def test_second_launch_of_a_process_has_no_new_heading() -> None:
    """The process line stands once per process."""
    page = details_page(Result(launches=(launch(0), launch(1))))

    assert page.count("[1234]") == 1
    assert page.count("void k<float>") == 2


def test_raw_and_source_pages() -> None:
    """Raw lists every metric; source shows SASS, lines and counts."""
    raw, source = raw_page(RESULT), source_page(RESULT)

    assert "    launch__grid_size " in raw
    assert [line.split()[:3] for line in source.splitlines()[5:7]] == [
        ["0x0", "k.cu:4", "LDG.E"],
        ["0x10", "-", "EXIT"],
    ]
    assert "12,500,000" in source


def test_line_page_leaves_out_empty_columns() -> None:
    """By source line, without the columns in which nothing happened."""
    page = line_page(RESULT)

    assert "12,500,000" in page
    assert "Divergent Branches" not in page


def test_missing_source_says_so() -> None:
    """A result without source page does not crash."""
    assert "no source page" in source_page(Result(launches=(launch(source=None),)))


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        (102_400, "byte", ("102.40", "Kbyte")),
        (67_584, "byte/block", ("67.58", "Kbyte/block")),
        (999, "byte", ("999", "byte")),
        (1000, "byte", ("1", "Kbyte")),
        (272e9, "byte/s", ("272", "Gbyte/s")),
        (585_040_000, "hz", ("585.04", "Mhz")),
        (8_960, "ns", ("8.96", "us")),
        (14_390_000, "ns", ("14.39", "ms")),
        (0, "ns", ("0", "ns")),
        (16_777_216, "inst", ("16,777,216", "inst")),
    ],
)
def test_units_scale_by_1000(number: float, unit: str, expected: tuple[str, str]) -> None:
    """Bytes, hertz and time scale by 1000, as published pages show; counts do not."""
    value, scaled_unit = scaled(number, unit)

    assert (number_text(value, separators=True), scaled_unit) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(100.0, "100"), (32, "32"), (0.012, "0.01"), (1234.5, "1,234.50"), (-2.5, "-2.50")],
)
def test_number_format(number: float, text: str) -> None:
    """Two decimals, none for whole numbers."""
    assert number_text(number, separators=True) == text


def test_columns_for_several_gpus() -> None:
    """One kernel on several GPUs is one table with a column each."""
    other = replace(
        LAUNCH_STATS, rows=(row("launch__grid_size", "Grid Size", 3_125_000),)
    )
    result = Result(launches=(launch(0), launch(1, gpu="H200", sections=(SPEED, other))))
    page = columns_page(result, PrintOptions())

    assert is_comparison(result)
    assert "Metric Name                    " in page
    assert "RTX 4060" in page and "H200" in page
    waves = next(line for line in page.splitlines() if "Waves Per SM" in line)
    assert waves.split()[-2:] == ["6.40", "-"]


def test_launches_of_one_gpu_are_no_comparison() -> None:
    """Two launches on the same GPU are printed one after the other."""
    assert not is_comparison(Result(launches=(launch(0), launch(1))))


def test_summary_over_launches() -> None:
    """--print-summary shows minimum, maximum and average."""
    later = replace(LAUNCH_STATS, rows=(row("launch__grid_size", "Grid Size", 3_125_002),))
    result = Result(launches=(launch(0), launch(1, sections=(later,))))
    page = summary_page(result, PrintOptions(), per_gpu=False)
    table = summary_csv(result, PrintOptions(separators=False), per_gpu=False)

    assert "Invocations 2" in page
    assert '"Grid Size","","3125000","3125002","3125001"' in table


def test_bad_print_option() -> None:
    """An unknown setting is a typed error."""
    with pytest.raises(InputError):
        PrintOptions(units="furlong")
