"""`warplens profile`: runs a kernel of a .cu file, or a script, and reports what was counted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplens.cli._printing import add_filter_options, add_print_options, clock
from warplens.cli._program import is_whole, profile_program
from warplens.cli._system import add_system_options

if TYPE_CHECKING:
    from warplens.api import Device, Kernel, Launch, LaunchOptions, Module, PmSampling
    from warplens.gpus.spec import GpuSpec
    from warplens.result import LaunchResult, Result

EPILOG = """arguments of the kernel, in order:
  --arg TYPE=VALUE      a scalar            --arg i32=1048576  --arg f32=0.5
  --arg TYPE[N]=INIT    a buffer            --arg 'i32[1<<20]=arange'  --arg 'f32[64,64]=rand'
  TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64; INIT is a number, arange, rand,
  randint(lo,hi) or a .npy file; --save-arg 1=out.npy saves the second argument after the run.
  --arg 'struct{TYPE name; ...}={VALUE, ...}'   a structure    --arg 'struct{f32 x; i32 n}={0.5, 7}'
  --arg @I, --arg @I+N  the array of argument I again, or from its element N on
  --constant NAME=...   a __constant__ or __device__ variable: what follows is as for --arg

examples:
  warplens profile reduce.cu -k 'reduce<256>' --grid 4096 --block 256 \\
      --arg 'i32[1048576]=arange' --arg 'i32[1]=0' --arg i32=1048576 --gpu H200
  warplens profile reduce.cu ... --set full -o first
  warplens profile reduce.cu ... --metrics smsp__inst_executed.sum,l1tex__t_sectors --csv
  warplens profile -k regex:reduce script.py 100
  warplens profile --stats --gpu 'RTX 4060' app.cu -- 100      a whole program: where time goes
  warplens profile -k regex:reduce --launch-count 2 ./app 100
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Adds the verb and its options."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "profile",
        help="profile a kernel or every launch of a script",
        description="Executes a kernel's SASS on the CPU and reports Nsight Compute's metrics for "
        "the simulated GPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="FILE", nargs="?",
                        help="a .cu file, a cubin, a program, or a Python script")  # fmt: skip
    parser.add_argument("-i", "--import", dest="import_file", type=Path, metavar="FILE",
                        help="print or filter a result file instead of profiling")  # fmt: skip
    add_launch_options(parser.add_argument_group("launch (for .cu files and cubins)"))
    parser.add_argument(
        "--interleave", action="store_true",
        help="warps take turns of a few instructions, as on a GPU: for kernels with races",
    )  # fmt: skip
    report = parser.add_argument_group("report")
    option = report.add_argument
    option("--set", dest="section_set", metavar="ID", help="section set: basic, detailed, full, "
           "roofline, pmsampling (default: basic)")  # fmt: skip
    option("--section", action="append", default=[], metavar="ID",
           help="section identifier, or regex:EXPR (repeatable)")  # fmt: skip
    option("--metrics", action="append", default=[], metavar="A,B",
           help="metrics; a base name selects all its rollups; or regex:EXPR")  # fmt: skip
    option("-o", "--export", type=Path, metavar="NAME", help="write NAME.wlens instead of printing")
    option("--warp", metavar="BLOCK,WARP", help="record this warp's steps for the HTML report")
    option("--schedule", metavar="FIRST,CYCLES",
           help="record these cycles of an SM's schedule for the HTML report")  # fmt: skip
    option("--pm-sampling-interval", type=int, default=0, metavar="N",
           help="sampling interval in ns (cycles up to compute capability 8.0; 0: automatic)")
    option("--pm-sampling-buffer-size", type=int, default=0, metavar="BYTES",
           help="size of the sample buffer; further samples are dropped (0: "
                "automatic)")  # fmt: skip
    option("--pm-sampling-max-passes", type=int, default=0, metavar="N",
           help="pass groups of sampled counters to collect (0: all)")  # fmt: skip
    option("-f", "--force-overwrite", action="store_true", help="overwrite existing files")
    option("--log-file", type=Path, metavar="FILE", help="write the output to this file")
    option("--format", choices=("text", "vscode"), default="text",
           help="vscode: advice as lines for an editor's problem matcher (default: text)")
    add_filter_options(report)
    add_print_options(report)
    add_system_options(parser.add_argument_group("programs with main()"))
    return parser


