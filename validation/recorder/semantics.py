"""Runs the small experiments of kernels/semantics.cu and writes what was seen as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import build
import numpy as np
import numpy.typing as npt
from session import Session

Words = npt.NDArray[np.uint32]
LANE = np.arange(32)
# named lane patterns: which arm each lane takes
TWO_WAY = {
    "even_odd": LANE & 1, "odd_even": 1 - (LANE & 1), "low_half": LANE // 16,
    "high_half": 1 - LANE // 16, "lane0_is_1": (LANE == 0) * 1, "lane0_is_0": (LANE != 0) * 1,
    "lane31_is_1": (LANE == 31) * 1, "lane31_is_0": (LANE != 31) * 1, "lane7_is_1": (LANE == 7) * 1,
    "lane7_is_0": (LANE != 7) * 1, "three_quarters_1": (LANE % 4 != 3) * 1,
    "three_quarters_0": (LANE % 4 == 3) * 1, "all_0": LANE * 0, "all_1": LANE * 0 + 1,
}  # fmt: skip
FOUR_WAY = {"mod4": LANE % 4, "rev4": 3 - LANE % 4, "blocks": LANE // 8, "rev": 3 - LANE // 8,
            "mostly2": np.where(LANE < 3, LANE, 2), "lane0_3": np.where(LANE == 0, 3, LANE % 3)}
SIX_WAY = {"mod6": LANE % 6, "rev6": 5 - LANE % 6, "mod7": LANE % 7}
TURNS = {"lane": LANE, "rev": 31 - LANE, "even8": (LANE % 2) * 8, "ones": LANE * 0 + 1}
ADDRESSES = {"same": LANE * 0, "two": LANE % 2, "four": LANE // 8, "banks": (LANE % 2) * 32,
             "scatter": (LANE * 7) % 5}
SPECIAL = [0, 2, 3, 32, 33, 34, 35, 37, 38, 39, 40, 42, 44, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55,
           56, 57, 58, 59, 60, 61, 62, 67, 68, 80, 81, 82, 83, 134, 135, 136, 137, 139]  # fmt: skip


class Experiments:
    """Loads cubins on demand and runs single-warp kernels."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.base = session.cubin("semantics")
        self.found: dict[str, Any] = {}

    def kernel(self, name: str, cubin: bytes | None = None) -> Any:
        """A function of the (possibly patched) cubin."""
        return self.driver.function(self.driver.load(cubin or self.base), name)

    def warp(self, function: Any, given: Words, *extra: Any, n_out: int = 64) -> list[int]:
        """Runs one warp and returns its output words."""
        d = self.driver
        out = d.alloc(4096)
        d.fill(out, 0, 4096)
        source = d.upload(given.astype(np.uint32))
        for _ in range(2):  # the second run has warm instruction caches
            d.launch(function, (1,), (32,), (out, source, *extra))
            d.synchronize()
        return [int(v) for v in d.download(out, n_out, np.uint32)]

    def note(self, name: str, run: Callable[[], Any]) -> None:
        """Keeps a result, or the error that stopped it."""
        try:
            self.found[name] = run()
        except Exception as error:
            self.found[name] = f"failed: {error}"

    def branches(self) -> None:
        """The order of divergent arms, from their clocks."""
        cases = [("branch_two_way", TWO_WAY), ("branch_two_way_swapped", TWO_WAY),
                 ("branch_two_way_biased", TWO_WAY), ("branch_early_exit", TWO_WAY),
                 ("branch_nested", FOUR_WAY), ("branch_ladder", FOUR_WAY),
                 ("branch_switch", SIX_WAY), ("branch_loop", TURNS),
                 ("merge_question", TWO_WAY)]  # fmt: skip
        for name, patterns in cases:
            function = self.kernel(name)
            for label, pattern in patterns.items():
                for n in (16, 1000):
                    self.note(
                        f"{name}/{label}/{n}",
                        lambda f=function, p=pattern, k=n: self.warp(f, p, np.uint32(k)),
                    )
        chain = self.driver.upload(np.zeros(4096, np.uint32))
        for name in ("switch_global", "switch_shared"):
            function = self.kernel(name)
            for label, pattern in TWO_WAY.items():
                extra = (np.uint32(8), chain) if name == "switch_global" else (np.uint32(8),)
                self.note(f"{name}/{label}", lambda f=function, p=pattern, e=extra: self.warp(
                    f, p, *e, n_out=96))  # fmt: skip
        for name in ("spin_question", "spin_question_swapped", "spin_minority",
                     "spin_minority_atomic"):  # fmt: skip
            function = self.kernel(name)
            self.note(name, lambda f=function: self.warp(
                f, np.full(32, 1 << 16), np.uint32(100)))  # fmt: skip

    def orders(self) -> None:
        """The lane order of atomics to one address and of stores."""
        d = self.driver
        names = ["order_exch_global", "order_exch_shared", "order_add_global", "order_add_shared",
                 "order_inc_shared", "order_inc_shared_one", "order_inc_global_one",
                 "order_addf_global", "order_cas_global", "order_cas_shared",
                 "order_store"]  # fmt: skip
        for name in names:
            function = self.kernel(name)
            patterns = TWO_WAY if name.endswith("_one") else ADDRESSES
            for label, pattern in patterns.items():
                cell = d.alloc(4096)
                out = d.alloc(4096)
                d.fill(cell, 0, 4096)
                d.fill(out, 0, 4096)
                d.launch(function, (1,), (32,), (out, d.upload(pattern.astype(np.uint32)), cell))
                d.synchronize()
                self.found[f"{name}/{label}"] = {
                    "old": [int(v) for v in d.download(out, 32, np.uint32)],
                    "cell": [int(v) for v in d.download(cell, 64, np.uint32)],
                }

    def float_orders(self) -> dict[str, Words]:
        """Sums of random floats whose rounding shows the order of additions."""
        d = self.driver
        rng = np.random.default_rng(3)
        n = 64
        value = (rng.standard_normal(n * 32) * 10.0 ** rng.integers(-3, 4, n * 32))
        arrays: dict[str, Any] = {"value": value.astype(np.float32).view(np.uint32)}
        for label, pattern in ADDRESSES.items():
            lanes = d.upload((pattern % 32).astype(np.uint32))
            single = d.upload(value.astype(np.float32))
            double = d.upload(value)
            for name in ("order_redf_global", "order_addf_old_global", "order_addf_shared",
                         "order_addd_old_global"):  # fmt: skip
                words = 2 if "addd" in name else 1
                cell, out = d.alloc(n * 256), d.alloc(n * 256)
                d.fill(cell, 0, n * 256)
                function = self.kernel(name)
                source = double if words == 2 else single
                args = (source, lanes, cell) if "redf" in name else (out, source, lanes, cell)
                d.launch(function, (n,), (32,), args)
                d.synchronize()
                arrays[f"{name}_{label}_cell"] = d.download(cell, n * 32 * words, np.uint32)
                arrays[f"{name}_{label}_old"] = d.download(out, n * 32 * words, np.uint32)
        return arrays

    def shuffles(self) -> None:
        """Shuffles from lanes that do not execute."""
        stale = np.concatenate([(LANE % 3 != 0) * 1, 5000 + LANE])
        for name in ("shuffle_inactive", "shuffle_inactive_stale", "shuffle_exited"):
            function = self.kernel(name)
            self.note(name, lambda f=function: self.warp(f, stale))

    def bank_zero(self) -> None:
        """The driver's constant banks."""
        for bank in (0, 1, 2, 4, 5, 6, 7):
            cubin = build.patched(
                self.base, "read_bank", 0xB82 | 3 << 54, 0xFFF | 31 << 54, (54, 5, bank)
            )
            function = self.kernel("read_bank", cubin)
            words: list[int] = []
            n_words = 0x240 // 4 if bank == 0 else 64
            for first in range(0, n_words, 16):
                d = self.driver
                out = d.alloc(4096)
                d.launch(function, (3, 5, 7), (16, 2), (out, np.uint32(first)), shared=512)
                d.synchronize()
                words += [int(v) for v in d.download(out, 16, np.uint32)]
            self.found[f"bank_{bank}"] = words

    def uniform(self) -> None:
        """The lane that R2UR reads."""
        words = build.words(self.base, "uniform_of")
        at = next(i for i, w in enumerate(words) if w & 0xFFF == 0x424)  # @P0 IMAD R7, R0, R9, imm
        guarded = words[at] >> 12 & 0xF
        r2ur = 0x0000000000_0A_02CA | guarded << 12 | 0x000FE400000E0000 << 64
        r2ur = build.waiting(r2ur, 2) | words[at] & 0x3F << 121 - 5
        mov = 0x0000000A_00_07_0C02 | guarded << 12 | 0x000FE40008000F00 << 64
        stall = ~(0x1F << 105)
        nop = next(w for w in words if w & 0xFFF == 0x918)
        slow = [r2ur & stall | 15 << 105, nop, mov & stall | 15 << 105]
        new = [*words[:at], *slow, *words[at + 1 :]]
        cubin = build.with_words(self.base, "uniform_of", new[: len(words)])
        guarded_off = [w & ~(0xF << 12) | 7 << 12 if w & 0xFFF in (0x2CA, 0xC02) and i >= at else w
                       for i, w in enumerate(new)]  # fmt: skip
        cubin_all = build.with_words(self.base, "uniform_of", guarded_off[: len(words)])
        for label, pattern in TWO_WAY.items():
            given = np.concatenate([pattern, 9000 + LANE])
            for kind, data in (("guarded", cubin), ("unguarded", cubin_all)):
                function = self.kernel("uniform_of", data)
                self.note(
                    f"r2ur/{kind}/{label}", lambda f=function, g=given: self.warp(f, g, n_out=32)
                )

    def special_registers(self) -> None:
        """Values of special registers in a 2-D launch of 64-lane blocks."""
        for number in SPECIAL:
            cubin = build.patched(
                self.base, "special_register", 0x919 | 67 << 72, 0xFFF | 0xFF << 72,
                (72, 8, number),
            )  # fmt: skip
            out = self.driver.alloc(8192)
            function = self.kernel("special_register", cubin)
            self.driver.launch(function, (3, 2), (16, 4), (out,), 3000)
            self.driver.synchronize()
            values = self.driver.download(out, 384, np.uint32)
            self.found[f"sr_{number}"] = [int(v) for v in values]


