"""Headers that NVRTC does not have: the C and C++ standard ones, mapped to libcu++."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

# Declared by NVRTC itself: printf, malloc, free, assert, memcpy, clock and the math library.
_BUILT_IN = (
    "assert.h cassert stdio.h cstdio stdlib.h cstdlib math.h string.h cstring time.h ctime new"
).split()
_C_HEADERS = {
    "stdint.h": "cuda/std/cstdint",
    "inttypes.h": "cuda/std/cstdint",
    "cinttypes": "cuda/std/cstdint",
    "stddef.h": "cuda/std/cstddef",
    "limits.h": "cuda/std/climits",
    "float.h": "cuda/std/cfloat",
}
# Wrapping these would bring heavy or host-only code for nothing.
_NOT_WRAPPED = frozenset({"atomic", "barrier", "latch", "semaphore", "version", "execution"})
_FIXED_WIDTH = " ".join(
    f"using ::{sign}{kind}{bits}_t;"
    for sign in ("", "u")
    for kind in ("int", "int_least", "int_fast")
    for bits in (8, 16, 32, 64)
)
_STDINT = (
    "#pragma once\n#include <cuda/std/cstdint>\n"
    f"namespace std {{ {_FIXED_WIDTH} using ::intptr_t; using ::uintptr_t;"
    " using ::intmax_t; using ::uintmax_t; }\n"
)
_MATH = (
    "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1"
    " fabs fdim floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint"
    " llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder"
    " remquo rint round scalbln scalbn signbit sin sinh sqrt tan tanh tgamma trunc"
).split()
_CMATH = (
    "#pragma once\nnamespace std { "
    + " ".join(f"using ::{name};" for name in _MATH)
    + " }\n#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n"
    "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n"
)
_CUB_FOLDERS = ("block", "warp", "thread")
_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\"|(\S+))", re.MULTILINE
)


@lru_cache(maxsize=4)
def standard_headers(cccl: Path) -> dict[str, str]:
    """Name and text of the headers given to NVRTC in memory.

    Ordinary CUDA sources include standard headers, for which NVRTC has no files. Each text here
    includes what libcu++ has under that name and shows it in namespace `std`.
    """
    found = dict.fromkeys(_BUILT_IN, "#pragma once\n")
    folder = cccl / "cuda" / "std"
    for path in sorted(folder.iterdir()):
        name = path.name
        if path.is_file() and "." not in name and name not in _NOT_WRAPPED:
            found.setdefault(name, _wrapped(f"cuda/std/{name}"))
    found |= {name: f"#pragma once\n#include <{target}>\n" for name, target in _C_HEADERS.items()}
    found["cstdint"] = found["cinttypes"] = found["stdint.h"] = found["inttypes.h"] = _STDINT
    found["cmath"] = _CMATH
    found["math.h"] = _CMATH
    found["cub/cub.cuh"] = _cub(cccl)
    return found


def _wrapped(target: str) -> str:
    return (
        f"#pragma once\n#include <{target}>\nnamespace cuda {{ namespace std {{}} }}\n"
        "namespace std { using namespace ::cuda::std; }\n"
    )


def _cub(cccl: Path) -> str:
    """CUB's own umbrella header refuses NVRTC; its block, warp and thread parts do compile."""
    names = (
        f"cub/{folder}/{path.name}"
        for folder in _CUB_FOLDERS
        for path in sorted((cccl / "cub" / folder).glob("*.cuh"))
    )
    return "#pragma once\n" + "".join(f"#include <{name}>\n" for name in names)


def included_files(source: bytes, folders: Iterable[Path]) -> Iterator[tuple[str, bytes] | None]:
    """Name and content of every file of `folders` that the source may include, transitively.

    Directives that are switched off count as well: too many files are harmless for a cache key.
    Yields None for a directive whose name is computed by a macro.
    """
    roots = tuple(folders)
    seen: set[Path] = set()
    pending: list[tuple[bytes, Path | None]] = [(source, None)]
    while pending:
        text, folder = pending.pop()
        for match in _INCLUDE.finditer(text):
            if match[3] is not None:
                yield None
                continue
            name = (match[1] or match[2]).decode("utf-8", "surrogateescape")
            near = (folder,) if folder is not None else ()
            for path in (root / name for root in (*near, *roots)):
                if path in seen or not path.is_file():
                    continue
                seen.add(path)
                content = path.read_bytes()
                yield str(path), content
                pending.append((content, path.parent))
