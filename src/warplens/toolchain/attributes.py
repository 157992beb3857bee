"""The attribute records of `.nv.info` sections."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel parameter: `offset` from the parameter base in constant bank 0, in bytes."""

    ordinal: int
    offset: int
    size: int


class Attr:
    """Attribute numbers of `.nv.info` records."""

    MAX_THREADS = 0x05
    PARAM_CBANK = 0x0A
    EXTERNS = 0x0F
    REQNTID = 0x10
    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    KPARAM_INFO = 0x17
    CBANK_PARAM_SIZE = 0x19
    REGCOUNT = 0x2F
    INDIRECT_BRANCH_TARGETS = 0x34
    KPARAM_INFO_V2 = 0x45
    CTA_PER_CLUSTER = 0x3D
    SYSCALL_OFFSETS = 0x46
    NUM_BARRIERS = 0x4C
    BLOCKS_ARE_CLUSTERS = 0x5B


@dataclass(slots=True)
class KernelFacts:
    """What `.nv.info.KERNEL` says."""

    n_barriers: int = 0
    blocks_are_clusters: bool = False
    parameter_base: int = 0
    parameter_bytes: int = 0
    parameters: list[Parameter] = field(default_factory=list)
    triples: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    branch_targets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    externs: tuple[int, ...] = ()
    system_calls: tuple[int, ...] = ()

    def add(self, attribute: int, payload: bytes) -> None:
        """Takes one record."""
        if attribute == Attr.NUM_BARRIERS:
            self.n_barriers = payload[0]
        elif attribute == Attr.BLOCKS_ARE_CLUSTERS:
            self.blocks_are_clusters = True
        elif attribute == Attr.PARAM_CBANK:
            _, self.parameter_base, self.parameter_bytes = struct.unpack("<IHH", payload)
        elif attribute == Attr.KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack("<IHHI", payload)
            self.parameters.append(Parameter(ordinal, offset, packed >> 18))
        elif attribute == Attr.KPARAM_INFO_V2:
            _, ordinal, offset, size, _ = struct.unpack("<IHHHH", payload)
            self.parameters.append(Parameter(ordinal, offset, size))
        elif attribute in (Attr.MAX_THREADS, Attr.REQNTID, Attr.CTA_PER_CLUSTER):
            x, y, z = struct.unpack("<III", payload)
            self.triples[attribute] = (x, y, z)
        elif attribute == Attr.EXTERNS:
            self.externs = _words(payload)
        elif attribute == Attr.SYSCALL_OFFSETS:
            self.system_calls = _words(payload)
        elif attribute == Attr.INDIRECT_BRANCH_TARGETS:
            self.branch_targets = _branch_targets(payload)


def _branch_targets(payload: bytes) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    at = 0
    while at < len(payload):
        offset, _, _, count = struct.unpack_from("<IHHI", payload, at)
        at += 12
        found[offset] = struct.unpack_from(f"<{count}I", payload, at)
        at += 4 * count
    return found


def _words(payload: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(payload) // 4}I", payload)


def records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Attribute number and payload of each record; a value in the record itself is its payload."""
    at = 0
    while at < len(data):
        form, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if form != 4:
            yield attribute, data[at - 2 : at]
            continue
        if at + value > len(data):
            raise ValueError("an attribute record is truncated")
        yield attribute, data[at : at + value]
        at += value