def fchk_inputs() -> tuple[Words, Words]:
    """Pairs over all exponents, with three mantissas each and both signs of the dividend."""
    e = np.arange(256, dtype=np.uint32) << np.uint32(23)
    mantissas = np.array([0, 0x3FFFFF, 0x7FFFFF], np.uint32)
    one = (e[:, None] | mantissas).ravel()
    a, b = np.meshgrid(one, one, indexing="ij")
    return a.ravel().astype(np.uint32), b.ravel().astype(np.uint32)


def fchk(x: Experiments) -> npt.NDArray[np.uint8]:
    """FCHK's predicate over exponent pairs, one bit per pair."""
    words = build.words(x.base, "predicate_of")
    at = next(i for i, w in enumerate(words) if w & 0xFFF == 0x20B)
    old = words[at]
    new = 0x302 | old & 0xFFFFFFFF000000 | 7 << 12
    new |= old & 0x1FFFFF << 105
    new = build.signalling(new, 5)
    cubin = build.with_words(
        x.base,
        "predicate_of",
        [*words[:at], new, *[build.waiting(w, 5) for w in words[at + 1 :]]],
    )
    a, b = fchk_inputs()
    out = x.driver.alloc(4 * a.size)
    x.driver.launch(
        x.kernel("predicate_of", cubin), (a.size // 128,), (128,),
        (out, x.driver.upload(a), x.driver.upload(b)),
    )  # fmt: skip
    x.driver.synchronize()
    # SEL R, RZ, 1, P0: the stored word is 0 where the predicate is true
    return np.packbits((x.driver.download(out, a.size, np.uint32) == 0).astype(np.uint8))


def f2i(x: Experiments, edges: Words) -> dict[str, Words]:
    """F2I with and without its NTZ bit (bit 77), and each rounding."""
    arrays = {}
    source = x.driver.upload(edges)
    out = x.driver.alloc(4 * edges.size)
    for name in ("f2i_s32", "f2i_u32"):
        for ntz in (0, 1):
            cubin = build.patched(x.base, name, 0x305, 0xFFF, (77, 1, ntz))
            x.driver.launch(x.kernel(name, cubin), (edges.size // 128,), (128,), (out, source))
            x.driver.synchronize()
            arrays[f"{name}_ntz{ntz}"] = x.driver.download(out, edges.size, np.uint32)
    return arrays


def main() -> None:
    """Runs everything; what stops the context comes last."""
    session = Session.of_command_line(__doc__)
    from mufu import edge_inputs

    x = Experiments(session)
    edges = edge_inputs()
    arrays: dict[str, Any] = {"edges": edges}
    x.note("branches", x.branches)
    x.note("orders", x.orders)
    x.note("float", lambda: arrays.update(x.float_orders()))
    x.note("shuffles", x.shuffles)
    x.note("fchk", lambda: arrays.update(fchk=fchk(x)))
    x.note("f2i", lambda: arrays.update(f2i(x, edges)))
    x.note("uniform", x.uniform)
    x.note("bank_zero", x.bank_zero)
    session.save("semantics", **arrays)
    x.found["metadata"] = session.metadata()
    x.found["device"] = session.driver.describe()
    (session.out / "semantics.json").write_text(json.dumps(x.found))
    x.note("special", x.special_registers)
    (session.out / "semantics.json").write_text(json.dumps(x.found))


if __name__ == "__main__":
    main()
