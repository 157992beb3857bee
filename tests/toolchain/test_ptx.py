"""Parameter types from PTX and C++ signatures."""

from __future__ import annotations

import pytest

from warplens.toolchain.demangle import demangle
from warplens.toolchain.nvrtc import compile_source
from warplens.toolchain.ptx import parameter_types, parse_parameters, signature_types

SOURCE = """
#include <cuda_fp16.h>
struct Pair { int a; double b; };
enum Colour { RED };
namespace deep { template<class T> struct Box { T* p; int n; }; }
template<int N> __global__ void scale(const float* in, float* out, float s, int n, Pair p, bool z)
{ out[n] = in[n] * s * N + p.b + z; }
template __global__ void scale<3>(const float*, float*, float, int, Pair, bool);
__global__ void kinds(unsigned char a, signed char b, unsigned short c, size_t d, long e, Colour f,
    float (*g)(float), deep::Box<float> h, int** i, half j, half2 k, const double& l, short2 m)
{ **i = a + b + c + d + e + f + h.n + m.x; }
extern "C" __global__ void plain(float* p, unsigned long long n, int i, double d) { p[n] = i + d; }
__global__ void nothing() {}
"""


def types_of(kernel: str, sm: int) -> list[tuple[str, int, str]]:
    """Kind, size and pointee of a kernel's parameters."""
    found = parse_parameters(compile_source(SOURCE, sm=sm).ptx)
    (name,) = (name for name in found if kernel in name)
    return [(t.kind, t.size, t.pointee) for t in parameter_types(demangle(name), found[name])]


@pytest.mark.parametrize("sm", [75, 90, 100, 120])
def test_types_of_a_template(sm: int) -> None:
    """Pointers, floats, signed integers, structures and truth values are told apart."""
    assert types_of("scale", sm) == [
        ("pointer", 8, "float"),
        ("pointer", 8, "float"),
        ("float", 4, ""),
        ("int", 4, ""),
        ("struct", 16, ""),
        ("bool", 1, ""),
    ]


@pytest.mark.parametrize("sm", [75, 120])
def test_unusual_types(sm: int) -> None:
    """Small and wide integers, enumerations, function pointers, references, templates, halves."""
    assert types_of("kinds", sm) == [
        ("uint", 1, ""),
        ("int", 1, ""),
        ("uint", 2, ""),
        ("uint", 8, ""),
        ("int", 8, ""),
        ("integer", 4, ""),
        ("pointer", 8, ""),
        ("struct", 16, ""),
        ("pointer", 8, "int*"),
        ("float", 2, ""),
        ("struct", 4, ""),
        ("pointer", 8, "double"),
        ("struct", 4, ""),
    ]


def test_c_names_on_new_architectures() -> None:
    """From sm_100 on, PTX itself marks pointers."""
    assert [kind for kind, _, _ in types_of("plain", 100)] == [
        "pointer",
        "integer",
        "integer",
        "float",
    ]


def test_c_names_on_older_architectures() -> None:
    """Before, a 64-bit parameter of a C name may be a pointer or a number."""
    assert [kind for kind, _, _ in types_of("plain", 90)] == ["word", "word", "integer", "float"]


def test_no_parameters() -> None:
    """A kernel without parameters has none."""
    assert types_of("nothing", 90) == []


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("k", None),
        ("k()", ()),
        ("void f<A<int, 3>, (B)2>(A<int, 3>*, int)", ("A<int, 3>*", "int")),
        ("f(void (*)(int, float), int)", ("void (*)(int, float)", "int")),
        ("f(int const (&) [4])", ("int const (&) [4]",)),
    ],
)
def test_signatures_are_split_at_outer_commas(
    signature: str, expected: tuple[str, ...] | None
) -> None:
    """Commas in template arguments and function types do not separate parameters."""
    assert signature_types(signature) == expected
