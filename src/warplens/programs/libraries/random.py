"""cuRAND: generators that the host calls.

XORWOW numbers are those of NVIDIA's, in their order (4096 sequences 2^67 apart take turns); other
generators draw from NumPy's, so their numbers differ and their distributions do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warplens.driver.cells import put_i32, put_u64
from warplens.programs.libraries.arrays import Array, written
from warplens.programs.libraries.table import LibraryFault, NotServed, add, entry
from warplens.programs.libraries.work import Call
from warplens.programs.libraries.xorwow import SEQUENCES, Xorwow

CURAND = "curand"
_DEFAULT, _XORWOW, _MOST_PSEUDO = 100, 101, 199
_BAD_TYPE, _LENGTH_NOT_MULTIPLE = 103, 105
_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(slots=True, eq=False)
class Generator:
    """A generator; on the host if the numbers go there."""

    kind: int
    on_host: bool
    seed: int = 0
    offset: int = 0
    stream: int = 0
    state: Any = None
    extra: dict[str, int] = field(default_factory=dict)

    def bits(self, n: int) -> Array:
        """The next so many 32-bit numbers."""
        if self.state is None:
            if self.kind == _XORWOW:
                self.state = Xorwow(self.seed, self.offset)
            else:
                self.state = np.random.Generator(np.random.Philox(self.seed))
                self.state.bit_generator.advance(self.offset)
        if isinstance(self.state, Xorwow):
            return self.state.next(n)
        drawn: Array = self.state.integers(0, 1 << 32, n, np.uint32)
        return drawn

    def draws(self, words: int, n: int) -> Array:
        """The next `n` draws of so many words: each sequence in turn gives all words of one."""
        rounds = -(-n // SEQUENCES)
        drawn = self.bits(rounds * words * SEQUENCES).reshape(rounds, words, SEQUENCES)
        return drawn.transpose(1, 0, 2).reshape(words, -1)[:, :n]


def _create(on_host: bool) -> Callable[..., None]:
    def create(call: Call, generator: int, kind: int) -> None:
        if not _DEFAULT <= kind <= _MOST_PSEUDO:
            if 200 <= kind <= 204:
                raise NotServed("quasi-random numbers")
            raise LibraryFault(_BAD_TYPE, f"generator {kind}")
        call.program.context()
        known = _XORWOW if kind == _DEFAULT else kind
        put_u64(generator, call.program.keep(Generator(known, on_host)))

    return create


add(CURAND, "curandCreateGenerator", "p i", _create(False))
add(CURAND, "curandCreateGeneratorHost", "p i", _create(True))


@entry(CURAND, "curandDestroyGenerator", "h")
def destroy(call: Call, generator: int) -> None:
    """Ends it."""
    call.thing(generator, Generator)
    del call.program.libraries[generator]


@entry(CURAND, "curandSetPseudoRandomGeneratorSeed", "h z")
def set_seed(call: Call, generator: int, seed: int) -> None:
    """Starts over with a seed."""
    found = call.thing(generator, Generator)
    found.seed, found.state = seed, None


@entry(CURAND, "curandSetGeneratorOffset", "h z")
def set_offset(call: Call, generator: int, offset: int) -> None:
    """Starts over at a place of the sequence."""
    found = call.thing(generator, Generator)
    found.offset, found.state = offset, None


@entry(CURAND, "curandSetGeneratorOrdering", "h i")
def set_ordering(call: Call, generator: int, order: int) -> None:
    """Only the legacy order is served, which any other may be."""
    call.thing(generator, Generator)


@entry(CURAND, "curandSetStream", "h p")
def set_stream(call: Call, generator: int, stream: int) -> None:
    """Where work goes from now on."""
    call.program.context()
    call.program.driver.stream(stream)
    call.thing(generator, Generator).stream = stream


@entry(CURAND, "curandGenerateSeeds", "h")
def generate_seeds(call: Call, generator: int) -> None:
    """States are made when they are needed."""
    call.thing(generator, Generator)


@entry(CURAND, "curandGetVersion", "p")
def version(call: Call, number: int) -> None:
    """The version of the API."""
    put_i32(number, 10_400)


@entry(CURAND, "curandGetProperty", "i p")
def library_property(call: Call, kind: int, value: int) -> None:
    """Major, minor, patch level."""
    put_i32(value, {0: 10, 1: 4}.get(kind, 0))


# --- numbers -------------------------------------------------------------------------------------


def uniform(bits: Array) -> Array:
    """(0, 1] of 32 bits each."""
    small = np.float32(2.3283064e-10)
    return bits.astype(np.float32) * small + small / np.float32(2)


def uniform_double(low: Array, high: Array) -> Array:
    """(0, 1] of two numbers each: 53 bits."""
    joined = low.astype(np.uint64) ^ (high.astype(np.uint64) << np.uint64(21))
    return joined.astype(np.float64) * 2.0**-53 + 2.0**-54


def normal(generator: Generator, n: int, mean: float, deviation: float) -> Array:
    """Pairs of normal numbers of two words each."""
    first, second = generator.draws(2, n // 2)
    u = first.astype(np.float32) * np.float32(2**-32) + np.float32(2**-33)
    turn = np.float32(2**-32 * 2 * np.pi)
    v = second.astype(np.float32) * turn + turn / np.float32(2)
    found = _pairs(np.sqrt(np.float32(-2) * np.log(u)), v)
    return found * np.float32(deviation) + np.float32(mean)


def normal_double(generator: Generator, n: int, mean: float, deviation: float) -> Array:
    """The same in doubles, of four words each pair."""
    words = generator.draws(4, n // 2)
    radius = np.sqrt(-2 * np.log(uniform_double(words[0], words[1])))
    return _pairs(radius, 2 * np.pi * uniform_double(words[2], words[3])) * deviation + mean


def _pairs(radius: Array, angle: Array) -> Array:
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1).ravel()


def _fills(
    call: Call, number: int, target: int, n: int, dtype: Any, value: Callable[[Generator], Array]
) -> None:
    found = call.thing(number, Generator)

    def compute() -> None:
        values = value(found)
        if found.on_host:
            call.program.peer.write(target, np.ascontiguousarray(values, dtype).tobytes())
            return
        call.elements(target, n, dtype)[:] = values
        written(call.program, target, n, dtype)

    call.does(compute, operations=20.0 * n, moved=n * dtype.itemsize, stream=found.stream)


@entry(CURAND, "curandGenerate", "h p z")
def generate(call: Call, number: int, target: int, n: int) -> None:
    """32 bits each."""
    _fills(call, number, target, n, _U32, lambda g: g.bits(n))


@entry(CURAND, "curandGenerateLongLong", "h p z")
def generate_long(call: Call, number: int, target: int, n: int) -> None:
    """64 bits each: only quasi-random generators give these."""
    raise LibraryFault(_BAD_TYPE, "no generator of 64-bit numbers")


@entry(CURAND, "curandGenerateUniform", "h p z")
def generate_uniform(call: Call, number: int, target: int, n: int) -> None:
    """Floats in (0, 1]."""
    _fills(call, number, target, n, _F32, lambda g: uniform(g.bits(n)))


@entry(CURAND, "curandGenerateUniformDouble", "h p z")
def generate_uniform_double(call: Call, number: int, target: int, n: int) -> None:
    """Doubles in (0, 1]."""
    _fills(call, number, target, n, _F64, lambda g: uniform_double(*g.draws(2, n)))


def _normals(name: str, letter: str, dtype: Any, is_log: bool) -> None:
    draw = normal if dtype == _F32 else normal_double

    def function(
        call: Call, number: int, target: int, n: int, mean: float, deviation: float
    ) -> None:
        if n % 2:
            raise LibraryFault(_LENGTH_NOT_MULTIPLE, f"{n} normal numbers are no pairs")

        def value(generator: Generator) -> Array:
            found = draw(generator, n, mean, deviation)
            return np.exp(found) if is_log else found

        _fills(call, number, target, n, dtype, value)

    add(CURAND, name, f"h p z {letter} {letter}", function)


_normals("curandGenerateNormal", "f", _F32, False)
_normals("curandGenerateNormalDouble", "d", _F64, False)
_normals("curandGenerateLogNormal", "f", _F32, True)
_normals("curandGenerateLogNormalDouble", "d", _F64, True)


@entry(CURAND, "curandGeneratePoisson", "h p z d")
def generate_poisson(call: Call, number: int, target: int, n: int, mean: float) -> None:
    """Counts."""

    def value(generator: Generator) -> Array:
        seed = int(generator.bits(1)[0])
        return np.random.default_rng(seed).poisson(mean, n)

    _fills(call, number, target, n, _U32, value)
