"""Device runtime functions that kernels call: printf, assert, malloc and free, run on the host."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable

from warplens.errors import KernelTrap, MemoryFault
from warplens.execute.hook_registry import Caller, Hooks
from warplens.execute.warp_registers import lanes_of, read_pair, read_register, write_register
from warplens.lift import layout as at

HOOKS = Hooks()
_GRID = 1


def _string(caller: Caller, address: int) -> bytes:
    if address == 0:
        return b"(null)"
    segment = caller.memory.find(address)
    if segment is None:
        raise MemoryFault(f"string at {address:#x}: {caller.memory.describe(address)}")
    data = segment.buffer[address - segment.base :].tobytes()
    return data.split(b"\0", 1)[0]


def read_generic(caller: Caller, warp: int, lane: int, address: int, size: int) -> bytes:
    """Bytes at a lane's generic address (local, shared or global)."""
    high, low = address >> 32, address & 0xFFFFFFFF
    if high == at.LOCAL_WINDOW_HIGH:
        base = ctypes.c_int64.from_address(warp + at.WARP_LOCAL).value
        words = [
            ctypes.c_uint32.from_address(base + (low // 4 + k) * 128 + 4 * lane).value
            for k in range((size + low % 4 + 3) // 4)
        ]
        data = struct.pack(f"<{len(words)}I", *words)
        return data[low % 4 : low % 4 + size]
    if high == at.SHARED_WINDOW_HIGH:
        low &= 0xFFFFFF  # without the block's rank in its cluster
        if low + size > caller.shared_limit:
            raise MemoryFault(f"{size} bytes at {address:#x}: beyond the block's shared memory")
        return ctypes.string_at(caller.shared_address() + low, size)
    return caller.memory.view(address, size).tobytes()


_CONVERSION = re.compile(
    rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t)?([diouxXcfFeEgGaAsp%])"
)


def format_printf(form: bytes, fetch: Callable[[int], bytes],
                  string: Callable[[int], bytes]) -> str:  # fmt: skip
    """C's printf over arguments that `fetch(size)` reads in order (8-byte aligned if wide)."""
    out: list[str] = []
    position = 0
    for match in _CONVERSION.finditer(form):
        out.append(form[position : match.start()].decode("utf-8", "replace"))
        position = match.end()
        flags, width, precision, length, kind = match.groups()
        if kind == b"%":
            out.append("%")
            continue
        spec = "%" + flags.decode()
        for mark, value in (("", width), (".", precision)):
            if value is not None:
                number = (
                    str(struct.unpack("<i", fetch(4))[0]) if value == b"*" else value.decode()
                )
                spec += mark + number
        out.append(_convert(spec, kind.decode(), length or b"", fetch, string))
    out.append(form[position:].decode("utf-8", "replace"))
    return "".join(out)


def _convert(spec: str, kind: str, length: bytes, fetch: Callable[[int], bytes],
             string: Callable[[int], bytes]) -> str:  # fmt: skip
    if kind in "aA":
        text = float(struct.unpack("<d", fetch(8))[0]).hex()
        return text.upper() if kind == "A" else text
    if kind in "fFeEgG":
        return (spec + kind) % float(struct.unpack("<d", fetch(8))[0])
    if kind == "s":
        return (spec + "s") % string(struct.unpack("<Q", fetch(8))[0]).decode("utf-8", "replace")
    if kind == "p":
        return (spec + "s") % f"{struct.unpack('<Q', fetch(8))[0]:#x}"
    if kind == "c":
        return (spec + "c") % chr(struct.unpack("<I", fetch(4))[0] & 0xFF)
    wide = length in (b"l", b"ll", b"z", b"j", b"t")
    code = ("q" if wide else "i") if kind in "di" else ("Q" if wide else "I")
    number = int(struct.unpack(f"<{code}", fetch(8 if wide else 4))[0])
    narrow = {b"h": 16, b"hh": 8}.get(length)
    if narrow:
        number &= (1 << narrow) - 1
        if kind in "di" and number >> (narrow - 1):
            number -= 1 << narrow
    return (spec + ("d" if kind in "diu" else kind)) % number


@HOOKS.named("vprintf")
def vprintf(caller: Caller, warp: int, mask: int, index: int) -> None:
    """printf(format R4:R5, arguments R6:R7): lanes print in ascending order."""
    for lane in lanes_of(mask):
        form = _string(caller, read_pair(warp, 4, lane))
        arguments = read_pair(warp, 6, lane)
        offset = 0

        def fetch(size: int, lane: int = lane, arguments: int = arguments) -> bytes:
            nonlocal offset
            offset = (offset + size - 1) // size * size
            data = read_generic(caller, warp, lane, arguments + offset, size)
            offset += size
            return data

        text = format_printf(form, fetch, lambda address: _string(caller, address))
        caller.print_text(text)
        write_register(warp, 4, lane, len(form))


@HOOKS.named("__assertfail")
def assertfail(caller: Caller, warp: int, mask: int, index: int) -> None:
    """A failed assert ends the launch."""
    lane = lanes_of(mask)[0]
    message = _string(caller, read_pair(warp, 4, lane)).decode("utf-8", "replace")
    file = _string(caller, read_pair(warp, 6, lane)).decode("utf-8", "replace")
    line = read_register(warp, 8, lane)
    function = _string(caller, read_pair(warp, 10, lane)).decode("utf-8", "replace")
    raise KernelTrap(
        f"{file}:{line}: {function}: {caller.thread_text(index, lane)} Assertion `{message}` failed"
    )


@HOOKS.named("malloc")
def malloc(caller: Caller, warp: int, mask: int, index: int) -> None:
    """Device heap: size R4:R5, pointer or null in R4:R5."""
    watch = caller.heap_watch
    for lane in lanes_of(mask):
        size = read_pair(warp, 4, lane)
        address = caller.heap_allocate(size)
        if watch is not None:
            watch.allocated(caller, warp, lane, index, address, size)
        write_register(warp, 4, lane, address)
        write_register(warp, 5, lane, address >> 32)


@HOOKS.named("free")
def free(caller: Caller, warp: int, mask: int, index: int) -> None:
    """Device heap: frees R4:R5 (null is ignored)."""
    watch = caller.heap_watch
    for lane in lanes_of(mask):
        address = read_pair(warp, 4, lane)
        if address:
            try:
                caller.heap_free(address)
                if watch is not None:
                    watch.freed(address)
            except MemoryFault as error:
                if watch is not None:
                    watch.bad_free(caller, warp, lane, index, address, error)
                    continue
                where = caller.thread_text(index, lane)
                raise MemoryFault(f"device free() by {where}: {error.message}") from None


@HOOKS.named("__cuda_syscall_CGS_get_intrinsic_handle")
def grid_handle(caller: Caller, warp: int, mask: int, index: int) -> None:
    """What stands for the grid in R4:R5; any number but 0."""
    for lane in lanes_of(mask):
        write_register(warp, 4, lane, _GRID)
        write_register(warp, 5, lane, 0)


@HOOKS.named("__cuda_syscall_CGS_sync")
def grid_barrier(caller: Caller, warp: int, mask: int, index: int) -> None:
    """All threads of the grid wait for each other; R4 says that all went well."""
    for lane in lanes_of(mask):
        write_register(warp, 4, lane, 1)
    caller.wait_for_grid(mask)
