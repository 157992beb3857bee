"""The launch of a configuration as CUDA C++ to paste."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from warplens.gpus.find import find_gpu
from warplens.tune.problem import Job, size_text

_LARGEST = 48 << 10  # bytes of dynamic shared memory that need no leave
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*$")


def code(job: Job, gpu: str, arguments: int) -> str:
    """The compiler's options as a comment, what the launch needs before it, and the launch.

    Args:
        arguments: how many the kernel has; they are called as the source calls them, where it
            can be seen there.
    """
    capability = find_gpu(gpu).compute_capability.replace(".", "")
    file = (str(job.source),) if isinstance(job.source, Path) else ()
    words = (f"-arch=sm_{capability}", *job.options, *file)
    names = parameters(job.source, job.kernel)
    if len(names) != arguments:
        names = tuple(f"argument{i}" for i in range(arguments))
    lines = [f"// nvcc {' '.join(words)}"]
    if job.shared > _LARGEST:
        lines.append(f"cudaFuncSetAttribute({job.kernel}, "
                     f"cudaFuncAttributeMaxDynamicSharedMemorySize, {job.shared});")  # fmt: skip
    if job.cluster is None:
        return "\n".join([*lines, f"{job.launch}({', '.join(names)});"])
    return "\n".join([*lines, *_clustered(job, job.cluster, names)])


def _clustered(job: Job, cluster: tuple[int, ...], names: tuple[str, ...]) -> list[str]:
    """Through CUDA's launch with attributes: chevrons have no place for a cluster."""
    lines = []
    if len(cluster) and _count(cluster) > 8:
        lines.append(f"cudaFuncSetAttribute({job.kernel}, "
                     "cudaFuncAttributeNonPortableClusterSizeAllowed, 1);")  # fmt: skip
    x, y, z = (*cluster, 1, 1)[:3]
    given = "".join(f", {name}" for name in names)
    return [
        *lines,
        "cudaLaunchConfig_t config = {};",
        f"config.gridDim = {size_text(job.grid)};",
        f"config.blockDim = {size_text(job.block)};",
        f"config.dynamicSmemBytes = {job.shared};",
        "cudaLaunchAttribute attribute = {};",
        "attribute.id = cudaLaunchAttributeClusterDimension;",
        f"attribute.val.clusterDim = {{{x}, {y}, {z}}};",
        "config.attrs = &attribute;",
        "config.numAttrs = 1;",
        f"cudaLaunchKernelEx(&config, {job.kernel}{given});",
    ]


def _count(size: tuple[int, ...]) -> int:
    found = 1
    for one in size:
        found *= one
    return found


@lru_cache(maxsize=64)
def parameters(source: str | Path, kernel: str) -> tuple[str, ...]:
    """The names of a kernel's parameters as its source has them; none where that cannot be seen."""
    try:
        text = source.read_text() if isinstance(source, Path) else source
    except (OSError, UnicodeDecodeError):
        return ()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    name = re.escape(kernel.split("<")[0].split("::")[-1].strip())
    found = re.search(rf"__global__\b[^;{{}}]*?\b{name}\s*\(([^{{;]*)\)\s*\{{", text)
    if found is None:
        return ()
    names = [_NAME.search(part) for part in _parts(found[1])]
    return tuple(one[1] for one in names if one is not None)


def _parts(text: str) -> list[str]:
    """What commas outside of brackets part."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