def add_launch_options(group: Any) -> None:
    """Adds what says which kernel runs where, and with which arguments."""
    option = group.add_argument
    option("--gpu", action="append", default=[], metavar="NAME",
           help="GPU to simulate (default: H200); repeat for one column each")  # fmt: skip
    option("--clock", type=clock, default="base", metavar="base|boost|MHZ",
           help="SM clock (default: base)")  # fmt: skip
    option("--grid", metavar="X[,Y[,Z]]", help="grid size in blocks")
    option("--block", metavar="X[,Y[,Z]]", help="block size in threads")
    option("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory per block")
    option("--cluster", metavar="X[,Y[,Z]]", help="cluster size in blocks (default: as compiled)")
    option("--arg", action="append", default=[], metavar="TYPE[N]=INIT", help="next kernel "
        "argument, see below (repeatable)")
    option("--constant", action="append", default=[], metavar="NAME=TYPE[N]=INIT",
           help="value of a __constant__ or __device__ variable (repeatable)")  # fmt: skip
    option("--save-arg", action="append", default=[], metavar="I=FILE.npy",
           help="save argument I (counted from 0) after the run (repeatable)")  # fmt: skip
    option("--seed", type=int, default=0, help="seed of rand and randint (default: 0)")
    option("-I", "--include", action="append", default=[], metavar="DIR", help="header directory")
    option("-D", "--define", action="append", default=[], metavar="NAME[=VALUE]", help="define a "
        "macro")
    option("--option", action="append", default=[], metavar="OPT",
           help="NVRTC option, such as --option=-maxrregcount=32")  # fmt: skip
    option("--deterministic", choices=("yes", "no"), default="yes",
           help="run blocks in index order where the order can matter (default: yes)")  # fmt: skip
    option("--workers", type=int, metavar="N", help="threads that execute blocks (default: all "
        "cores)")
    option("--predict", action="store_true",
           help="execute sampled blocks only and model the time; outputs are not "
                "meaningful")  # fmt: skip
    option("--timing", choices=("sampled", "exact", "off"), default="sampled",
           help="blocks that the timing model replays (default: sampled)")  # fmt: skip
    option("--carveout", type=int, metavar="PERCENT",
           help="preferred shared memory carve-out, in percent of the largest")  # fmt: skip
    option("--scheduler", choices=("oldest-block", "gty", "lrr", "gto"), default="oldest-block",
           help="warp scheduling policy: as measured on hardware, greedy-then-youngest, loose "
           "round-robin, greedy-then-oldest (default: oldest-block)")  # fmt: skip
    option("--set-gpu", action="append", default=[], metavar="KEY=VALUE",
           help="override a value of the GPU file, such as l2.size_bytes=1048576 "
                "(repeatable)")  # fmt: skip
    option("--max-seconds", type=float, metavar="S", help="abort a launch after S seconds")
    option("--max-idle-seconds", type=float, default=120.0, metavar="S",
           help="abort a launch in which no block ends for S seconds (default: 120; 0: "
                "never)")  # fmt: skip
    option("--max-steps", type=int, metavar="N", help="abort a launch after N back edges (loop "
        "iterations of warps)")


def run(arguments: argparse.Namespace) -> int:
    """Executes the verb; returns the exit status."""
    if arguments.import_file is not None:
        return _import(arguments)
    _check_before_running(arguments)
    launches: list[LaunchResult] = []
    if is_whole(arguments):
        return _profile_program(arguments, launches)
    if arguments.cache_control == "none":
        from warplens.errors import InputError

        raise InputError("--cache-control none is about programs: elsewhere caches are empty "
                         "before each launch")  # fmt: skip
    if arguments.nvtx_include or arguments.nvtx_exclude:
        from warplens.errors import InputError

        raise InputError("NVTX ranges are followed in programs with main() only")
    if arguments.target.endswith(".py"):
        from warplens.cli._script import profile_script

        status = profile_script(arguments, launches, collected)
    else:
        _profile_kernel(arguments, launches)
        status = 0
    if launches:
        _report(arguments, launches)
    return status


