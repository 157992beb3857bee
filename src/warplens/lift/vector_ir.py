"""What the text of functions in LLVM IR is made of: vector types, lanes, steps of counters."""

from __future__ import annotations

from warplens.lift import layout as at

V = "<32 x i32>"  # a register
W64 = "<32 x i64>"  # addresses
P = "<32 x i1>"  # a predicate, or lanes

DECLARATIONS = {
    "llvm.cttz.i32": "declare i32 @llvm.cttz.i32(i32, i1)",
    "llvm.ctlz.i32": "declare i32 @llvm.ctlz.i32(i32, i1)",
    "llvm.ctpop.i32": "declare i32 @llvm.ctpop.i32(i32)",
    "llvm.usub.sat.i32": "declare i32 @llvm.usub.sat.i32(i32, i32)",
    "llvm.vector.reduce.or.v32i32": "declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)",
    "llvm.umin.v16i32": "declare <16 x i32> @llvm.umin.v16i32(<16 x i32>, <16 x i32>)",
    "llvm.prefetch.p0": "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "llvm.ctpop.v32i32": "declare <32 x i32> @llvm.ctpop.v32i32(<32 x i32>)",
    "llvm.vector.reduce.umax.v32i32": "declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)",
}

LANES = "<" + ", ".join(f"i32 {i}" for i in range(32)) + ">"


def scaled_lanes(size: int, element: str = "i32") -> str:
    """The constant vector lane * size."""
    return "<" + ", ".join(f"{element} {i * size}" for i in range(32)) + ">"


def splat(name: str, scalar: str, kind: str = "i32", indent: str = "  ") -> str:
    """Lines that define `name` as `scalar` in all lanes."""
    v = f"<32 x {kind}>"
    return (
        f"{indent}{name}.1 = insertelement {v} poison, {kind} {scalar}, i64 0\n"
        f"{indent}{name} = shufflevector {v} {name}.1, {v} poison, {V} zeroinitializer"
    )


def add_counter(stem: str, slot: int, amount: str) -> str:
    """Lines that add an i64 to a counter of the site whose first one is %counter."""
    return f"""  %{stem}.i = add nsw i32 %counter, {slot}
  %{stem}.p = getelementptr i64, ptr %counters, i32 %{stem}.i
  %{stem}.o = load i64, ptr %{stem}.p, align 8
  %{stem}.n = add i64 %{stem}.o, {amount}
  store i64 %{stem}.n, ptr %{stem}.p, align 8"""


COUNTERS_POINTER = f"""  %cp = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}
  %ca = load i64, ptr %cp, align 8
  %counters = inttoptr i64 %ca to ptr"""


def store_for_lanes(stem: str, vector: str, place: str, element: str = "i32") -> str:
    """Lines that store a vector (of 32 elements, aligned) whose lanes are read one by one next.

    32 bytes at a time, which volatile keeps apart: processors of Intel's hand a lane of the upper
    half of a 64-byte store to a load only once it and all stores before it are in the cache.
    """
    n = 8 if element == "i32" else 4
    kind, part = f"<32 x {element}>", f"<{n} x {element}>"
    lines = []
    for k in range(32 // n):
        order = ", ".join(f"i32 {i}" for i in range(n * k, n * k + n))
        lines.append(f"""  %{stem}.h{k} = shufflevector {kind} {vector}, {kind} poison, <{n} x i32> <{order}>
  %{stem}.p{k} = getelementptr i8, ptr {place}, i64 {32 * k}
  store volatile {part} %{stem}.h{k}, ptr %{stem}.p{k}, align 32""")
    return "\n".join(lines)
