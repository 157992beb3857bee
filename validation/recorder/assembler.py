"""Encodes the few sm_90 instructions that carry what is recorded, and puts code into a carrier.

Each function gives one 128-bit word with a control code that waits for every scoreboard and stalls
long, so that no schedule can be wrong. A test has nvdisasm print every one of them.
"""

from __future__ import annotations

import struct

import build
from words import PT, RZ, URZ, controlled, put

CARRIER = "carrier"
PARAMETERS = 0x210  # of the carrier in constant bank 0: in, out, scratch, then 64 words
CONSTANTS = PARAMETERS + 24
DESCRIPTOR = 4  # the uniform register pair of every desc[...]
_REGISTER_COUNT = 0x2F
_BRANCH_TARGETS = 0x34


def guarded(word: int, predicate: int, negated: bool = False) -> int:
    """The instruction under a predicate (of uniform instructions, a uniform one)."""
    return put(word, 12, 4, predicate | negated << 3)


def load(rd: int, ra: int, offset: int) -> int:
    """LDG.E.128 Rd, desc[UR4][Ra.64+offset]."""
    word = put(put(0x0C1E1D00_0000000400007981, 16, 8, rd), 24, 8, ra)
    return controlled(put(word, 40, 24, offset), write=0)


def store(ra: int, offset: int, rb: int) -> int:
    """STG.E.128 desc[UR4][Ra.64+offset], Rb."""
    word = put(put(0x0C101D04_0000000000007986, 32, 8, rb), 24, 8, ra)
    return controlled(put(word, 40, 24, offset), read=0)


def store_word(ra: int, offset: int, rb: int) -> int:
    """STG.E desc[UR4][Ra.64+offset], Rb."""
    word = put(put(0x0C101904_0000000000007986, 32, 8, rb), 24, 8, ra)
    return controlled(put(word, 40, 24, offset), read=0)


def load_shared(rd: int, ra: int, offset: int = 0) -> int:
    """LDS.128 Rd, [Ra+offset]."""
    word = put(put(0x00000C00_0000000000007984, 16, 8, rd), 24, 8, ra)
    return controlled(put(word, 40, 24, offset), write=0)


def store_shared(ra: int, rb: int, offset: int = 0) -> int:
    """STS.128 [Ra+offset], Rb."""
    word = put(put(0x00000C00_0000000000007388, 32, 8, rb), 24, 8, ra)
    return controlled(put(word, 40, 24, offset), read=0)


def load_local(rd: int, ra: int) -> int:
    """LDL.128 Rd, [Ra]."""
    return controlled(put(put(0x00100C00_0000000000007983, 16, 8, rd), 24, 8, ra), write=0)


def store_local(ra: int, rb: int) -> int:
    """STL.128 [Ra], Rb."""
    return controlled(put(put(0x00100C00_0000000000007387, 24, 8, ra), 32, 8, rb), read=0)


def copies_done() -> list[int]:
    """LDGDEPBAR and DEPBAR.LE SB0, 0x0: asynchronous copies have ended."""
    return [controlled(0x79AF, write=0), controlled(0x000080000000791A)]


def parameter(rd: int, offset: int) -> int:
    """LDC.64 Rd, c[0x0][offset]."""
    return controlled(put(put(0x00000A00_00000000FF007B82, 16, 8, rd), 38, 16, offset), write=0)


def descriptor() -> int:
    """ULDC.64 UR4, c[0x0][0x208]: the memory descriptor."""
    return controlled(0x00000A00_0000820000047AB9)


def special(rd: int, number: int) -> int:
    """S2R Rd of a special register: 33 SR_TID.X, 37 SR_CTAID.X, 0 SR_LANEID."""
    return controlled(put(put(0x7919, 16, 8, rd), 72, 8, number), write=0)


def wide(rd: int, ra: int, factor: int, rc: int) -> int:
    """IMAD.WIDE.U32 Rd, Ra, factor, Rc."""
    word = put(put(put(0x078E0000_0000000000007825, 16, 8, rd), 24, 8, ra), 32, 32, factor)
    return controlled(put(word, 64, 8, rc))


def move(rd: int, value: int) -> int:
    """MOV Rd, value."""
    return controlled(put(put(0x00000F00_0000000000007802, 16, 8, rd), 32, 32, value))


def from_uniform(rd: int, ur: int) -> int:
    """MOV Rd, URn."""
    return controlled(put(put(0x08000F00_0000000000007C02, 16, 8, rd), 32, 6, ur))


def to_uniform(ur: int, ra: int) -> int:
    """R2UR URn, Ra."""
    return controlled(put(put(0x000E0000_00000000000072CA, 16, 6, ur), 24, 8, ra))


def to_predicates(ra: int, mask: int = 0x7F) -> int:
    """R2P PR, Ra, mask."""
    return controlled(put(put(0x7804, 24, 8, ra), 32, 32, mask))


def from_predicates(rd: int, mask: int = 0x7F) -> int:
    """P2R Rd, PR, RZ, mask."""
    return controlled(put(put(put(0x7803, 16, 8, rd), 24, 8, RZ), 32, 32, mask))


