"""Compiles the recorder's kernels with NVRTC, and edits single SASS instructions of a cubin.

Run `python build.py OUT_DIR [--arch sm_90]`: no GPU and no driver are needed. Some operations
cannot be reached from CUDA C++ or PTX (`MUFU.SIN` without its range reduction, for example); for
those a kernel is compiled with a reachable relative, and the bits that select the operation are
replaced (`patched`).
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes as ct
import glob
import hashlib
import json
import os
import shutil
import struct
import sys
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"


def _nvidia_dirs() -> list[str]:
    """Folders of the pip packages of the CUDA toolkit (nvidia/cu13 or nvidia/cuda_nvrtc)."""
    return [d for p in sys.path for d in glob.glob(os.path.join(p, "nvidia", "*")) if p]


def toolkit() -> list[str]:
    """The folder of the toolkit whose nvcc is on the PATH, if there is one."""
    nvcc = shutil.which("nvcc")
    return [str(Path(nvcc).resolve().parents[1])] if nvcc else []


def _library(pattern: str) -> str:
    for folder in [*_nvidia_dirs(), *toolkit()]:
        for sub in ("lib", "lib64"):
            found = sorted(glob.glob(os.path.join(folder, sub, pattern)))
            if found:
                return found[0]
    raise FileNotFoundError(f"{pattern}: install nvidia-cuda-nvrtc")


def _include_dirs() -> list[str]:
    found = []
    for folder in [*_nvidia_dirs(), *toolkit()]:
        for sub in ("include", "include/cccl"):
            path = os.path.join(folder, sub)
            if os.path.isdir(path) and path not in found:
                found.append(path)
    return found


class Nvrtc:
    """The runtime compiler."""

    def __init__(self) -> None:
        with contextlib.suppress(FileNotFoundError, OSError):  # the loader may find it itself
            ct.CDLL(_library("libnvrtc-builtins.so*"), mode=ct.RTLD_GLOBAL)
        self._lib = ct.CDLL(_library("libnvrtc.so*"))
        major, minor = ct.c_int(), ct.c_int()
        self._lib.nvrtcVersion(ct.byref(major), ct.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def compile(self, source: str, name: str, options: tuple[str, ...]) -> bytes:
        """The cubin of one translation unit; raises with the compiler's log."""
        program = ct.c_void_p()
        self._lib.nvrtcCreateProgram(
            ct.byref(program), source.encode(), name.encode(), 0, None, None
        )
        flags = [o.encode() for o in (*options, *[f"-I{d}" for d in _include_dirs()])]
        status = self._lib.nvrtcCompileProgram(
            program, len(flags), (ct.c_char_p * len(flags))(*flags)
        )
        if status != 0:
            size = ct.c_size_t()
            self._lib.nvrtcGetProgramLogSize(program, ct.byref(size))
            log = ct.create_string_buffer(size.value)
            self._lib.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"{name} does not compile:\n{log.value.decode()}")
        size = ct.c_size_t()
        self._lib.nvrtcGetCUBINSize(program, ct.byref(size))
        cubin = ct.create_string_buffer(size.value)
        self._lib.nvrtcGetCUBIN(program, cubin)
        self._lib.nvrtcDestroyProgram(ct.byref(program))
        return cubin.raw[: size.value]


def section(cubin: bytes, wanted: str) -> tuple[int, int, int]:
    """Where a section's header is, and its file offset and size (a minimal ELF64 reader)."""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    entry, count, strings = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * entry) for i in range(count)]
    names_at = headers[strings][4]
    for i, (name, _, _, _, offset, size) in enumerate(headers):
        start = names_at + name
        if cubin[start : cubin.index(0, start)] == wanted.encode():
            return table + i * entry, offset, size
    raise KeyError(f"no section {wanted} in this cubin")


def text_section(cubin: bytes, kernel: str) -> tuple[int, int]:
    """File offset and size of one kernel's instructions."""
    return section(cubin, f".text.{kernel}")[1:]


def words(cubin: bytes, kernel: str) -> list[int]:
    """The 128-bit instruction words of one kernel."""
    offset, size = text_section(cubin, kernel)
    starts = range(offset, offset + size, 16)
    return [int.from_bytes(cubin[at : at + 16], "little") for at in starts]


def with_words(cubin: bytes, kernel: str, new: list[int]) -> bytes:
    """A copy of the cubin with other instruction words in one kernel."""
    offset, size = text_section(cubin, kernel)
    if len(new) * 16 != size:
        raise ValueError(f"{kernel} has {size // 16} instructions, not {len(new)}")
    data = b"".join(w.to_bytes(16, "little") for w in new)
    return cubin[:offset] + data + cubin[offset + size :]


def patched(cubin: bytes, kernel: str, match: int, mask: int, field: tuple[int, int, int]) -> bytes:
    """A copy in which a field (low bit, width, value) of every matching instruction changes."""
    low, width, value = field
    new = [
        w & ~(((1 << width) - 1) << low) | value << low if w & mask == match else w
        for w in words(cubin, kernel)
    ]
    if not any(w & mask == match for w in words(cubin, kernel)):
        raise ValueError(f"no instruction to patch in {kernel}")
    return with_words(cubin, kernel, new)


def waiting(word: int, scoreboard: int) -> int:
    """The instruction, made to wait for a scoreboard before it issues."""
    return word | 1 << (105 + 11 + scoreboard)


def signalling(word: int, scoreboard: int) -> int:
    """The instruction, made to hold a scoreboard until its result is written; stall 4, no hint."""
    return word & ~(0xFF << 105) | 4 << 105 | scoreboard << 110


def build_all(out: Path, arch: str) -> dict[str, str]:
    """Compiles every source under kernels/ into `out` and writes manifest.json."""
    out.mkdir(parents=True, exist_ok=True)
    nvrtc = Nvrtc()
    digests = {}
    for source in sorted(KERNELS.glob("*.cu")):
        text = source.read_text()
        cubin = nvrtc.compile(text, source.name, (f"-arch={arch}", "-std=c++17", *_options(text)))
        (out / f"{source.stem}.cubin").write_bytes(cubin)
        digests[source.stem] = hashlib.sha256(cubin).hexdigest()
    manifest = {"nvrtc": nvrtc.version, "arch": arch, "sha256": digests}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return digests


def _options(text: str) -> tuple[str, ...]:
    """Extra options a source asks for in a line `// options: ...`."""
    for line in text.splitlines():
        if line.startswith("// options:"):
            return tuple(line.removeprefix("// options:").split())
    return ()


def main() -> None:
    """Compiles everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--arch", default="sm_90")
    arguments = parser.parse_args()
    for name, digest in build_all(arguments.out, arguments.arch).items():
        print(name, digest[:16])


if __name__ == "__main__":
    main()
