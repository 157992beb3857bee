"""A card whose answers follow from constants, as clocks and events of a GPU would give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

EMPTY_NS = 5000.0


class MadeUpCard:
    """Answers launches of calibrate/kernels.cu with the times of given constants, and those of
    held.cu with a millisecond."""

    def __init__(self, constants: dict[str, float], name: str = "NVIDIA H200") -> None:
        self.constants = constants
        self.name = name
        self.capability = (9, 0)
        self.attributes = {
            "counts.sm": 132, "clock.boost_mhz": 1980.0, "clock.memory_mhz": 3201.0,
            "dram.bus_bits": 6144, "l2.size_bytes": 60 << 20, "dram.size_bytes": 141 << 30,
        }  # fmt: skip
        self.memory: dict[int, np.ndarray] = {}
        self.launched: list[str] = []
        self._next = 1 << 32

    def load(self, cubin: bytes) -> None:
        assert cubin[:4] == b"\x7fELF"

    def alloc(self, size: int) -> int:
        self._next += size + 256
        return self._next

    def write(self, address: int, values: np.ndarray) -> None:
        pass

    def read(self, address: int, count: int, dtype: Any) -> np.ndarray:
        return np.resize(self.memory[address], count).astype(dtype)

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], *args: Any) -> float:
        self.launched.append(name)
        c = self.constants
        cycles = {
            "chase_l1": c["latency.l1_hit"] + 2, "chase_l2": c["latency.l2_hit"],
            "chase_once": c["latency.dram"], "chase_shared": c["latency.shared"],
        }  # fmt: skip
        if name in cycles:
            out, steps = args[-2:]
            self.memory[out] = np.array([cycles[name] * float(steps)])
        if name.startswith("busy"):
            key = "clock.tensor_mhz" if name == "busy_product" else "clock.boost_mhz"
            self.memory[args[0]] = np.array([c[key] * 1000.0, 1e6])
        return EMPTY_NS + self._stream_ns(name, args)

    def _stream_ns(self, name: str, args: tuple[Any, ...]) -> float:
        c = self.constants
        if name == "stream_again":
            count, turns = args[-2:]
            rate = c["l2.read_bytes_per_cycle"] * c["clock.boost_mhz"]
            return 0.682 * 16e3 * count * turns / rate
        kind = name.removeprefix("stream_")
        if kind not in ("read", "write", "copy"):
            return 0.0 if name == "nothing" else 1e6
        moved = 16e9 * args[-1] * (2 if kind == "copy" else 1)
        return moved / (4.8e12 * c[f"dram.{kind}_fraction"])


