"""CuPy: the CUDA runtime inside its modules is replaced by ours; kernels are NVRTC's, random
numbers as cuRAND's."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

from warplens.errors import Unsupported
from warplens.frontends import cupy_random
from warplens.frontends.frontend import Frontend
from warplens.frontends.runtime_inside import take_over

_PACKAGE = "cupy-cuda13x"
_WITH_KERNELS = ("cuda/cub", "cuda/thrust", "random/_generator_api")


def _prepare() -> None:
    """Before its import: replaces the runtime inside its modules, CUB's and Thrust's included."""
    others = [name for name in ("cupy-cuda12x", "cupy-cuda11x") if _is_installed(name)]
    if others:
        raise Unsupported(
            f"{others[0]} is not supported by the simulated driver",
            hint=f'pip uninstall {others[0]}; pip install "{_PACKAGE}>=14.2,<14.3"',
        )
    found = importlib.util.find_spec("cupy_backends")
    if found is None or found.submodule_search_locations is None:
        return
    folder = Path(next(iter(found.submodule_search_locations)))
    take_over(next((folder / "cuda" / "api").glob("runtime.*.so")))
    for name in _WITH_KERNELS:
        for path in (folder.parent / "cupy").glob(f"{name}.*.so"):
            take_over(path)
    _place_random()


def _place_random() -> None:
    """Ours in the place of the module that loads cuRAND's library."""
    module = cupy_random.stand_in()
    sys.modules[cupy_random.NAME] = module
    package, _, name = cupy_random.NAME.rpartition(".")
    setattr(importlib.import_module(package), name, module)


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


FRONTEND = Frontend(
    module="cupy", package=_PACKAGE, first="14.2", before="14.3", prepare=_prepare
)
