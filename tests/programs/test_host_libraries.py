"""Programs that call cuBLAS, cuFFT, cuSPARSE, cuSOLVER and cuRAND from the host."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS
from tests.programs.prototypes import prototypes
from warplens.programs.libraries import served
from warplens.programs.libraries.table import LIBRARIES
from warplens.toolchain import packages

_LINKED = [f"-l{name}" for name in LIBRARIES]
_WANTED = (
    "gemm", "gemm, scalars on the device", "gemm of bytes", "batches", "dot with steps",
    "norm and largest", "triangular solve", "transform in two dimensions", "and back",
    "sum of each row", "real rows and back", "columns", "sparse product", "solve by LU",
    "Cholesky", "eigenvalues", "singular values",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built by `warplens build`."""
    path = tmp_path_factory.mktemp("libraries") / "host_libraries"
    subprocess.run([*WARPLENS, "build", str(HERE / "host_libraries.cu"), *_LINKED, "-o", str(path)],
                   check=True)  # fmt: skip
    return path


def test_libraries_compute_what_they_should(program: Path) -> None:
    """Products, transforms, factors agree with loops; what makes no sense is refused by code."""
    command = [*WARPLENS, "profile", "--stats", "--report", "cuda_gpu_kern_sum", "--json",
               str(program)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()

    assert done.returncode == 0, done.stderr
    assert [line for line in lines if line.endswith((" right", " WRONG"))] == [
        f"{name} right" for name in _WANTED
    ]
    assert "bad stream: 1, bad handle: 1" in lines
    assert "no plan: 1" in lines
    assert lines[lines.index("singular values right") + 2] == "0 1 1 1"
    kernels = {row["Name"]: row["Instances"]
               for row in json.loads(done.stdout)["cuda_gpu_kern_sum"]}  # fmt: skip
    assert kernels["cublasSgemm_v2 [roofline of the call]"] == 2
    assert kernels["cufftExecC2C [roofline of the call]"] == 3


@pytest.mark.long
def test_cublas_lt(tmp_path: Path) -> None:
    """Products of cuBLASLt with epilogues, layouts and small types agree with loops."""
    path = tmp_path / "lt"
    subprocess.run([*WARPLENS, "build", str(HERE / "cublas_lt.cu"), "-lcublasLt", "-o", str(path)],
                   check=True)  # fmt: skip

    done = subprocess.run([*WARPLENS, "run", str(path)], capture_output=True, text=True,
                          check=False)  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    *lines, misfit, half = done.stdout.splitlines()
    assert lines == [f"{name} right" for name in (
        "half, bias, gelu", "rows in batches", "relu", "and back", "bytes", "8-bit floats",
        "columns to rows", "rounded to 8 bits",
    )]  # fmt: skip
    assert (misfit, half) == ("do not fit: 7", "half an attribute: 7")


def test_missing_headers_name_the_extra(tmp_path: Path) -> None:
    """A program whose library's header is not installed gets one line that says what to install."""
    (tmp_path / "app.cu").write_text("#include <cublas_nowhere.h>\nint main() {}\n")

    done = subprocess.run([*WARPLENS, "build", str(tmp_path / "app.cu")], capture_output=True,
                          text=True, check=False)  # fmt: skip

    assert done.returncode == 2
    assert 'pip install "warplens[libraries]"' in done.stderr
    assert "cublas_nowhere.h" in done.stderr


@pytest.mark.parametrize("name", LIBRARIES)
def test_signatures_are_the_headers(name: str) -> None:
    """Every served function has the parameters that the installed header declares."""
    library = LIBRARIES[name]
    headers = [path for tree in packages.trees()
               for path in sorted((tree / "include").glob(f"{name}*.h"))]  # fmt: skip
    if library.header not in [path.name for path in headers]:
        pytest.skip(f"{library.package} is not installed")
    first = sorted(headers, key=lambda path: path.name != library.header)
    declared: dict[str, tuple[str, ...]] = {}
    for path in first:
        declared = {**prototypes(path), **declared}

    mine = {one: entry.types for one, entry in served().items() if entry.library is library}

    assert mine == {one: declared.get(one) for one in mine}