def _profile_program(arguments: argparse.Namespace, launches: list[LaunchResult]) -> int:
    """A program with its host code: launches, or with --stats what it did over time."""
    from warplens.cli._system import write_timeline
    from warplens.programs.process import end_like
    from warplens.result import Result
    from warplens.version import __version__

    wants_time = bool(arguments.stats or arguments.report or arguments.perfetto)
    asked = arguments.section_set or arguments.section or arguments.metrics or arguments.page
    status, timeline = profile_program(
        arguments, launches, collected, with_launches=bool(asked or not wants_time),
        with_timeline=wants_time or arguments.export is not None,
    )  # fmt: skip
    result = Result(launches=tuple(launches), writer=__version__, timeline=timeline)
    if launches or arguments.export is not None:
        _output(arguments, result)
    if wants_time and timeline is not None:
        write_timeline(arguments, timeline)
    end_like(status)


def _import(arguments: argparse.Namespace) -> int:
    """Prints a result file, or writes the launches that the filters leave to another."""
    from warplens.cli.show import selection
    from warplens.errors import InputError

    if arguments.target is not None:
        raise InputError("-i prints a result file and takes no FILE to profile")
    shown = selection(arguments.import_file, arguments, metric_names(arguments))
    if shown is not None:
        _output(arguments, shown)
    return 0


def _check_before_running(arguments: argparse.Namespace) -> None:
    """Refuses what would fail only after a long run."""
    from warplens.cli._printing import print_options
    from warplens.errors import InputError, ReportError
    from warplens.metrics.assemble import choose_sections
    from warplens.metrics.registry import expand
    from warplens.result import SUFFIX

    if arguments.target is None:
        raise InputError("no FILE to profile", hint="Name a .cu file, a cubin or a script.")
    choose_sections(section_set=_set_of(arguments), sections=arguments.section)
    for name in metric_names(arguments):
        expand(name)
    print_options(arguments)
    _pm_sampling(arguments)
    _pair(arguments.warp, "--warp", "BLOCK,WARP")
    _pair(arguments.schedule, "--schedule", "FIRST,CYCLES")
    if arguments.format == "vscode" and (arguments.csv or arguments.json):
        raise InputError("--format vscode, --csv and --json are mutually exclusive")
    if arguments.csv and arguments.json:
        raise InputError("--csv and --json are mutually exclusive")
    if arguments.export is not None:
        name = arguments.export.name
        target = arguments.export.with_name(name if name.endswith(SUFFIX) else name + SUFFIX)
        if target.exists() and not arguments.force_overwrite:
            raise ReportError(f"{target} already exists", hint="Use -f to overwrite it.")


def metric_names(arguments: argparse.Namespace) -> list[str]:
    """The names of all `--metrics`; a regex keeps its commas."""
    names: list[str] = []
    for text in arguments.metrics:
        if text.startswith("regex:"):
            names.append(text)
        else:
            names.extend(name.strip() for name in text.split(",") if name.strip())
    return names


def _set_of(arguments: argparse.Namespace) -> str | None:
    """The section set: basic, unless sections or metrics alone were asked for."""
    chosen: str | None = arguments.section_set
    alone = chosen is None and not arguments.section and not arguments.metrics
    if alone and arguments.format == "vscode":
        return "detailed"  # the sections that know source lines
    return "basic" if alone else chosen


def collected(launch: Launch, arguments: argparse.Namespace, identifier: int) -> LaunchResult:
    """A launch as data, with the sections and metrics asked for."""
    if launch.sources.timing is not None:
        launch.timing.resample(_pm_sampling(arguments))
    return launch.result(
        section_set=_set_of(arguments),
        sections=arguments.section,
        metrics=metric_names(arguments),
        identifier=identifier,
        with_source=_shows_source(arguments),
        warp=_pair(arguments.warp, "--warp", "BLOCK,WARP"),
        window=_pair(arguments.schedule, "--schedule", "FIRST,CYCLES"),
    )


