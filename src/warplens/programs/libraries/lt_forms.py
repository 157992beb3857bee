"""cuBLASLt's descriptors: kept in the program, described once for it and for the engine.

A program creates, changes and copies descriptors without the engine; what reads them gets their
bytes. `TEXT` is the C of that.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_C = {"i": "int32_t", "I": "uint32_t", "q": "int64_t", "Q": "uint64_t", "f": "float",
      "b": "int8_t"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute: its number in the header, its name here, its type and what it is at first."""

    number: int
    name: str
    kind: str
    default: float = 0


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of descriptor: which fields its constructor takes, in order, and all of them."""

    name: str
    given: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Its bytes; a program may have its own room for them."""
        return sum(struct.calcsize(field.kind) for field in self.fields)

    def read(self, data: bytes) -> dict[str, int]:
        """The fields by name."""
        values = struct.unpack("<" + "".join(field.kind for field in self.fields), data)
        return {field.name: value for field, value in zip(self.fields, values, strict=True)}


def _fields(text: str) -> tuple[Field, ...]:
    rows = (line.split() for line in text.strip().splitlines())
    return tuple(
        Field(int(number), name, kind, float(more[0]) if more else 0)
        for number, name, kind, *more in rows
    )


LAYOUT = Form("MatrixLayout", ("type", "rows", "columns", "leading"), _fields("""
    0 type I
    1 order i
    2 rows Q
    3 columns Q
    4 leading q
    5 batches i 1
    6 stride q
    7 plane q
    8 mode i
"""))
MATMUL = Form("MatmulDesc", ("compute", "scale"), _fields("""
    0 compute i
    1 scale i
    2 pointers i
    3 op_a i
    4 op_b i
    5 op_c i
    6 fill i 2
    7 epilogue I 1
    8 bias Q
    10 bias_stride q
    11 aux Q
    12 aux_leading q
    13 aux_stride q
    14 alpha_stride q
    15 sms i
    17 scale_a Q
    18 scale_b Q
    19 scale_c Q
    20 scale_d Q
    21 largest_d Q
    22 aux_type i -1
    23 aux_scale Q
    24 largest_aux Q
    25 fast b
    26 bias_type i -1
    31 mode_a i
    32 mode_b i
    33 mode_c i
    34 mode_d i
    35 mode_aux i
    36 out_scale Q
    37 mode_out i
    38 emulation Q
    39 alpha_step q
    40 beta_step q
    41 invariance I
"""))
TRANSFORM = Form("MatrixTransformDesc", ("scale",), _fields("""
    0 scale i
    1 pointers i
    2 op_a i
    3 op_b i
"""))
PREFERENCE = Form("MatmulPreference", (), _fields("""
    0 search I
    1 workspace Q
    3 reductions I 15
    5 alignment_a I 256
    6 alignment_b I 256
    7 alignment_c I 256
    8 alignment_d I 256
    9 waves f
    12 implementations Q
    13 reduced I
    14 average_rows I
    15 average_columns I
"""))
_HEAD = """\
#include <stdlib.h>
struct field { int number; uint32_t offset, size; };
struct form { size_t size; const struct field *fields; int count; };
static const struct field *field_of(const struct form *form, int number) {
    for (int i = 0; i < form->count; i++)
        if (form->fields[i].number == number) return &form->fields[i];
    return NULL;
}
static int set_field(void *at, const struct form *form, int number, const void *value, size_t n) {
    const struct field *field = field_of(form, number);
    if (!at || !value || !field || field->size != n) return 7;
    memcpy((char *)at + field->offset, value, n);
    return 0;
}
static int get_field(const void *at, const struct form *form, int number, void *value, size_t n,
                     size_t *written) {
    const struct field *field = field_of(form, number);
    if (!at || !field || (!n && !written) || (n && !value)) return 7;
    if (written) *written = field->size;
    if (!n) return 0;
    if (n < field->size) return 7;
    memcpy(value, (const char *)at + field->offset, field->size);
    return 0;
}
EXPORTED size_t cublasLtGetVersion(void) { return 130000; }
EXPORTED size_t cublasLtGetCudartVersion(void) { return 13000; }
EXPORTED unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) { return mask; }
"""
_FORM = """\
static const struct field %(form)s_fields[] = {%(rows)s};
static const struct form %(form)s_form = {%(size)d, %(form)s_fields, %(count)d};
EXPORTED int cublasLt%(form)sInit_internal(void *at, size_t size%(parameters)s) {
    if (!at || size < %(size)d) return 7;
    memset(at, 0, %(size)d);
%(assigned)s    return 0;
}
EXPORTED int cublasLt%(form)sCreate(void **made%(parameters)s) {
    void *at = made ? malloc(%(size)d) : NULL;
    if (!at) return made ? 3 : 7;
    *made = at;
    return cublasLt%(form)sInit_internal(at, %(size)d%(passed)s);
}
EXPORTED int cublasLt%(form)sDestroy(void *at) { free(at); return 0; }
EXPORTED int cublasLt%(form)sSetAttribute(void *at, int number, const void *value, size_t n) {
    return set_field(at, &%(form)s_form, number, value, n);
}
EXPORTED int cublasLt%(form)sGetAttribute(const void *at, int number, void *value, size_t n,
                                          size_t *written) {
    return get_field(at, &%(form)s_form, number, value, n, written);
}
"""


def _text(form: Form) -> str:
    rows, assigned, offset = [], [], 0
    for field in form.fields:
        size = struct.calcsize(field.kind)
        rows.append(f"{{{field.number}, {offset}, {size}}}")
        value = field.name if field.name in form.given else f"{field.default:g}"
        if value != "0":
            assigned.append(f"    memcpy((char *)at + {offset}, &({_C[field.kind]}){{{value}}}, "
                            f"{size});\n")  # fmt: skip
        offset += size
    kinds = {field.name: _C[field.kind] for field in form.fields}
    return _FORM % {
        "form": form.name, "rows": ", ".join(rows), "size": form.size, "count": len(rows),
        "assigned": "".join(assigned),
        "parameters": "".join(f", {kinds[name]} {name}" for name in form.given),
        "passed": "".join(f", {name}" for name in form.given),
    }  # fmt: skip


TEXT = _HEAD + "".join(map(_text, (LAYOUT, MATMUL, TRANSFORM, PREFERENCE)))
