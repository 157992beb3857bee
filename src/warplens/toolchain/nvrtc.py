"""Compiles CUDA C++ with NVRTC, NVIDIA's compiler library from pip; needs no toolkit, no driver."""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from warplens.errors import CompileError, ToolchainError
from warplens.toolchain import apart, as_nvcc, headers, packages
from warplens.toolchain.cache import Cache, default_cache, key_of

PACKAGE = "nvidia-cuda-nvrtc"
DEFAULT_STANDARD = "--std=c++17"
# A new number when a compile of the same inputs gives other code: other parts of a file are left
# out, or NVRTC is called otherwise. What was kept under 1 may have been made in a process in which
# a debug build had been compiled (see `apart`).
_RULES = "2"
_HOST_CODE = re.compile(
    r"<<<|\bint\s+main\s*\(|#\s*include\s*<(?:iostream|vector|string|fstream|chrono|map|thread)>"
    r"|\bcuda(?:Malloc|Memcpy|Free|DeviceSynchronize|GetLastError|LaunchKernel)\w*\s*\("
    r"|\bstd::(?:cout|vector|string)\b|host functions? (?:are|is) not allowed in JIT mode"
)
_MISSING_HEADER = re.compile(r'cannot open source file "([^"]+)"')
_HEADER_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What one compile gave.

    Attributes:
        lowered_names: name expression as asked -> mangled name.
        log: the compiler's warnings.
        sm: the architecture, 90 for sm_90.
    """

    cubin: bytes
    ptx: str
    sm: int
    lowered_names: dict[str, str] = field(default_factory=dict)
    log: str = ""


def library_path() -> Path:
    """The library's file."""
    return packages.find_binary(
        PACKAGE, "libnvrtc.so.13*", "nvrtc64_130_0.dll", "nvrtc64_13*.dll"
    )


