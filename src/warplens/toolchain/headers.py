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
_CONSTANTS = {  # of <math.h>, with the bits that nvcc gives them
    "INFINITY": "__builtin_bit_cast(float, 0x7f800000)",
    "NAN": "__builtin_bit_cast(float, 0x7fc00000)",
    "HUGE_VALF": "INFINITY",
    "HUGE_VAL": "((double)INFINITY)",
    "MAXFLOAT": "3.40282347e+38F",
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
}
_CMATH = (
    "#pragma once\nnamespace std { "
    + " ".join(f"using ::{name};" for name in _MATH)
    + " }\n"
    + "".join(
        f"#ifndef {name}\n#define {name} {text}\n#endif\n" for name, text in _CONSTANTS.items()
    )
)
# What nvcc declares before a file's first line, through cuda_runtime.h and the headers it includes.
PREAMBLE_NAME = "warplens/implicit.h"
PREAMBLE = """#pragma once
#include <cmath>
#include <climits>
#include <cstdint>
#include <cstddef>
typedef unsigned char u_char;
typedef unsigned short ushort, u_short;
typedef unsigned int uint, u_int;
typedef unsigned long ulong, u_long;
typedef uint8_t u_int8_t;
typedef uint16_t u_int16_t;
typedef uint32_t u_int32_t;
typedef uint64_t u_int64_t;
typedef long ssize_t;
namespace std { using ::size_t; using ::ptrdiff_t; }
#ifndef RAND_MAX
#define RAND_MAX 2147483647
#endif
#ifndef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#endif
"""
_MIN_MAX = """namespace std {
template <class T> __device__ constexpr const T& max(const T& a, const T& b) {
    return a < b ? b : a;
}
template <class T> __device__ constexpr const T& min(const T& a, const T& b) {
    return b < a ? b : a;
}
}
"""
_CUBLAS = "#pragma once\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuComplex.h>\n"
_MIN_MAX_USED = re.compile(r"\bstd::(?:min|max)\b")
_ALGORITHMS = re.compile(r"#\s*include\s*[<\"](?:algorithm|utility|cuda/std/|cub/|thrust/)")
# Headers for host code only: an empty text in their place.
_HOST_HEADERS = (
    "vector string iostream istream ostream fstream sstream iomanip ios chrono map unordered_map"
    " set unordered_set list forward_list deque queue stack memory thread mutex shared_mutex future"
    " condition_variable random stdexcept exception typeinfo typeindex filesystem regex locale"
    " codecvt system_error any variant optional string_view functional numeric iterator cassert"
    " cctype cerrno csignal cstdarg clocale cwchar cfenv csetjmp valarray scoped_allocator"
    " ctype.h errno.h signal.h stdarg.h stdbool.h wchar.h locale.h fenv.h setjmp.h unistd.h"
    " getopt.h pthread.h dirent.h fcntl.h strings.h libgen.h malloc.h sched.h dlfcn.h omp.h mpi.h"
    " sys/time.h sys/types.h sys/stat.h sys/mman.h sys/resource.h sys/wait.h sys/sysinfo.h"
    " windows.h helper_cuda.h helper_functions.h helper_timer.h helper_string.h helper_image.h"
    " exception.h cufft.h curand.h cusparse.h"
    " cusolverDn.h cudnn.h nccl.h nvToolsExt.h nvtx3/nvToolsExt.h nvml.h cupti.h"
).split()
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


def host_headers(source: str) -> dict[str, str]:
    """Headers that a file with host code includes, without content, and nvcc's preamble."""
    # Host headers bring std::max, which libcu++ has only with all of <algorithm>: five seconds.
    wanted = _MIN_MAX_USED.search(source) and not _ALGORITHMS.search(source)
    preamble = PREAMBLE + (_MIN_MAX if wanted else "")
    found = dict.fromkeys(_HOST_HEADERS, "#pragma once\n")
    found |= dict.fromkeys(("cublas.h", "cublas_v2.h", "cublasLt.h"), _CUBLAS)
    return {**found, PREAMBLE_NAME: preamble}


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
    """Path and content of every file of `folders` that the source may include, transitively.

    Directives that are switched off count as well: too many files are harmless for a cache key.
    Yields None for a directive whose name is computed by a macro.
    """
    for found in inclusions(source, folders):
        yield None if found is None else (str(found[1]), found[2])


def inclusions(
    source: bytes, folders: Iterable[Path]
) -> Iterator[tuple[str, Path, bytes] | None]:
    """The same with the name by which a file is included first."""
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
                yield name, path, content
                pending.append((content, path.parent))
