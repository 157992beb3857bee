"""Arguments and launch shapes that a GPU would refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

import warplens as wl
from tests.bad_input.cases import bad, ints, launch, module

PAIR = np.zeros((), np.dtype([("a", "i4"), ("b", "f4")]))[()]


def scalars(**changed: Any) -> Any:
    """A launch of `scalars` with some arguments replaced."""
    values = {"out": ints(), "i": 1, "u": 2, "f": 3.0, "d": 4.0, "c": 5, "l": 6, "b": True,
              "pair": PAIR}  # fmt: skip
    return lambda: module()["scalars"][1, 1](*{**values, **changed}.values())


for _count in (0, 1, 2, 4, 9):
    bad(f"argument_count_{_count}", wl.ArgumentError, f"3 arguments, {_count}",
        launch("good", *[ints()] * _count))  # fmt: skip

for _name, _value in {
    "out": 1.5, "i": 1.5, "u": -1, "l": 2**63, "c": 300, "f": "text", "d": [1.0], "b": "yes",
    "pair": 7,
}.items():  # fmt: skip
    _place = ["out", "i", "u", "f", "d", "c", "l", "b", "pair"].index(_name)
    bad(f"argument_{_name}_{_value!r}", wl.ArgumentError, f"parameter {_place}",
        scalars(**{_name: _value}))  # fmt: skip
for _name, _value in {
    "i": 2**31, "u": 2**32, "c": -200, "l": -(2**63) - 1, "f": 1e300, "pair": b"abc",
    "out": "array", "d": ints(), "i ": None,
}.items():  # fmt: skip
    _place = ["out", "i", "u", "f", "d", "c", "l", "b", "pair"].index(_name.strip())
    bad(f"argument_again_{_name}_{_value!r:.9}", wl.ArgumentError, f"parameter {_place}",
        scalars(**{_name.strip(): _value}))  # fmt: skip

bad("array_of_floats_for_ints", wl.ArgumentError, "parameter 0, float32",
    launch("good", np.zeros(64, np.float32), ints(), 64))  # fmt: skip
bad("array_of_longs_for_ints", wl.ArgumentError, "parameter 1, int64",
    launch("good", ints(), np.zeros(64, np.int64), 64))  # fmt: skip
bad("array_of_objects", wl.ArgumentError, "object",
    launch("good", np.array([None] * 64), ints(), 64))  # fmt: skip
bad("array_of_other_byte_order", wl.ArgumentError, "order",
    launch("good", np.zeros(64, ">i4"), ints(), 64))  # fmt: skip
bad("number_for_array", wl.ArgumentError, "parameter 0", launch("good", 1.0, ints(), 64))
bad("array_for_number", wl.ArgumentError, "parameter 2", launch("good", ints(), ints(), ints()))
bad("nan_for_int", wl.ArgumentError, "parameter 2", launch("good", ints(), ints(), float("nan")))


def _freed() -> Any:
    array = module().device.to_device(ints())
    array.free()
    return module()["good"][1, 32](array, ints(), 32)


def _foreign() -> Any:
    return module()["good"][1, 32](wl.Device("H200").to_device(ints()), ints(), 32)


bad("freed_array_as_argument", wl.ArgumentError, "freed", _freed)
bad("array_of_another_device", wl.ArgumentError, "another device", _foreign)

GOOD = (ints(), ints(), 64)
for _block in (1025, 2048, (32, 33), (16, 16, 5), (1, 1, 65), (1, 2000, 1), 0, -1, (32, 0)):
    bad(f"block_{_block}", wl.LaunchError, "block", launch("good", *GOOD, block=_block))
for _grid in (0, -3, (1, 65536), (1, 1, 65536), 2**31, (4, 0, 1)):
    bad(f"grid_{_grid}", wl.LaunchError, "grid", launch("good", *GOOD, grid=_grid))
for _odd in ((1, 2, 3, 4), "32", 1.5, None, ()):
    bad(f"block_odd_{_odd!r}", wl.InputError, "block", launch("good", *GOOD, block=_odd))
    bad(f"grid_odd_{_odd!r}", wl.InputError, "grid", launch("good", *GOOD, grid=_odd))
for _bytes in (101 * 1024, 10**9, -4, 1.5):
    bad(f"dynamic_shared_{_bytes}", wl.LaunchError, "shared",
        launch("good", *GOOD, shared=_bytes))  # fmt: skip
bad("static_and_dynamic_shared", wl.LaunchError, "shared, static, dynamic",
    launch("big_static", ints(), shared=80000))  # fmt: skip
bad("launch_bounds", wl.LaunchError, "bounded, 96, 64", launch("bounded", ints(), block=96))
bad("no_grid_and_block", wl.LaunchError, "grid", lambda: module()["good"](*GOOD))
bad("only_a_grid", wl.InputError, "block", lambda: module()["good"][1](*GOOD))
bad("six_settings", wl.InputError, "grid", lambda: module()["good"][1, 1, 0, 0, 1, 0](*GOOD))
bad("no_cluster", wl.LaunchError, "positive", lambda: module()["good"][1, 1, 0, 0, 0](*GOOD))
bad("old_cluster", wl.LaunchError, "clusters", lambda: module()["good"][2, 1, 0, 0, 2](*GOOD))
