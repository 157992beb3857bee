"""The CSV pages, byte for byte on a hand-made result, and as public parsers read them."""

from __future__ import annotations

import csv
import io
import json

from tests.report.results import RESULT, SPEED, launch
from warplens.report.csv import DEFAULTS, details_csv, line_csv, raw_csv, source_csv
from warplens.report.json import json_page
from warplens.report.options import PrintOptions
from warplens.report.rows import COMMAND_LINE_SECTION
from warplens.result import Result, Section

HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)
RULES = '"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"'
START = (
    '"0","1234","k.cu","127.0.0.1","void k<float>(T1 *, int)","1","7","(32, 1, 1)",'
    '"(3125000, 1, 1)","0","8.9"'
)
DETAILS = f"""{HEAD},{RULES}
{START},"GPU Speed Of Light Throughput","DRAM Frequency","hz","4963609951.19",
{START},"GPU Speed Of Light Throughput","Elapsed Cycles","cycle","51058",
{START},"GPU Speed Of Light Throughput","DRAM Throughput","%","n/a",
{START},"GPU Speed Of Light Throughput","Duration","ns","86464",
{START},"GPU Speed Of Light Throughput","SM Active Cycles","cycle","47121.20",
{START},"SpeedOfLight","","","","SOLBottleneck","OPT","Look at ""DRAM"" first.","global","98.86"
{START},"SpeedOfLight","","","","LaunchConfiguration","INF","Nothing to do.","",""
{START},"Launch Statistics","Function Cache Configuration","","CachePreferNone",
{START},"Launch Statistics","Grid Size","","3125000",
{START},"Launch Statistics","Registers Per Thread","register/thread","16",
{START},"Launch Statistics","Driver Shared Memory Per Block","byte/block","1024",
{START},"Launch Statistics","Waves Per SM","","6.40",
"""


def test_details_bytes() -> None:
    """Columns, order, units, quoting, trailing comma and line ends are ncu's."""
    assert details_csv(RESULT) == DETAILS


def test_separators_as_under_en_us() -> None:
    """With separators the values are those of a published file made under en_US."""
    options = PrintOptions(units="base", separators=True)

    assert '"DRAM Frequency","hz","4,963,609,951.19",\n' in details_csv(RESULT, options)


def test_metrics_only_has_15_columns() -> None:
    """With --metrics alone there are no rule columns and no trailing comma."""
    section = Section(identifier="CommandLine", title=COMMAND_LINE_SECTION, order=0,
                      rows=SPEED.rows[:1])  # fmt: skip
    lines = details_csv(Result(launches=(launch(sections=(section,)),))).splitlines()

    assert lines[0] == HEAD
    assert [len(fields) for fields in csv.reader(lines)] == [15, 15]
    assert '"Command line profiler metrics"' in lines[1]


def test_raw_page() -> None:
    """Names, then units, then one row per launch."""
    lines = list(csv.reader(io.StringIO(raw_csv(Result(launches=(launch(0), launch(1)))))))

    assert lines[0][:11] == next(csv.reader([HEAD]))[:11]
    assert lines[0][11:] == sorted(lines[0][11:])
    assert lines[1][:11] == [""] * 11
    assert lines[1][lines[0].index("gpu__time_duration.sum")] == "ns"
    assert [row[0] for row in lines[2:]] == ["0", "1"]
    assert lines[2][lines[0].index("launch__grid_size")] == "3125000"


def test_source_page() -> None:
    """Kernel row, headings, one row per instruction."""
    expected = (
        '"Kernel Name","void k<float>(T1 *, int)",\n'
        '"Address","Source","Instructions Executed","Address Space","Avg. Threads Executed"\n'
        '"0x0","      LDG.E R2, [R2.64] ","12500000","Global","31.50"\n'
        '"0x10","      EXIT ","3","-","32"\n'
    )

    assert source_csv(RESULT) == expected


def test_source_page_by_line() -> None:
    """By source line: line number, file, the line's text, the values."""
    expected = (
        '"Kernel Name","void k<float>(T1 *, int)",\n'
        '"#","File","Source","Instructions Executed","Divergent Branches"\n'
        '"1","k.cu","<b>&","7","0"\n'
        '"4","k.cu","","12500000","0"\n'
    )

    assert line_csv(RESULT) == expected


def test_dictionary_reader() -> None:
    """A parser that reads rows as dictionaries and groups them by launch and section works.

    Public scripts do this: skip lines until the heading, then take kernel, section, name, unit and
    value by column name, and strip separators from the value.
    """
    text = "==PROF== Connected to process 1\n" + details_csv(RESULT)
    start = text.index('"ID"')
    table: dict[tuple[str, str], float | str] = {}
    for fields in csv.DictReader(io.StringIO(text[start:])):
        if fields["Metric Name"]:
            value = fields["Metric Value"].replace(",", "")
            key = (fields["Section Name"], fields["Metric Name"])
            table[key] = float(value) if value.replace(".", "").isdigit() else value

    assert table[("GPU Speed Of Light Throughput", "Elapsed Cycles")] == 51058
    assert table[("Launch Statistics", "Waves Per SM")] == 6.4


def test_raw_reader_with_two_heading_rows() -> None:
    """A parser that takes row 1 as names, row 2 as units and the rest as launches works."""
    names, units, *launches = csv.reader(io.StringIO(raw_csv(RESULT, DEFAULTS)))
    frame = [dict(zip(names, values, strict=True)) for values in launches]

    assert len(names) == len(units)
    assert frame[0]["Kernel Name"].startswith("void k<float>")
    assert int(frame[0]["gpc__cycles_elapsed.max"]) == 51058


def test_json_has_raw_numbers() -> None:
    """JSON holds numbers in base units with unit and basis, and null for what is missing."""
    document = json.loads(json_page(RESULT, page="all"))
    first = document["launches"][0]
    speed = {m["name"]: m for m in first["sections"][0]["metrics"]}

    assert speed["gpu__time_duration.sum"] == {
        "name": "gpu__time_duration.sum", "label": "Duration", "value": 86464, "unit": "ns",
        "basis": "model",
    }  # fmt: skip
    missing = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    assert speed[missing]["value"] is None
    assert first["source"]["columns"][0]["values"] == [12_500_000, 3]
    assert first["grid"] == [3_125_000, 1, 1]