def _shows_source(arguments: argparse.Namespace) -> bool:
    """Whether anything that is written needs values per instruction or per line."""
    is_text = not arguments.csv and not arguments.json
    lists_lines = is_text and arguments.lines > 0 and _set_of(arguments) is not None
    lists_lines = lists_lines or arguments.format == "vscode"
    return arguments.export is not None or arguments.page == "source" or lists_lines


def _pm_sampling(arguments: argparse.Namespace) -> PmSampling:
    """How counters are sampled over time."""
    from warplens.timing.pm_sampling import PmSampling

    return PmSampling(
        interval=arguments.pm_sampling_interval,
        buffer_bytes=arguments.pm_sampling_buffer_size,
        max_passes=arguments.pm_sampling_max_passes,
    )


def _pair(text: str | None, option: str, what: str) -> tuple[int, int] | None:
    """The two numbers of an option."""
    from warplens.errors import InputError

    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InputError(f"{option} {text!r} is not {what}", hint=f"For example {option} 0,64.")
    return int(parts[0]), int(parts[1])


def _profile_kernel(arguments: argparse.Namespace, launches: list[LaunchResult]) -> None:
    """Runs the kernel once per GPU."""
    from dataclasses import replace

    for number, gpu in enumerate(dict.fromkeys(arguments.gpu or ["H200"])):
        launch = _run_once(arguments, gpu)
        if launch.output:
            stream = sys.stderr if arguments.csv or arguments.json else sys.stdout
            stream.write(launch.output)
        result = collected(launch, arguments, number)
        launches.append(replace(result, process_name=Path(arguments.target).name, device=number))


def _run_once(arguments: argparse.Namespace, gpu: str) -> Launch:
    """Compiles or loads, makes the arguments, launches, saves what `--save-arg` asks for."""
    from warplens.session.options import LaunchOptions

    options = LaunchOptions(
        deterministic=arguments.deterministic == "yes",
        workers=arguments.workers,
        max_steps=arguments.max_steps,
        max_seconds=arguments.max_seconds,
        max_idle_seconds=arguments.max_idle_seconds or None,
        interleave=arguments.interleave,
        timing=arguments.timing != "off",
        exact_timing=arguments.timing == "exact",
        scheduler=arguments.scheduler,
        carveout=arguments.carveout,
    )
    kernel, configuration, values = prepared_launch(arguments, gpu, options)
    chosen = kernel.predict if arguments.predict else kernel
    launch = chosen[configuration](*values)
    save_arguments(arguments, values)
    return launch


def prepared_launch(
    arguments: argparse.Namespace, gpu: str, options: LaunchOptions
) -> tuple[Kernel, tuple[Any, ...], list[Any]]:
    """The kernel of a file, its launch configuration and its arguments; nothing has run."""
    from warplens.cli._launch_arguments import parse, save_target, set_variable, triple
    from warplens.session.device import Device
    from warplens.session.kernel_arguments import check_count, elsewhere, resolved

    changes = getattr(arguments, "set_gpu", [])
    device = Device(_gpu(gpu, changes), clock=arguments.clock, options=options)
    kernel = _kernel(arguments, device)
    _need_shape(arguments)
    grid, block = triple("grid", arguments.grid), triple("block", arguments.block)
    check_count(kernel, len(arguments.arg))
    values = resolved(
        [elsewhere(text) or parse(text, seed=arguments.seed + index)
         for index, text in enumerate(arguments.arg)],
        device,
    )  # fmt: skip
    for text in arguments.constant:
        set_variable(kernel.code.image, text, seed=arguments.seed)
    targets = [save_target(text, len(values)) for text in arguments.save_arg]
    _check_targets(arguments, targets, values)
    cluster = None if arguments.cluster is None else triple("cluster", arguments.cluster)
    return kernel, (grid, block, 0, arguments.shared, cluster), values


