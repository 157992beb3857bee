"""How each kernel of kernels/classes.cu is launched; counter_cases.py says what they are given."""

from __future__ import annotations

from counter_cases import Case

PLACES = {"global": 0, "shared": 1, "local": 2, "mixed": 3}
BANKS = {
    "row": (0, 1, 1023), "one": (5, 1, 1023), "pairs": (1, 1, 1023), "fours": (2, 1, 1023),
    "halves": (4, 1, 1023), "modulo8": (0, 1, 7), "modulo3": (0, 1, 3), "bank": (0, 32, 1023),
    "bank_pairs": (1, 32, 1023), "even": (0, 2, 1023), "even_modulo8": (0, 2, 14),
    "stride4": (0, 4, 1023), "scatter": (0, 37, 509), "rows8": (0, 32, 255),
}  # fmt: skip


def _case(kernel: str, *args: int, grid: int = 4, block: int = 128) -> Case:
    filled = (*args, 0, 0, 0, 0)
    given = (filled[0], filled[1], filled[2], filled[3])
    return Case(kernel=kernel, grid=(grid,), block=(block,), args=given)


def _meetings() -> dict[str, Case]:
    found = {f"meet_groups/{p}": _case("meet_groups", p, 1) for p in (1, 2, 3, 4, 8, 32)}
    for p, q, r in ((8, 3, 0), (24, 2, 4), (32, 2, 32), (32, 2, 7), (16, 0, 16), (31, 1, 30)):
        found[f"meet_nested/{p}_{q}_{r}"] = _case("meet_nested", p, q, r)
    for p in (1, 8, 16, 31, 32):
        found[f"meet_masks/{p}"] = _case("meet_masks", p, 3, 1, 0xFFFFFFFF)
    for p in (0, 1, 7):
        found[f"meet_whole/{p}"] = _case("meet_whole", p, 1)
    for p in (32, 20, 1):
        found[f"meet_remaining/{p}"] = _case("meet_remaining", p, 1)
    for p, s in ((3, 3), (32, 1), (5, 0)):
        found[f"leave_loops/{p}_{s}"] = _case("leave_loops", p, 4, 9, s)
    return {**found, "sync_loop/7": _case("sync_loop", 7)}


def _warps() -> dict[str, Case]:
    found = {}
    for s in (0, 7, 32):
        found[f"votes/{s}"] = _case("votes", 5, 17, 99, s)
        found[f"matches/{s}"] = _case("matches", 5, 2, 0, s)
        found[f"reduces/{s}"] = _case("reduces", 0, 0, 0, s)
    found |= {f"calls/{p}": _case("calls", p, 9) for p in (0, 3)}
    found |= {f"recursion/{p}": _case("recursion", p) for p in (0, 3)}
    found |= {f"pointers/{p}": _case("pointers", p, 3) for p in (0, 1, 12)}
    found |= {f"switches/{p}": _case("switches", p) for p in (0, 1, 7)}
    found |= {"elects": _case("elects"), "barriers_named": _case("barriers_named", 128, 9, 9)}
    found |= {"sleeps/32": _case("sleeps", 20, 32), "sleeps/5": _case("sleeps", 20, 5)}
    found |= {name: _case(name) for name in ("specials", "lane_masks", "warp_ids", "clocks")}
    return found


def _accesses() -> dict[str, Case]:
    found = {}
    for width in ("u8", "u16", "u32", "u64", "u128"):
        for place, p in PLACES.items():
            for r in (32, 5):
                found[f"generic_{width}/{place}_{r}"] = _case(f"generic_{width}", p, 1, r)
        for p, q, r in ((0, 1, 32), (31, 1, 32), (3, 5, 32), (31, 3, 11), (31, 1, 0)):
            found[f"local_{width}/{p}_{q}_{r}"] = _case(f"local_{width}", p, q, r, 6)
    for p in (0, 1, 2):
        for q, r in ((1, 32), (4, 32), (1, 7)):
            found[f"generic_atomics/{p}_{q}_{r}"] = _case("generic_atomics", p, q, r)
            found[f"generic_cas/{p}_{q}_{r}"] = _case("generic_cas", p, q, r)
    for size, part in ((4, 1), (8, 5), (16, 4)):
        for p, q, r, s in ((0, 0, 0, 0), (32, 0, 0, 0), (8, 0, 16, part), (32, part, 0, 0)):
            found[f"fill_{size}/{p}_{q}_{r}"] = _case(f"fill_{size}", p, q, r, s)
    for p, q, r, s in ((0, 0, 0, 0), (32, 0, 0, 0), (8, 0, 16, 4), (32, 4, 0, 0), (8, 8, 0, 0)):
        found[f"fill_bypass/{p}_{q}_{r}"] = _case("fill_bypass", p, q, r, s)
    found |= {f"copy_ignored/{p}": _case("copy_ignored", p) for p in (0, 8, 32)}
    return found


def _atomics() -> dict[str, Case]:
    found = {}
    kernels = ("shared_counts", "shared_adds", "shared_others", "shared_wide", "shared_wide_cas")
    for kernel in kernels:
        for label, (p, q, r) in BANKS.items():
            found[f"{kernel}/{label}"] = _case(kernel, p, q, r, 32)
        found[f"{kernel}/row_11"] = _case(kernel, 0, 1, 1023, 11)
    for kernel in ("global_reductions", "global_returns"):
        for label in ("row", "pairs", "modulo8"):
            p, q, r = BANKS[label]
            found[f"{kernel}/{label}"] = _case(kernel, p, q, r & 63, 32)
        found[f"{kernel}/row_11"] = _case(kernel, 0, 1, 63, 11)
    found |= {f"vector_reductions/{s}": _case("vector_reductions", 0, 0, 0, s) for s in (5, 32)}
    return found


def _others() -> dict[str, Case]:
    found = {}
    for p, q in ((1, 31), (2, 63), (8, 255), (0, 0)):
        for kernel in ("matrix_loads", "matrix_load_x1", "matrix_load_x2", "matrix_load_x4",
                       "matrix_stores"):  # fmt: skip
            found[f"{kernel}/{p}"] = _case(kernel, p, q)
    for kind in ("int8", "uint8", "half", "half_half", "bf16", "double", "shared_int8"):
        found[f"product_{kind}"] = _case(f"product_{kind}", 0, 2, block=32)
    for name in ("hints", "orders", "fences", "dependents", "clusters", "mbarriers"):
        found[name] = _case(name)
    found["bulk_copies"] = _case("bulk_copies", 4096)
    for p, r in ((0, 0), (31, 31), (3, 7)):
        found[f"constants/{p}"] = _case("constants", p, 5, r)
    found["bits"] = _case("bits", 0, 3)
    found["divisions"] = _case("divisions", 7, 33, 5)
    found["stores_off"] = _case("stores_off", 1, grid=512, block=256)
    return found


OTHERS: dict[str, Case] = {**_meetings(), **_warps(), **_others()}
ACCESSES: dict[str, Case] = {**_accesses(), **_atomics()}
CASES: dict[str, Case] = {**OTHERS, **ACCESSES}
