"""The register file of one lifted block while it is being written.

Values stay in SSA names; what was written goes to the region's allocas when the block ends (LLVM
turns those into SSA again). Floats keep their type as long as only float code reads them, so that
NaNs are canonicalised once, where bits become visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from warplens.lift import layout as at
from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
)
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value

Kept = tuple[dict[int, Value], dict[int, Value], set[int]]
VECTOR, PREDICATE, UNIFORM, UNIFORM_PREDICATE = "<32 x i32>", "<32 x i1>", "i32", "i1"


def storage_type(key: int) -> str:
    """The LLVM type in which a key is kept."""
    if key < KEY_PREDICATE:
        return VECTOR
    if key < KEY_UNIFORM:
        return PREDICATE
    return UNIFORM if key < KEY_UNIFORM_PREDICATE else UNIFORM_PREDICATE


def storage_name(key: int) -> str:
    """The alloca of a key."""
    return f"%k{key}"


def record_offset(key: int) -> int:
    """Where a key stands in the warp record."""
    if key < KEY_PREDICATE:
        return at.WARP_REGISTERS + 128 * key
    if key < KEY_UNIFORM:
        return at.WARP_PREDICATES + 4 * (key - KEY_PREDICATE)
    if key < KEY_UNIFORM_PREDICATE:
        return at.WARP_UNIFORM + 4 * (key - KEY_UNIFORM)
    return at.WARP_UNIFORM_PREDICATES + 4 * (key - KEY_UNIFORM_PREDICATE)


class RegisterFile:
    """Reads and writes architectural registers as values.

    `store_record(key, ref)` is given when registers live in the warp record (tier 0) and not in
    allocas: it stores a value under the running split's mask. `read_record(key)` loads a key from
    the record; so are read those that `clean` names.
    """

    def __init__(self, line: Callable[[str], None], name: Callable[[], str],
                 vector: LlvmLanes, scalar: LlvmLanes,
                 read_record: Callable[[int], str],
                 store_record: Callable[[int, str], None] | None = None) -> None:  # fmt: skip
        self._read_record = read_record
        self._store_record = store_record
        self._clean = 0
        self._line = line
        self._name = name
        self._vector = vector
        self._scalar = scalar
        self._single: dict[int, Value] = {}
        self._pairs: dict[int, Value] = {}
        self._dirty: set[int] = set()
        self.used: set[int] = set()

    def start_block(self, clean: int = 0) -> None:
        """Forgets cached values; allocas hold the truth, of `clean` keys the record does."""
        self._clean = clean
        self._single.clear()
        self._pairs.clear()
        self._dirty.clear()

    def _lanes(self, key: int) -> LlvmLanes:
        return self._vector if key < KEY_UNIFORM else self._scalar

    def read(self, key: int) -> Value:
        """The value of a 32-bit register or predicate (type u32, f32 or p)."""
        value = self._single.get(key)
        if value is not None:
            return value
        for base in (key, key - 1):
            pair = self._pairs.get(base)
            if pair is not None:
                x = self._lanes(key)
                wide = pair if pair.type == "u64" else x.bits(pair)
                self._pairs[base] = wide
                value = x.low32(wide) if base == key else x.high32(wide)
                self._single[key] = value
                return value
        kind = storage_type(key)
        if self._store_record is not None or self._clean >> key & 1:
            self.used.update((key,) if self._store_record is not None else ())
            name = self._read_record(key)
        else:
            self.used.add(key)
            name = self._name()
            self._line(f"{name} = load {kind}, ptr {storage_name(key)}")
        value = Value("p" if kind in (PREDICATE, UNIFORM_PREDICATE) else "u32", name)
        self._single[key] = value
        return value

    def read_bits(self, key: int) -> Value:
        """As `read`, floats as canonical bits."""
        value = self.read(key)
        if value.type == "f32":
            value = self._lanes(key).bits(value)
            self._single[key] = value
        return value

    def read_pair(self, key: int) -> Value:
        """The 64-bit value of registers key and key + 1 (type u64 or f64)."""
        pair = self._pairs.get(key)
        if pair is None:
            pair = self._lanes(key).pair(self.read_bits(key), self.read_bits(key + 1))
            self._pairs[key] = pair
        return pair

    def write(self, key: int, value: Value) -> None:
        """Sets a register or predicate."""
        for base in (key, key - 1):
            if base in self._pairs:
                for half in (base, base + 1):
                    if half != key:
                        self.read(half)
                del self._pairs[base]
        self._single[key] = self._lanes(key).closed(value)
        self._dirty.add(key)
        self.used.add(key)

    def write_pair(self, key: int, value: Value) -> None:
        """Sets registers key and key + 1 from a u64 or f64."""
        for base in (key - 1, key + 1):
            if base in self._pairs:
                for half in (base, base + 1):
                    if half not in (key, key + 1):
                        self.read(half)
                del self._pairs[base]
        self._single.pop(key, None)
        self._single.pop(key + 1, None)
        self._pairs[key] = self._lanes(key).closed(value)
        self._dirty.update((key, key + 1))
        self.used.update((key, key + 1))

    def forget(self, keys: Iterable[int]) -> None:
        """Other code has changed these keys in the record; nothing may be waiting to be stored."""
        for key in keys:
            self._single.pop(key, None)
            self._pairs.pop(key, None)
            self._pairs.pop(key - 1, None)

    def fork(self, keys: Iterable[int]) -> Kept:
        """Before code that may be skipped and writes `keys`: their values go to the allocas."""
        for key in sorted(keys):
            for base in (key, key - 1):
                if base in self._pairs:
                    self.read_bits(base)
                    self.read_bits(base + 1)
            value = self.read_bits(key)
            self.used.add(key)
            self._line(f"store {storage_type(key)} {value.ref}, ptr {storage_name(key)}")
        return dict(self._single), dict(self._pairs), set(self._dirty)

    def join(self, keys: Iterable[int], kept: Kept) -> None:
        """Where such code ends: what it wrote is in the allocas, its own values are forgotten."""
        for key in sorted(keys):
            value = self.read_bits(key)
            self._line(f"store {storage_type(key)} {value.ref}, ptr {storage_name(key)}")
        self._single, self._pairs, self._dirty = kept
        for key in keys:
            self._single.pop(key, None)
            self._pairs.pop(key, None)
            self._pairs.pop(key - 1, None)
            self._dirty.discard(key)
            self._clean &= ~(1 << key)

    def flush(self) -> None:
        """Stores what the block wrote; cached values stay usable."""
        for key in sorted(self._dirty):
            value = self.read_bits(key)
            if self._store_record is not None:
                self._store_record(key, value.ref)
            else:
                self._line(f"store {storage_type(key)} {value.ref}, ptr {storage_name(key)}")
        self._dirty.clear()
