"""NVIDIA's nvcc from pip: whole programs, host code and device code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from warplens.errors import CompileError, ToolchainError
from warplens.toolchain import packages

# What nvcc needs, by the file that tells whether it is there, below the packages' folder.
_NEEDED = (
    ("nvidia-cuda-nvcc", "bin/nvcc"),
    ("nvidia-nvvm", "nvvm/bin/cicc"),
    ("nvidia-cuda-crt", "include/crt/host_config.h"),
    ("nvidia-cuda-runtime", "include/cuda_runtime.h"),
    ("nvidia-cuda-cccl", "include/cccl/cuda/std/cstdint"),
)
LIBRARIES = 'pip install "warplens[libraries]"'
_LIBRARY_HEADER = re.compile(r"((?:cublas|cufft|cusparse|cusolver|curand)\w*\.h)\W*:? "
                             r"No such file or directory")  # fmt: skip
EXTRA = 'pip install "warplens[programs]"'
_ARCHITECTURE = ("-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code",
                 "--gpu-code")  # fmt: skip
_OLDEST = 75  # older architectures are unknown to nvcc 13
_CODE = re.compile(r"\bcode=")
_TARGET = re.compile(r"(sm|compute|lto)_(\d+)[af]?")
_RUNTIME = ("-cudart", "--cudart")
_NO_PROGRAM = ("-c", "--compile", "-E", "--preprocess", "-ptx", "--ptx", "-cubin", "--cubin",
               "-fatbin", "--fatbin", "-dc", "--device-c", "-dw", "--device-w", "-lib", "--lib",
               "-M", "-MM")  # fmt: skip


def nvcc() -> Path:
    """The compiler.

    Raises:
        ToolchainError: it, one of the packages it needs, or the host's C++ compiler is missing.
    """
    trees = packages.trees()
    absent = [
        package
        for package, marker in _NEEDED
        if not any((tree / marker).is_file() for tree in trees)
    ]
    if absent:
        raise ToolchainError(
            f"programs are compiled by nvcc; not installed: {', '.join(absent)}", hint=EXTRA
        )
    if host_compiler() is None:
        raise ToolchainError(
            "nvcc needs a C++ compiler for host code, and none was found",
            hint="Install one (apt-get install g++), or name it in the environment variable "
            "NVCC_CCBIN.",
        )
    return next(tree / "bin/nvcc" for tree in trees if (tree / "bin/nvcc").is_file())


def host_compiler() -> str | None:
    """The C++ compiler that nvcc will use."""
    return os.environ.get("NVCC_CCBIN") or shutil.which("g++")


def command(
    words: Sequence[str], *, sm: int, libraries: Path | None = None, output: Path | None = None,
    must_run: bool = False,
) -> list[str]:  # fmt: skip
    """The command line for nvcc: the user's words with what makes a program of them.

    Args:
        sm: the architecture, unless the words choose others that this nvcc knows.
        must_run: the program is for this architecture: it counts if what the words choose does not
            run there.
        libraries: where the linker finds `-lcudart` and `-lcuda`, which pip's packages do not have
            by these names.
    """
    found = [str(nvcc())]
    words = architectures(words, sm=sm, must_run=must_run)
    links = not any(word in _NO_PROGRAM for word in words)
    if links and not any(word.partition("=")[0] in _RUNTIME for word in words):
        found += ["-cudart", "shared"]
    found += words
    if libraries is not None:
        found += ["-L", str(libraries)]
    if output is not None:
        found += ["-o", str(output)]
    return found


def architectures(
    words: Sequence[str], *, sm: int, must_run: bool, says: bool = True
) -> list[str]:
    """The words with architectures that nvcc knows, and code for one of them at least.

    Makefiles name GPUs of their time, and `native`, which asks a driver.
    """
    others: list[str] = []
    chosen: list[tuple[str, ...]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        if name not in _ARCHITECTURE:
            others.append(word)
        elif equals or not rest:
            chosen.append((word,))
        else:
            chosen.append((word, rest.pop(0)))
    known = [one for one in chosen if not _is_unknown(one)]
    codes = [one for one in known if one[0].startswith(("-code", "--gpu-code"))] or known
    if known and (any(_runs(one, sm) for one in codes) or not must_run):
        return [*(word for one in known for word in one), *others]
    if chosen and says:
        left_out = ", ".join(" ".join(one) for one in chosen)
        print(f"warplens: built for sm_{sm}, in place of {left_out}", file=sys.stderr)
    return [f"-arch=sm_{sm}", *others]


def _is_unknown(option: Sequence[str]) -> bool:
    text = " ".join(option)
    targets = _TARGET.findall(text)
    return "native" in text or any(int(number) < _OLDEST for _, number in targets)


def _runs(option: Sequence[str], sm: int) -> bool:
    """Whether an option makes code for a GPU: machine code of its generation, or PTX before it."""
    text = " ".join(option)
    if "all" in text:
        return True
    code = "".join(_CODE.split(text)[1:])
    made = _TARGET.findall(code or text)
    if not code and made and made[0][0] == "sm":
        made.append(("compute", made[0][1]))  # -arch=sm_80 keeps PTX as well
    return any(
        int(number) <= sm and (kind == "compute" or int(number) // 10 == sm // 10)
        for kind, number in made
    )


def run(words: Sequence[str], *, shows: bool = True) -> None:
    """Runs nvcc; its messages go to standard error.

    Raises:
        CompileError: it fails.
        ToolchainError: a host library's header is missing.
    """
    done = subprocess.run(words, env=_environment(os.environ), capture_output=True, text=True,
                          check=False)  # fmt: skip
    messages = done.stdout + done.stderr
    absent = _LIBRARY_HEADER.search(messages)
    if done.returncode and absent:
        raise ToolchainError(
            f"{absent[1]} is not installed: it comes with the library's package", hint=LIBRARIES
        )
    if done.returncode:
        raise CompileError(f"nvcc fails:\n{messages.rstrip()}", log=messages)
    if shows and messages:
        print(messages, end="", file=sys.stderr)


def _environment(found: Mapping[str, str]) -> dict[str, str]:
    """The user's without what would lead nvcc to another toolkit's parts."""
    kept = {key: value for key, value in found.items() if key not in ("CUDA_HOME", "CUDA_PATH")}
    return kept
