"""The tables that Nsight Systems makes of a program's timeline, by its names, and a trace."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence

from warplens.result.system import COPY, FILL, KERNEL, SystemTimeline

Row = tuple[str, ...]
_TIMES = ("Total Time (ns)", "{}", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)")
_SIZES = ("Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)")
_MEGA = 1e6


def _grouped(pairs: Iterable[tuple[str, float]]) -> list[tuple[str, list[float]]]:
    """Values by name, the largest total first."""
    groups: dict[str, list[float]] = {}
    for name, value in pairs:
        groups.setdefault(name, []).append(value)
    return sorted(groups.items(), key=lambda item: (-sum(item[1]), item[0]))


def _spread(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return (statistics.fmean(values), statistics.median(values), min(values), max(values),
            deviation)  # fmt: skip


def _times(pairs: Iterable[tuple[str, float]], count: str, name: str) -> tuple[Row, list[Row]]:
    groups = _grouped(pairs)
    whole = sum(sum(values) for _, values in groups) or 1.0
    heading = ("Time (%)", *(title.format(count) for title in _TIMES), name)
    rows: list[Row] = []
    for label, values in groups:
        mean, median, least, most, deviation = _spread(values)
        rows.append((
            f"{100 * sum(values) / whole:.1f}", f"{sum(values):.0f}", str(len(values)),
            f"{mean:.1f}", f"{median:.1f}", f"{least:.0f}", f"{most:.0f}", f"{deviation:.1f}",
            label,
        ))  # fmt: skip
    return heading, rows


def cuda_api_sum(timeline: SystemTimeline) -> tuple[Row, list[Row]]:
    """Time in calls of CUDA's API, by function."""
    return _times(((c.name, c.duration_ns) for c in timeline.calls), "Num Calls", "Name")


def cuda_gpu_kern_sum(timeline: SystemTimeline) -> tuple[Row, list[Row]]:
    """Time of kernels, by name."""
    work = (w for w in timeline.work if w.kind == KERNEL)
    return _times(((w.name, w.duration_ns) for w in work), "Instances", "Name")


def cuda_gpu_mem_time_sum(timeline: SystemTimeline) -> tuple[Row, list[Row]]:
    """Time of copies and fills, by operation."""
    work = (w for w in timeline.work if w.kind in (COPY, FILL))
    return _times(((w.name, w.duration_ns) for w in work), "Count", "Operation")


def cuda_gpu_mem_size_sum(timeline: SystemTimeline) -> tuple[Row, list[Row]]:
    """Bytes of copies and fills, by operation."""
    work = (w for w in timeline.work if w.kind in (COPY, FILL))
    rows: list[Row] = []
    for label, values in _grouped((w.name, w.nbytes / _MEGA) for w in work):
        cells = [f"{value:.3f}" for value in _spread(values)]
        rows.append((f"{sum(values):.3f}", str(len(values)), *cells, label))
    return (*_SIZES, "Operation"), rows


def nvtx_sum(timeline: SystemTimeline) -> tuple[Row, list[Row]]:
    """Time in NVTX ranges, by range."""
    heading, rows = _times(
        ((f"{one.style}\0{one.domain}:{one.name}", one.duration_ns) for one in timeline.ranges),
        "Instances", "Style",
    )  # fmt: skip
    return (*heading, "Range"), [(*row[:-1], *row[-1].split("\0", 1)) for row in rows]


NVTX_SUM = "nvtx_sum"
_WORDS = ("Name", "Operation", "Style", "Range")
REPORTS: dict[str, tuple[str, Callable[[SystemTimeline], tuple[Row, list[Row]]]]] = {
    "cuda_api_sum": ("CUDA API Summary", cuda_api_sum),
    "cuda_gpu_kern_sum": ("CUDA GPU Kernel Summary", cuda_gpu_kern_sum),
    "cuda_gpu_mem_time_sum": ("CUDA GPU MemOps Summary (by Time)", cuda_gpu_mem_time_sum),
    "cuda_gpu_mem_size_sum": ("CUDA GPU MemOps Summary (by Size)", cuda_gpu_mem_size_sum),
    NVTX_SUM: ("NVTX Range Summary", nvtx_sum),
}
NOTE = (
    "Kernels, copies and calls: modelled for {gpus}; the host's own time between calls: measured "
    "here."
)


