"""A tensor map as the TMA unit reads it, taken apart in LLVM IR.

Where each field stands was read off the code that ptxas 13.4 makes of PTX's `tensormap.replace`
for sm_90a: loads, bit fields and stores at the offsets below. Kernels that make or change maps
themselves therefore need nothing else than these bits.

Of elements of four bits (b4x16, from sm_100a on) two are taken as one byte: sizes and boxes along
the innermost dimension are half as large here.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.runtime.text import Text

# nibbles by the unit's number of the element type, 0 to 11
_TYPES = sum(at.MAP_TYPES.index(name) << 4 * i for i, name in enumerate(at.TMA_TYPES))
_LOG_BYTES = {"4x16": 0, "8": 0, "16": 1, "32": 2, "64": 3}
_ELEMENTS = sum(
    _LOG_BYTES[name.partition(".")[0].strip("abfsu")] << 4 * i
    for i, name in enumerate(at.TMA_TYPES)
)
_LAST = len(at.TMA_TYPES) - 1
_FOUR_BITS = at.TMA_TYPES.index("b4x16")
_KNOWN = (
    at.TMA_RANK[1] | at.TMA_TYPE[1] | at.TMA_SWIZZLE[1] | at.TMA_NAN[1] | at.TMA_TF32[1]
    | at.TMA_BY_DRIVER[1] | at.TMA_L2[1] | at.TMA_INTERLEAVE[1]
)  # fmt: skip


def _word(t: Text, word: int) -> str:
    return t(f"load i32, ptr {t(f'getelementptr i32, ptr %raw, i32 {word}')}, align 4")


def _put(t: Text, word: int, value: str, kind: str = "i32") -> None:
    place = t(f"getelementptr i32, ptr %own, i32 {word}")
    t.do(f"store {kind} {value}, ptr {place}, align 4")


def _bits(t: Text, word: str, first: int, mask: int, add: int = 0) -> str:
    field = t(f"and i32 {t(f'lshr i32 {word}, {first}')}, {mask}")
    return t(f"add i32 {field}, {add}") if add else field


def _nibble(t: Text, table: int, index: str) -> str:
    turned = t(f"shl i32 {index}, 2")
    found = t(f"lshr i64 {table}, {t(f'zext i32 {turned} to i64')}")
    return t(f"and i32 {t(f'trunc i64 {found} to i32')}, 15")


def _element(t: Text, flags: str) -> str:
    """Stores the element type; gives whether there is such a one."""
    number = _bits(t, flags, at.TMA_TYPE[0], 15)
    is_tf32 = t(f"icmp ne i32 {t(f'and i32 {flags}, {at.TMA_TF32[1]}')}, 0")
    exists = t(f"icmp ule i32 {number}, {_LAST}")
    least = t(f"select i1 {exists}, i32 {number}, i32 0")
    is_f32 = t(f"or i1 {t(f'icmp eq i32 {number}, 7')}, {t(f'icmp eq i32 {number}, 8')}")
    tf32 = t(f"add i32 {number}, {at.MAP_TYPES.index('tf32') - 7}")
    kind = t(f"select i1 {is_tf32}, i32 {tf32}, i32 {_nibble(t, _TYPES, least)}")
    _put(t, at.MAP_TYPE, kind)
    _put(t, at.MAP_ELEMENT, t(f"shl i32 1, {_nibble(t, _ELEMENTS, least)}"))
    fits = t(f"or i1 {is_f32}, {t(f'xor i1 {is_tf32}, true')}")
    return t(f"and i1 {exists}, {fits}")


def _dimensions(t: Text, flags: str) -> None:
    steps, boxes = _word(t, at.TMA_STEPS), _word(t, at.TMA_BOX)
    number = _bits(t, flags, at.TMA_TYPE[0], 15)
    halves = t(f"zext i1 {t(f'icmp eq i32 {number}, {_FOUR_BITS}')} to i32")
    _put(t, at.MAP_BOX, t(f"lshr i32 {_bits(t, steps, 24, 255, 1)}, {halves}"))
    for i in range(5):
        size = t(f"add i32 {_word(t, at.TMA_SIZES + i)}, 1")
        _put(t, at.MAP_SIZES + i, size if i else t(f"lshr i32 {size}, {halves}"))
        if i:
            _put(t, at.MAP_BOX + i, _bits(t, boxes, 8 * (i - 1), 255, 1))
            _put(t, at.MAP_STEPS + i - 1, _bits(t, steps, 3 * i, 7, 1))
    tops = _word(t, at.TMA_STRIDE_TOPS)
    for i in range(4):
        low = t(f"zext i32 {_word(t, at.TMA_STRIDES + i)} to i64")
        top = t(f"zext i32 {_bits(t, tops, 4 * i, 15)} to i64")
        whole = t(f"or i64 {low}, {t(f'shl i64 {top}, 32')}")
        stride = t(f"shl i64 {whole}, 4")
        _put(t, at.MAP_STRIDES + 2 * i, stride, "i64")


def _interleave(t: Text, flags: str) -> str:
    """Of interleaved channels an element is a pixel of a slice; its step stands in place of that of
    the slices, which has no meaning. Gives whether the rank allows what is asked for."""
    bits = _bits(t, flags, at.TMA_INTERLEAVE[0], 3)
    is_sliced = t(f"icmp ne i32 {bits}, 0")
    element = t(f"getelementptr i32, ptr %own, i32 {at.MAP_ELEMENT}")
    size = t(f"select i1 {is_sliced}, i32 {t(f'shl i32 {bits}, 4')}, i32 "
             f"{t(f'load i32, ptr {element}, align 4')}")  # fmt: skip
    t.do(f"store i32 {size}, ptr {element}, align 4")
    last = _bits(t, flags, at.TMA_RANK[0], 7)
    has_slices = t(f"icmp ugt i32 {last}, 1")
    place = t(f"select i1 {has_slices}, i32 {t(f'add i32 {last}, {at.MAP_STEPS - 2}')}, "
              f"i32 {at.MAP_STEPS}")  # fmt: skip
    slot = t(f"getelementptr i32, ptr %own, i32 {place}")
    step = _bits(t, _word(t, at.TMA_STEPS), 0, 7, 1)
    kept = t(f"load i32, ptr {slot}, align 4")
    t.do(f"store i32 {t(f'select i1 {is_sliced}, i32 {step}, i32 {kept}')}, ptr {slot}, align 4")
    exists = t(f"and i1 {has_slices}, {t(f'icmp ne i32 {bits}, 3')}")
    return t(f"or i1 {exists}, {t(f'xor i1 {is_sliced}, true')}")


def unpack() -> str:
    """Text of @wl.tensor.unpack: whether %raw is a map of tiles; if so, %own has its fields."""
    t = Text()
    flags = _word(t, at.TMA_FLAGS)
    for word, value in ((at.MAP_MARK, at.MAP_MAGIC), (at.MAP_MODE, at.MAP_TILE)):
        _put(t, word, str(value))
    _put(t, at.MAP_RANK, _bits(t, flags, at.TMA_RANK[0], 7, 1))
    has_type = _element(t, flags)
    swizzle = _bits(t, flags, at.TMA_SWIZZLE[0], 3)
    is_plain = t(f"icmp eq i32 {swizzle}, 0")
    pitch = t(f"select i1 {is_plain}, i32 0, i32 {t(f'shl i32 16, {swizzle}')}")
    _put(t, at.MAP_PITCH, pitch)
    turns = t(f"sub i32 {t(f'lshr i32 {pitch}, 4')}, 1")
    _put(t, at.MAP_SWIZZLE, t(f"select i1 {is_plain}, i32 0, i32 {turns}"))
    fills_nan = t(f"icmp ne i32 {t(f'and i32 {flags}, {at.TMA_NAN[1]}')}, 0")
    _put(t, at.MAP_FILL, t(f"select i1 {fills_nan}, i32 {at.MAP_NAN}, i32 0"))
    address = t(f"load i64, ptr {t(f'getelementptr i32, ptr %raw, i32 {at.TMA_ADDRESS}')}, align 8")
    _put(t, at.MAP_ADDRESS, address, "i64")
    _dimensions(t, flags)
    has_type = t(f"and i1 {has_type}, {_interleave(t, flags)}")
    straight = t(f"icmp eq i64 {t(f'and i64 {address}, 15')}, 0")
    understood = t(f"icmp eq i32 {t(f'and i32 {flags}, {~_KNOWN & 0xFFFFFFFF}')}, 0")
    t.do(f"%good = and i1 {has_type}, {t(f'and i1 {straight}, {understood}')}")
    body = "\n".join(t.lines)
    return f"define internal i1 @wl.tensor.unpack(ptr %raw, ptr %own) noinline {{\n{body}\n" \
           "  ret i1 %good\n}"