def save_arguments(arguments: argparse.Namespace, values: list[Any]) -> None:
    """Writes what `--save-arg` asks for, after the run."""
    import numpy as np

    from warplens.cli._launch_arguments import save_target

    for text in arguments.save_arg:
        index, path = save_target(text, len(values))
        np.save(path, np.asarray(values[index]), allow_pickle=False)


def _gpu(name: str, changes: list[str]) -> GpuSpec:
    """The GPU with the numbers that `--set-gpu` changes."""
    from warplens.errors import InputError
    from warplens.gpus.find import find_gpu
    from warplens.gpus.spec import override

    values: dict[str, int | float | tuple[int, ...]] = {}
    for text in changes:
        key, equals, value = text.partition("=")
        try:
            values[key.strip()] = float(value) if "." in value or "e" in value else int(value, 0)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"--set-gpu {text!r} is not of the form KEY=NUMBER")
    spec = find_gpu(name)
    return override(spec, values) if values else spec


def _need_shape(arguments: argparse.Namespace) -> None:
    from warplens.errors import InputError

    for name in ("grid", "block"):
        if getattr(arguments, name) is None:
            raise InputError(f"--{name} is missing", hint="For example --grid 4096 --block 256.")


def _check_targets(
    arguments: argparse.Namespace, targets: list[tuple[int, Path]], values: list[Any]
) -> None:
    import numpy as np

    from warplens.errors import InputError, ReportError
    from warplens.session.arrays import DeviceArray

    for index, path in targets:
        if not isinstance(values[index], np.ndarray | DeviceArray):
            raise InputError(f"--save-arg {index}: argument {index} is a scalar")
        if path.exists() and not arguments.force_overwrite:
            raise ReportError(f"{path} already exists", hint="Use -f to overwrite it.")


def _kernel(arguments: argparse.Namespace, device: Device) -> Kernel:
    """The kernel that -k names, or the only one."""
    target = Path(arguments.target)
    if target.suffix == ".cubin":
        module = device.load(target)
    else:
        options = [*arguments.option, *(f"-D{define}" for define in arguments.define)]
        module = device.compile(target, options=options, include_dirs=arguments.include)
    name = arguments.kernel_name
    if name is None or name.startswith("regex:"):
        name = _only(module, name, arguments.kernel_name_base)
    return module[name]


def _only(module: Module, pattern: str | None, base: str) -> str:
    """The single kernel that fits."""
    from warplens.cli._printing import compiled_pattern
    from warplens.errors import UnknownKernel

    expression = compiled_pattern(pattern)
    found = []
    for names in module.names:
        seen = {"function": names.bare, "demangled": names.demangled, "mangled": names.mangled}
        if expression is None or expression.search(seen[base]):
            found.append(names.demangled)
    if len(found) == 1:
        return found[0]
    what = "kernels" if pattern is None else f"kernels that match {pattern}"
    every = ", ".join(found or module.kernels) or "none; templates need -k 'name<...>'"
    raise UnknownKernel(f"there are {len(found)} {what}: {every}", hint="Name one with -k.")


def _report(arguments: argparse.Namespace, launches: list[LaunchResult]) -> None:
    """Writes the result file and prints the page, as far as asked for."""
    from warplens.result import Result
    from warplens.version import __version__

    _output(arguments, Result(launches=tuple(launches), writer=__version__))


def _output(arguments: argparse.Namespace, result: Result) -> None:
    from warplens.cli._printing import rendered, write_text
    from warplens.result import save

    printing = arguments.export is None or arguments.page or arguments.csv or arguments.json
    if printing:
        write_text(
            rendered(result, arguments),
            arguments.log_file,
            overwrite=arguments.force_overwrite,
        )
    if arguments.export is not None:
        path = save(result, arguments.export, overwrite=arguments.force_overwrite)
        print(path, file=sys.stderr if arguments.csv or arguments.json else sys.stdout)