def system_text(timeline: SystemTimeline, names: Sequence[str]) -> str:
    """The tables in aligned columns."""
    parts = []
    for name in names:
        title, table = REPORTS[name]
        heading, rows = table(timeline)
        parts.append(f" ** {title} ({name}):\n")
        if not rows:
            parts.append(" (nothing of that kind)\n")
            continue
        shown = [tuple(_separated(cell) for cell in row) for row in rows]
        widths = [max(map(len, column)) for column in zip(heading, *shown, strict=True)]
        for row in (heading, tuple("-" * width for width in widths), *shown):
            cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
            cells[-1] = row[-1]
            parts.append("  ".join(["", *cells]).rstrip())
        parts.append("")
    parts.append(NOTE.format(gpus=", ".join(dict.fromkeys(timeline.gpus))))
    return "\n".join(parts) + "\n"


def _separated(cell: str) -> str:
    """A number with thousands separators."""
    whole, point, rest = cell.partition(".")
    is_number = whole.isdigit() and (not rest or rest.isdigit())
    return f"{int(whole):,}{point}{rest}" if is_number else cell


def system_csv(timeline: SystemTimeline, names: Sequence[str]) -> str:
    """The tables as comma-separated values, one after another."""
    lines = []
    for name in names:
        heading, rows = REPORTS[name][1](timeline)
        lines.append(",".join(heading))
        for row in rows:
            label = '"' + row[-1].replace('"', '""') + '"' if "," in row[-1] else row[-1]
            lines.append(",".join((*row[:-1], label)))
        lines.append("")
    return "\n".join(lines)


def system_json(timeline: SystemTimeline, names: Sequence[str]) -> str:
    """The tables as one object: a list of rows each."""
    found: dict[str, object] = {}
    for name in names:
        heading, rows = REPORTS[name][1](timeline)
        found[name] = [
            {
                title: cell if title in _WORDS else float(cell)
                for title, cell in zip(heading, row, strict=True)
            }
            for row in rows
        ]
    return json.dumps(found, indent=2) + "\n"


def perfetto_trace(timeline: SystemTimeline) -> str:
    """The timeline in the trace event format, which Perfetto and Chrome open."""
    events: list[dict[str, object]] = []
    for call in timeline.calls:
        events.append({
            "ph": "X", "name": call.name, "cat": "cuda_api", "pid": call.process,
            "tid": call.thread, "ts": call.start_ns / 1e3, "dur": call.duration_ns / 1e3,
        })  # fmt: skip
    for one in timeline.ranges:
        events.append({
            "ph": "X", "name": one.name, "cat": f"nvtx {one.domain}".strip(), "pid": one.process,
            "tid": one.thread, "ts": one.start_ns / 1e3, "dur": one.duration_ns / 1e3,
        })  # fmt: skip
    rows = dict.fromkeys((w.device, w.stream) for w in timeline.work)
    numbers = {row: number for number, row in enumerate(rows)}
    for device in sorted({device for device, _ in rows}):
        events.append({
            "ph": "M", "name": "process_name", "pid": -1 - device,
            "args": {"name": f"GPU {device}: {timeline.gpus[device]} (modelled)"},
        })  # fmt: skip
    for (device, stream), number in numbers.items():
        name = "default stream" if stream < 3 else f"stream {number}"
        events.append({"ph": "M", "name": "thread_name", "pid": -1 - device, "tid": number,
                       "args": {"name": name}})  # fmt: skip
    for work in timeline.work:
        more = {"grid": work.grid, "block": work.block} if work.kind == KERNEL else {
            "bytes": work.nbytes, "host memory": work.memory,
        }  # fmt: skip
        events.append({
            "ph": "X", "name": work.name, "cat": work.kind, "pid": -1 - work.device,
            "tid": numbers[work.device, work.stream], "ts": work.start_ns / 1e3,
            "dur": work.duration_ns / 1e3, "args": more,
        })  # fmt: skip
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})
