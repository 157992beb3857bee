"""A simulated GPU for everything in this process that uses CUDA's driver.

Importing this package puts the simulated driver in place: an H200, or the GPU named by the
environment variable WARPLENS_GPU. The package can be called: `with warplens.cuda("A100") as gpu:`
names the GPU and collects the launches of the block in `gpu.launches`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from warplens.cuda.gpu import Gpu, Profile, choose, prepare, profile, simulated, usual_gpus
from warplens.driver.machine import Driver
from warplens.frontends.watch import watch
from warplens.gpus.spec import GpuSpec
from warplens.libcuda import place

__all__ = ["Gpu", "Profile", "choose", "prepare", "profile", "simulated"]


class _Callable(ModuleType):
    """This package, which can be called."""

    def __call__(self, *gpus: str | GpuSpec, **options: Any) -> Gpu:
        return simulated(*gpus, **options)


if not place.is_in_place():
    place.put_in_place(lambda: Driver(usual_gpus()))
    watch(place.driver)
sys.modules[__name__].__class__ = _Callable
