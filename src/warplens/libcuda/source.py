"""Writes the C text of the library: one function for each name of the driver API.

Functions that the driver serves take Python's lock, put aside an exception that may be pending in
the calling thread, and call into Python through a table. The others say their name once on standard
error and return CUDA_ERROR_NOT_SUPPORTED.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from warplens.driver.entries.table import C_TYPES

NOT_INITIALIZED, DEINITIALIZED, NOT_SUPPORTED = 3, 4, 801
PER_THREAD_SUFFIXES = ("_ptds", "_ptsz")
# Programs end things when the process ends, and Python with it: that must not look like an error.
_ENDS = re.compile("Unload|Destroy|Free|Release|CtxSetCurrent|CtxPushCurrent")
_CURRENT = re.compile("cuCtx(GetCurrent|PopCurrent)")  # asked before that: there is none

_HEAD = """\
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

/* Python's C interface, handed over when the library is put in place: no headers, any version. */
struct python {
    int (*ensure)(void);
    void (*release)(int);
    void (*fetch)(void **, void **, void **);
    void (*restore)(void *, void *, void *);
};
struct held { int lock; void *type, *value, *traceback; };

static struct python python;
static void *targets[%(n_targets)d];
static atomic_int state = %(not_initialized)d; /* 0: in place, else what every call returns */

static void enter(struct held *held) {
    held->lock = python.ensure();
    python.fetch(&held->type, &held->value, &held->traceback);
}
static void leave(struct held *held) {
    python.restore(held->type, held->value, held->traceback);
    python.release(held->lock);
}
static int missing(atomic_int *is_told, const char *name) {
    if (!atomic_exchange(is_told, 1))
        fprintf(stderr, "warplens: %%s is not supported by the simulated driver\\n", name);
    return %(not_supported)d;
}

EXPORTED void warplens_connect(const struct python *functions, void *const *entries) {
    python = *functions;
    for (int i = 0; i < %(n_targets)d; i++) targets[i] = entries[i];
    atomic_store(&state, 0);
}
EXPORTED void warplens_disconnect(int status) { atomic_store(&state, status); }
EXPORTED int warplens_state(void) { return atomic_load(&state); }
"""

_SERVED = """\
EXPORTED int %(name)s(%(parameters)s) {
    struct held held;
    int status = atomic_load(&state);
    if (status) return %(late)s;
    enter(&held);
    status = ((int (*)(%(types)s))targets[%(slot)d])(%(arguments)s);
    leave(&held);
    return status;
}
"""

_MISSING = """\
EXPORTED int %(name)s(void) {
    static atomic_int is_told;
    return missing(&is_told, "%(name)s");
}
"""


def served_name(name: str, served: Mapping[str, tuple[str, ...]]) -> str:
    """The entry that serves an exported name: per-thread streams make no difference here."""
    for suffix in PER_THREAD_SUFFIXES:
        if name not in served:
            name = name.removesuffix(suffix)
    return name if name in served else ""


def _late(name: str) -> str:
    """What a function returns when the process ends."""
    if _CURRENT.match(name):
        return "(*(void **)a0 = 0, 0)"
    return "0" if _ENDS.search(name) else "status"


def library_source(names: Sequence[str], served: Mapping[str, tuple[str, ...]]) -> str:
    """The library's C text.

    Args:
        names: every function to export.
        served: the entries with their parameters' types; their order is the table's.
    """
    slots = {name: slot for slot, name in enumerate(served)}
    parts = [_HEAD % {
        "n_targets": len(slots), "not_initialized": NOT_INITIALIZED,
        "not_supported": NOT_SUPPORTED,
    }]  # fmt: skip
    for name in sorted({*names, *served}):
        entry = served_name(name, served)
        if not entry:
            parts.append(_MISSING % {"name": name})
            continue
        types = [C_TYPES[kind][1] for kind in served[entry]]
        parts.append(_SERVED % {
            "name": name,
            "slot": slots[entry],
            "types": ", ".join(types) or "void",
            "late": _late(name),
            "parameters": ", ".join(f"{kind} a{i}" for i, kind in enumerate(types)) or "void",
            "arguments": ", ".join(f"a{i}" for i in range(len(types))),
        })  # fmt: skip
    return "\n".join(parts)
