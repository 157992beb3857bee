"""How tensor copies combine what they bring with what stands in global memory, in LLVM IR.

Whole numbers are combined by the processor's own atomic operations, floats as those of an atomic
and of a bulk reduction (`combine_ir.py`): a sum that is NaN is 0x7fff of halves, as recorded on an
H200 (`validation/data/interleaved_sm90.json`); of bfloat16 and single precision it is inferred.
"""

from __future__ import annotations

from warplens.lift.runtime.combine_ir import combine
from warplens.lift.runtime.text import Text

_ADD = {"u32": ("i32", "add"), "s32": ("i32", "add"), "u64": ("i64", "add"), "f16": ("i16", "F16x2"),
        "f32": ("i32", "F32"), "bf16": ("i16", "BF16x2")}  # fmt: skip


def _extreme(which: str) -> dict[str, tuple[str, str]]:
    return {"u32": ("i32", "u" + which), "s32": ("i32", which), "u64": ("i64", "u" + which),
            "s64": ("i64", which), "f16": ("i16", "F16x2"), "bf16": ("i16", "BF16x2")}  # fmt: skip


def _bits(which: str) -> dict[str, tuple[str, str]]:
    return {"u32": ("i32", which), "s32": ("i32", which), "u64": ("i64", which),
            "s64": ("i64", which)}  # fmt: skip


# operation -> element type of the map -> (LLVM type, atomicrmw or an atomic's kind of floats)
REDUCTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "ADD": _ADD, "MIN": _extreme("min"), "MAX": _extreme("max"),
    "INC": {"u32": ("i32", "uinc_wrap")}, "DEC": {"u32": ("i32", "udec_wrap")},
    "AND": _bits("and"), "OR": _bits("or"), "XOR": _bits("xor"),
}  # fmt: skip


def _float_name(operation: str, kind: str) -> str:
    return f"wl.tensor.{operation}.{kind}".lower()


def _float_combined(operation: str, kind: str, word: str) -> str:
    """A function that combines one float with that at %to; other blocks may do so too."""
    wide = [f"  %{n} = {'zext i16' if word == 'i16' else 'or i32'} %{n}.w{' to i32' * (word == 'i16')}"
            f"{', 0' * (word == 'i32')}" for n in ("b", "old")]  # fmt: skip
    narrow = "trunc i32 %new to i16" if word == "i16" else "or i32 %new, 0"
    size = int(word[1:]) // 8
    return f"""define internal void @{_float_name(operation, kind)}(ptr %to, {word} %b.w) {{
entry:
{wide[0]}
  %first = load {word}, ptr %to, align {size}
  br label %again
again:
  %old.w = phi {word} [ %first, %entry ], [ %seen, %again ]
{wide[1]}
{combine(operation, kind, 32)}
  %new.w = {narrow}
  %pair = cmpxchg ptr %to, {word} %old.w, {word} %new.w monotonic monotonic
  %seen = extractvalue {{ {word}, i1 }} %pair, 0
  %done = extractvalue {{ {word}, i1 }} %pair, 1
  br i1 %done, label %end, label %again
end:
  ret void
}}"""


def _floats(operation: str) -> list[tuple[str, str]]:
    """Kinds of floats of an operation, with their words."""
    kinds = REDUCTIONS.get(operation, {}).values()
    return [(kind, word) for word, kind in kinds if kind[0].isupper()]


def float_functions(operation: str) -> list[tuple[str, str]]:
    """Names and texts of the functions that `reduce_piece` calls."""
    return [(_float_name(operation, kind), _float_combined(operation, kind, word))
            for kind, word in _floats(operation)]  # fmt: skip


def reduce_piece(t: Text, operation: str, element: str, types: tuple[str, ...]) -> None:
    """Combines %count bytes at %spot with the tensor's at %from; `element` is the map's type."""
    kinds = REDUCTIONS[operation]
    cases = " ".join(f"i32 {types.index(name)}, label %as.{name}" for name in kinds)
    t.do(f"switch i32 {element}, label %no_map [ {cases} ]")
    for name, (word, action) in kinds.items():
        size = int(word[1:]) // 8
        t.label(f"as.{name}")
        t.do(f"br label %in.{name}")
        t.label(f"in.{name}")
        t.do(f"%i.{name} = phi i64 [ 0, %as.{name} ], [ %n.{name}, %do.{name} ]")
        more = t(f"icmp ult i64 %i.{name}, %count")
        t.do(f"br i1 {more}, label %do.{name}, label %moved")
        t.label(f"do.{name}")
        value = t(f"load {word}, ptr {t(f'getelementptr i8, ptr %spot, i64 %i.{name}')}, align {size}")
        place = t(f"getelementptr i8, ptr %from, i64 %i.{name}")
        if action[0].isupper():
            t.do(f"call void @{_float_name(operation, action)}(ptr {place}, {word} {value})")
        else:
            t(f"atomicrmw {action} ptr {place}, {word} {value} monotonic")
        t.do(f"%n.{name} = add i64 %i.{name}, {size}")
        t.do(f"br label %in.{name}")
