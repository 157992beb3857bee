"""Runs NVIDIA's cuda-samples, unmodified, on a simulated GPU: each checks its own results.

    python validation/programs/samples.py FOLDER [NAME ...] [--gpu H200] [-o results.json]

FOLDER is a clone of https://github.com/NVIDIA/cuda-samples. A sample holds if it is built, ends
with 0 in time and does not say that something failed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trying import Found, every, ran

INTRODUCTION, CONCEPTS = "0_Introduction", "2_Concepts_and_Techniques"
FEATURES, DOMAIN, PERFORMANCE = "3_CUDA_Features", "5_Domain_Specific", "6_Performance"
FAILED = re.compile(r"\bFAIL(?:ED|URE)?\b|Test failed|CUDA error|incorrect", re.IGNORECASE)


@dataclass(frozen=True)
class Sample:
    """A sample: where it is, how it is built and run, and how it ends on a GPU."""

    name: str
    group: str
    words: str = ""
    options: str = ""
    gpus: int = 1
    status: int = 0
    says_failed: bool = False  # what it shows is a failure


SAMPLES = (
    Sample("vectorAdd", INTRODUCTION),
    Sample("template", INTRODUCTION),
    Sample("asyncAPI", INTRODUCTION),
    Sample("clock", INTRODUCTION),
    Sample("cppIntegration", INTRODUCTION),
    Sample("cudaOpenMP", INTRODUCTION, options="-Xcompiler -fopenmp"),
    Sample("fp16ScalarProduct", INTRODUCTION),
    Sample("simpleAssert", INTRODUCTION, says_failed=True),
    Sample("simpleAtomicIntrinsics", INTRODUCTION),
    Sample("simpleAttributes", INTRODUCTION, status=2),  # no L2 cache that persists: waived
    Sample("simpleAWBarrier", INTRODUCTION),
    Sample("simpleCallback", INTRODUCTION),
    Sample("simpleCooperativeGroups", INTRODUCTION),
    Sample("simpleMultiCopy", INTRODUCTION),
    Sample("simpleMultiGPU", INTRODUCTION, gpus=2),
    Sample("simpleOccupancy", INTRODUCTION),
    Sample("simpleP2P", INTRODUCTION, gpus=2),
    Sample("simplePrintf", INTRODUCTION),
    Sample("simpleSeparateCompilation", INTRODUCTION, options="-rdc=true"),
    Sample("simpleStreams", INTRODUCTION),
    Sample("simpleTemplates", INTRODUCTION),
    Sample("simpleVoteIntrinsics", INTRODUCTION),
    Sample("simpleZeroCopy", INTRODUCTION),
    Sample("systemWideAtomics", INTRODUCTION),
    Sample("UnifiedMemoryStreams", INTRODUCTION),
    Sample("matrixMul", INTRODUCTION, words="-wA=64 -hA=64 -wB=64 -hB=64"),
    Sample("mergeSort", INTRODUCTION),
    Sample("vectorAddDrv", INTRODUCTION, options="-lcuda"),
    Sample("deviceQuery", "1_Utilities"),
    Sample("eigenvalues", CONCEPTS),
    Sample("inlinePTX", CONCEPTS),
    Sample("interval", CONCEPTS),
    Sample("radixSortThrust", CONCEPTS, words="-n=65536"),
    Sample("reduction", CONCEPTS, words="--n=65536"),
    Sample("reductionMultiBlockCG", CONCEPTS, options="-rdc=true"),
    Sample("scalarProd", CONCEPTS),
    Sample("scan", CONCEPTS),
    Sample("segmentationTreeThrust", CONCEPTS),
    Sample("shfl_scan", CONCEPTS),
    Sample("sortingNetworks", CONCEPTS),
    Sample("streamOrderedAllocation", CONCEPTS),
    Sample("threadFenceReduction", CONCEPTS, words="--n=65536"),
    Sample("binaryPartitionCG", FEATURES),
    Sample("newdelete", FEATURES),
    Sample("simpleCudaGraphs", FEATURES),
    Sample("StreamPriorities", FEATURES),
    Sample("warpAggregatedAtomicsCG", FEATURES),
    Sample("lineOfSight", "4_CUDA_Libraries"),
    Sample("BlackScholes", DOMAIN),
    Sample("dwtHaar1D", DOMAIN),
    Sample("fastWalshTransform", DOMAIN),
    Sample("MonteCarloMultiGPU", DOMAIN),
    Sample("alignedTypes", PERFORMANCE),
    Sample("LargeKernelParameter", PERFORMANCE),
    Sample("transpose", PERFORMANCE),
)


def warplens(*words: str, folder: Path, limit: float) -> tuple[int, str, float]:
    """Runs the command; gives status, output and seconds."""
    return ran([sys.executable, "-m", "warplens.cli.main", *words], folder, limit)


def tried(sample: Sample, root: Path, gpu: str, limit: float) -> Found:
    """Builds and runs a sample; says how that ended."""
    folder = next((root / "Samples").glob(f"*/{sample.name}"), None)
    if folder is None:
        return {"name": sample.name, "outcome": "not there"}
    sources = [str(p) for kind in ("*.cu", "*.cpp") for p in sorted(folder.glob(kind))]
    sources = [name for name in sources if "_kernel.cu" not in name or "_kernels" in name]
    found: Found = {"name": sample.name}
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / sample.name
        options = ["-std=c++17", f"-I{root / 'Common'}", *sample.options.split()]
        status, text, seconds = warplens("build", "--gpu", gpu, *sources, *options, "-o",
                                         str(program), folder=folder, limit=limit)  # fmt: skip
        found["build_seconds"] = round(seconds, 1)
        if status:
            return {**found, "outcome": "not built", "output": text[-3000:]}
        gpus = [word for _ in range(sample.gpus) for word in ("--gpu", gpu)]
        status, text, seconds = warplens("run", *gpus, str(program), *sample.words.split(),
                                         folder=folder, limit=limit)  # fmt: skip
    found |= {"run_seconds": round(seconds, 1), "status": status, "output": text[-3000:]}
    is_right = status == sample.status and (sample.says_failed or not FAILED.search(text))
    outcome = "holds" if is_right else "too slow" if status == 124 else "fails"
    return {**found, "outcome": outcome}


def main() -> int:
    """Tries all samples, or those that are named."""
    return every(SAMPLES, lambda sample: sample.name, tried, __doc__ or "", "samples")


if __name__ == "__main__":
    sys.exit(main())