def uniform_predicate(up: int, ur: int, mask: int) -> int:
    """ULOP3.LUT UPn, URZ, URn, mask, URZ, 0xc0, !UPT: whether bits of a register are set."""
    word = put(put(put(0x0F8EC03F_0000000000007892, 16, 6, URZ), 24, 6, ur), 32, 32, mask)
    return controlled(put(word, 81, 3, up))


def uniform_add(ud: int, ua: int, value: int) -> int:
    """UIADD3 URd, URa, value, URZ."""
    word = put(put(0x0FFFE03F_0000000000007890, 16, 6, ud), 24, 6, ua)
    return controlled(put(word, 32, 32, value))


def logic(rd: int, ra: int, value: int, table: int) -> int:
    """LOP3.LUT Rd, Ra, value, RZ, table, !PT."""
    word = put(put(put(0x078E00FF_0000000000007812, 16, 8, rd), 24, 8, ra), 32, 32, value)
    return controlled(put(word, 72, 8, table))


def nop() -> int:
    """NOP."""
    return controlled(0x7918)


def barrier() -> int:
    """BAR.SYNC.DEFER_BLOCKING 0x0."""
    return controlled(0x00010000_0000000000007B1D)


def fence() -> int:
    """MEMBAR.SC.SYS."""
    return controlled(0x00003000_0000000000007992)


def leave() -> int:
    """EXIT."""
    return controlled(0x03800000_000000000000794D)


def branch(distance: int) -> int:
    """BRA over `distance` instructions beyond the next one."""
    return with_target(controlled(0x03800000_0000000000007947), distance)


def with_target(word: int, distance: int) -> int:
    """BRA, CALL.REL, RET.REL, BRX with their relative target: `distance` instructions further."""
    offset = distance * 4
    return put(put(word, 16, 8, offset), 34, 48, offset >> 8)


def add(rd: int, ra: int, rb: int) -> int:
    """IADD3 Rd, Ra, Rb, RZ."""
    word = put(put(put(0x07FFE0FF_0000000000007210, 16, 8, rd), 24, 8, ra), 32, 8, rb)
    return controlled(word)


def add_value(rd: int, ra: int, value: int) -> int:
    """IADD3 Rd, Ra, value, RZ."""
    word = put(put(0x07FFE0FF_0000000000007810, 16, 8, rd), 24, 8, ra)
    return controlled(put(word, 32, 32, value))


def multiply_add(rd: int, ra: int, factor: int, rc: int) -> int:
    """IMAD Rd, Ra, factor, Rc."""
    word = put(put(put(0x078E0200_0000000000007824, 16, 8, rd), 24, 8, ra), 32, 32, factor)
    return controlled(put(word, 64, 8, rc))


def with_registers(cubin: bytes, count: int) -> bytes:
    """The cubin with another number of registers for every kernel."""
    data = bytearray(cubin)
    at = 0
    head = bytes((4, _REGISTER_COUNT, 8, 0))
    while (at := data.find(head, at)) >= 0:
        struct.pack_into("<I", data, at + 8, count)
        at += 12
    return bytes(data)


def carried(
    cubin: bytes, code: list[int], registers: int, targets: dict[int, list[int]] | None = None,
    kernel: str = CARRIER,
) -> bytes:
    """The carrier with this code in the place of its own, and where each BRX in it may go."""
    code = [*code, branch(-1)]  # as compiled code ends
    room = build.text_section(cubin, kernel)[1] // 16
    if len(code) > room:
        raise ValueError(f"{len(code)} instructions, and room for {room}")
    padding = [controlled(0x7918)] * (room - len(code))
    made = build.with_words(with_registers(cubin, registers), kernel, code + padding)
    return with_targets(made, kernel, targets) if targets else made


def trimmed(cubin: bytes, length: int, kernel: str = CARRIER) -> bytes:
    """The cubin without what pads a kernel's code behind `length` instructions and their end."""
    data = bytearray(cubin)
    size = 16 * (length + 1)
    place, _, old = build.section(cubin, f".text.{kernel}")
    struct.pack_into("<Q", data, place + 32, size)
    _, symbols, room = build.section(cubin, ".symtab")
    for at in range(symbols + 16, symbols + room, 24):
        if struct.unpack_from("<Q", data, at)[0] == old:
            struct.pack_into("<Q", data, at, size)
    return bytes(data)


def with_targets(cubin: bytes, kernel: str, targets: dict[int, list[int]]) -> bytes:
    """The cubin with the places to which each BRX of a kernel may go."""
    entries = b"".join(
        struct.pack(f"<IHHI{len(to)}I", at, 0, 0, len(to), *to) for at, to in targets.items()
    )
    place, offset, size = build.section(cubin, f".nv.info.{kernel}")
    record = struct.pack("<BBH", 4, _BRANCH_TARGETS, len(entries)) + entries
    data = bytearray(cubin + b"\0" * (-len(cubin) % 8))
    struct.pack_into("<QQ", data, place + 24, len(data), size + len(record))
    return bytes(data + cubin[offset : offset + size] + record)


__all__ = ["PT", "RZ", "URZ"]
