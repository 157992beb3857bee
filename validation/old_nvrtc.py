"""Compiles with an NVRTC of another version, whose package pip brings to a folder of its own.

Published rates were measured with the compilers of their time, whose machine code may differ: the
environment's own NVRTC stays as it is.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = "nvidia-cuda-nvrtc-cu{major}"  # of CUDA 11 and 12 on PyPI


class OldNvrtc:
    """NVRTC of a version such as "12.1.105", its package kept in a folder.

    Only one of a major version can be loaded in a process.
    """

    def __init__(self, version: str, folder: Path) -> None:
        self.version = version
        place = folder / f"nvrtc-{version}"
        if not place.is_dir():
            _bring(version, place)
        # it opens its built-ins by bare name
        for pattern in ("libnvrtc-builtins.so*", "libnvrtc.so*"):
            found = next(place.rglob(pattern), None)
            if found is None:
                raise RuntimeError(f"{place} has no {pattern}: remove it to have it brought again")
            self._library = ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)

    def compile(self, text: str, sm: int, kernel: str) -> tuple[bytes, str]:
        """The cubin of a text without headers, and the name in it of a kernel, if that is an
        instance of a template."""
        program = ctypes.c_void_p()
        self._check("nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernel.cu",
                    0, None, None)  # fmt: skip
        is_template = "<" in kernel
        if is_template:
            self._check("nvrtcAddNameExpression", program, kernel.encode())
        options = [f"--gpu-architecture=sm_{sm}".encode(), b"--std=c++17", b"-lineinfo"]
        given = (ctypes.c_char_p * len(options))(*options)
        self._check("nvrtcCompileProgram", program, len(options), given)
        size = ctypes.c_size_t()
        self._check("nvrtcGetCUBINSize", program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        self._check("nvrtcGetCUBIN", program, cubin)
        name = kernel
        if is_template:
            lowered = ctypes.c_char_p()
            self._check("nvrtcGetLoweredName", program, kernel.encode(), ctypes.byref(lowered))
            name = (lowered.value or b"").decode()
        self._check("nvrtcDestroyProgram", ctypes.byref(program))
        return cubin.raw, name

    def _check(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} of NVRTC {self.version} failed: {status}")


def _bring(version: str, place: Path) -> None:
    """Downloads the package and unpacks it."""
    package = PACKAGE.format(major=version.split(".")[0])
    wheels = place.with_name(f"{place.name}.wheels")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, wheels, f"{package}=={version}"], check=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