class _Library:
    """NVRTC's C interface."""

    def __init__(self) -> None:
        # NVRTC opens its built-ins by bare name; loading them first makes that work anywhere.
        built_ins = packages.find_binary(
            PACKAGE, "libnvrtc-builtins.so.13*", "nvrtc-builtins64_13*.dll"
        )
        library = library_path()
        try:
            add_directory = getattr(os, "add_dll_directory", None)
            if add_directory is not None:
                add_directory(str(library.parent))
            ctypes.CDLL(str(built_ins), mode=ctypes.RTLD_GLOBAL)
            self._dll = ctypes.CDLL(str(library))
        except OSError as error:
            raise ToolchainError(
                f"NVRTC cannot be loaded from {library}: {error}",
                hint=f'pip install --force-reinstall "{PACKAGE}>=13.0,<14"',
            ) from error
        self._dll.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> int:
        """Calls a function and gives its status."""
        return int(getattr(self._dll, name)(*arguments))

    def check(self, name: str, *arguments: Any) -> None:
        """Calls a function that must not fail."""
        status = self.call(name, *arguments)
        if status:
            text = self._dll.nvrtcGetErrorString(status).decode()
            raise ToolchainError(f"{name} failed: {text}")

    def read(self, program: ctypes.c_void_p, what: str) -> bytes:
        """One of a program's outputs: ProgramLog, PTX or CUBIN."""
        size = ctypes.c_size_t()
        self.check(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        if not size.value:
            return b""
        buffer = ctypes.create_string_buffer(size.value)
        self.check(f"nvrtcGet{what}", program, buffer)
        return buffer.raw


_LOAD_LOCK = threading.Lock()


@lru_cache(maxsize=1)
def _load() -> _Library:
    return _Library()


def _library() -> _Library:
    with _LOAD_LOCK:
        return _load()


def version() -> tuple[int, int]:
    """NVRTC's version, (13, 5)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().check("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile_source(
    source: str,
    *,
    name: str = "kernel.cu",
    sm: int,
    options: Sequence[str] = (),
    include_dirs: Sequence[str | Path] = (),
    name_expressions: Sequence[str] = (),
    cache: Cache | None = None,
) -> Compiled:
    """Compiles a source text to a cubin and to PTX.

    Args:
        name: file name for messages and line tables.
        sm: architecture, 90 for sm_90.
        options: further NVRTC options; they win over the defaults (`-lineinfo`, C++17).
        include_dirs: searched before CUDA's own headers.
        name_expressions: template instances to generate, `scale<3>`.
        cache: where results are kept; the user's cache by default.

    Raises:
        CompileError: the source has errors.
        ToolchainError: NVRTC or a header package is missing.
    """
    job = _Job(source, name, sm, tuple(options), tuple(map(Path, include_dirs)), name_expressions)
    store = default_cache() if cache is None else cache
    key = job.key()
    if key is not None:
        stored = store.get("cubin", key)
        if stored is not None:
            with suppress(ValueError, KeyError, struct.error):
                return _unpack(stored)
    compiled = job.run() if apart.leave_no_trace(job.user_options) else apart.run(job.run)
    if key is not None:
        store.put("cubin", key, _pack(compiled))
    return compiled


_NEEDS_FEATURES = re.compile(r"not supported on \.target 'sm_90'")
_PLAIN_HOPPER = "--gpu-architecture=sm_90"


class _Job:
    """One compile: its inputs made complete."""

    def __init__(
        self,
        source: str,
        name: str,
        sm: int,
        options: tuple[str, ...],
        include_dirs: tuple[Path, ...],
        name_expressions: Sequence[str],
    ) -> None:
        self.source = source.encode("utf-8", "surrogateescape")
        self.name = name
        self.sm = sm
        self.name_expressions = tuple(dict.fromkeys(name_expressions))
        own_dirs, self.user_options = _split_includes(options)
        self.user_dirs = tuple(folder.absolute() for folder in (*include_dirs, *own_dirs))
        self.cuda_dirs = packages.include_dirs()
        self.headers = {
            key: text
            for key, text in headers.standard_headers(self.cuda_dirs[-1]).items()
            if not any((folder / key).is_file() for folder in self.user_dirs)
        }
        self.options = self._options()

    def _options(self) -> tuple[str, ...]:
        given = {option.split("=", 1)[0] for option in self.user_options}
        defaults = []
        if not given & {"-arch", "--gpu-architecture"}:
            defaults.append(f"--gpu-architecture=sm_{self.sm}")
        if not given & {"-std", "--std"}:
            defaults.append(DEFAULT_STANDARD)
        if not given & {"-G", "--device-debug", "-lineinfo", "--generate-line-info"}:
            defaults.append("-lineinfo")
        folders = (f"--include-path={folder}" for folder in (*self.user_dirs, *self.cuda_dirs))
        return (*defaults, *self.user_options, *folders)

    def key(self) -> bytes | None:
        """The cache key, or None when the result depends on what cannot be listed."""
        if any("-include" in option for option in self.user_options):
            return None
        parts: list[str | bytes] = [
            ".".join(map(str, version())),
            *(packages.version_of(package) for package in _HEADER_PACKAGES),
            self.name,
            # The line table holds the folder of a relative name.
            "" if Path(self.name).is_absolute() else os.getcwd(),
            self.source,
            "\n".join(self.options),
            "\n".join(self.name_expressions),
            "".join(self.headers),
            _RULES,
            *headers.host_headers("std::max").values(),
        ]
        if self.user_dirs:
            try:
                for found in headers.included_files(self.source, self.user_dirs):
                    if found is None:
                        return None
                    parts.extend(found)
            except OSError:
                return None
        return key_of(*parts)

    def run(self) -> Compiled:
        """Compiles the file as it is; else, if that helps, as nvcc would see its device code."""
        try:
            return self._attempt(self.source, self.headers, self.options)
        except CompileError as error:
            files = self._included()
            texts = [self.source.decode("utf-8", "replace"), *(text for _, text in files.values())]
            has_kernels = any("__global__" in text for text in texts)
            if as_nvcc.DEFAULT_DEVICE in self.user_options or not has_kernels:
                raise
            first = error
        source = self.source.decode("utf-8", "surrogateescape")
        host = {
            name: text
            for name, text in headers.host_headers(source).items()
            if not any((folder / name).is_file() for folder in self.user_dirs)
        }
        options = (*self.options, *as_nvcc.OPTIONS)

        def attempt(texts: Mapping[str, str]) -> Compiled:
            changed = {
                spelled: f'#line 1 "{path}"\n{texts[path]}'
                for path, (spelled, text) in files.items()
                if texts[path] != text
            }
            main = texts[self.name].encode("utf-8", "surrogateescape")
            return self._attempt(main, {**host, **self.headers, **changed}, options)

        named = {path: text for path, (_, text) in files.items()} | {self.name: source}
        try:
            compiled, left_out = as_nvcc.compile_device_code(named, attempt)
        except CompileError as error:
            raise (first if headers.PREAMBLE_NAME in (error.log or "") else error) from None
        log = "\n".join(filter(None, (compiled.log, as_nvcc.note(left_out))))
        return replace(compiled, log=log)

    def _included(self) -> dict[str, tuple[str, str]]:
        """The user's headers by path: the name by which they are included, and their text."""
        found = {}
        with suppress(OSError):
            for entry in headers.inclusions(self.source, self.user_dirs):
                if entry is not None:
                    spelled, path, content = entry
                    found[str(path)] = spelled, content.decode("utf-8", "surrogateescape")
        return found

    def _attempt(
        self, source: bytes, given: Mapping[str, str], options: Sequence[str]
    ) -> Compiled:
        """One compile; the PTX is of the same compile as the cubin."""
        library = _library()
        program = ctypes.c_void_p()
        library.check(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source,
            self.name.encode("utf-8", "surrogateescape"),
            len(given),
            _strings([text.encode("utf-8", "surrogateescape") for text in given.values()]),
            _strings([name.encode("utf-8", "surrogateescape") for name in given]),
        )
        try:
            return self._compile(library, program, options)
        except CompileError as error:
            # wgmma and setmaxnreg exist for sm_90a only: code with them is compiled for that.
            if _PLAIN_HOPPER not in options or not _NEEDS_FEATURES.search(error.log):
                raise
        finally:
            library.call("nvrtcDestroyProgram", ctypes.byref(program))
        changed = (f"{_PLAIN_HOPPER}a" if o == _PLAIN_HOPPER else o for o in options)
        return self._attempt(source, given, tuple(changed))

    def _compile(
        self, library: _Library, program: ctypes.c_void_p, given: Sequence[str]
    ) -> Compiled:
        for expression in self.name_expressions:
            library.check("nvrtcAddNameExpression", program, expression.encode())
        options = [option.encode("utf-8", "surrogateescape") for option in given]
        status = library.call("nvrtcCompileProgram", program, len(options), _strings(options))
        log = library.read(program, "ProgramLog").rstrip(b"\0").decode("utf-8", "replace").strip()
        if status:
            raise self._error(log)
        cubin = library.read(program, "CUBIN")
        ptx = library.read(program, "PTX").rstrip(b"\0").decode("utf-8", "replace")
        if not cubin:
            raise CompileError(
                f"{self.name}: with these options NVRTC generates no machine code: "
                f"{' '.join(self.user_options)}",
                log=log,
                hint="Omit -arch=compute_*, -dlto and similar; the device sets the architecture.",
            )
        return Compiled(
            cubin=cubin, ptx=ptx, sm=self.sm, lowered_names=self._lowered(library, program), log=log
        )

    def _lowered(self, library: _Library, program: ctypes.c_void_p) -> dict[str, str]:
        lowered = {}
        for expression in self.name_expressions:
            pointer = ctypes.c_char_p()
            library.check(
                "nvrtcGetLoweredName", program, expression.encode(), ctypes.byref(pointer)
            )
            lowered[expression] = (pointer.value or b"").decode()
        return lowered

    def _error(self, log: str) -> CompileError:
        text = self.source.decode("utf-8", "replace")
        missing = _MISSING_HEADER.search(log)
        hint = None
        if _HOST_CODE.search(text) or _HOST_CODE.search(log):
            hint = (
                "The source contains host code (main, <<<...>>>, cudaMalloc, <iostream> ...), but "
                "NVRTC compiles device code only: move the kernels to a separate file, or put the "
                "host code between #ifndef __CUDACC_RTC__ and #endif."
            )
        elif missing is not None:
            hint = (
                f"Add the directory of {missing[1]} with include_dirs or -I. NVRTC finds CUDA's "
                "headers and the C++ headers of libcu++, no other system headers."
            )
        shown = log or "NVRTC returned no message"
        return CompileError(
            f"{self.name} does not compile for sm_{self.sm}:\n{shown}", log=log, hint=hint
        )


def _split_includes(options: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Takes `-Ifolder`, `-I folder` and `--include-path=folder` out of the options."""
    folders: list[Path] = []
    others: list[str] = []
    pending = False
    for option in options:
        if pending:
            folders.append(Path(option))
            pending = False
        elif option in ("-I", "--include-path"):
            pending = True
        elif option.startswith("--include-path="):
            folders.append(Path(option.partition("=")[2]))
        elif option.startswith("-I"):
            folders.append(Path(option[2:].removeprefix("=")))
        else:
            others.append(option)
    return tuple(folders), tuple(others)


def _strings(values: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(values))(*values)


def _pack(compiled: Compiled) -> bytes:
    head = json.dumps(
        {"sm": compiled.sm, "names": compiled.lowered_names, "log": compiled.log}
    ).encode()
    ptx = compiled.ptx.encode()
    sizes = struct.pack("<QQQ", len(head), len(ptx), len(compiled.cubin))
    return sizes + head + ptx + compiled.cubin


def _unpack(data: bytes) -> Compiled:
    head_size, ptx_size, cubin_size = struct.unpack_from("<QQQ", data)
    head = json.loads(data[24 : 24 + head_size])
    ptx = data[24 + head_size : 24 + head_size + ptx_size].decode()
    cubin = data[24 + head_size + ptx_size :]
    if len(cubin) != cubin_size:
        raise ValueError("stored compile is damaged")
    return Compiled(
        cubin=cubin, ptx=ptx, sm=head["sm"], lowered_names=head["names"], log=head["log"]
    )
