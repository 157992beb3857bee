"""tinygrad's kernels of halves include CUDA's headers: pip's, where there is no toolkit."""

from __future__ import annotations

import importlib
import os
from typing import Any

from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.frontends.tinygrad import FRONTEND as TINYGRAD
from warplens.toolchain.packages import include_dirs

MODULE = "tinygrad.runtime.support.compiler_cuda"


def _name_headers(_: GiveDriver) -> None:
    """Its variable names a toolkit here, once the driver's library was looked up by it.

    Processes that tinygrad starts to compile in read it from the environment.
    """
    importlib.import_module("tinygrad.runtime.autogen.cuda")
    module: Any = importlib.import_module(MODULE)
    module.CUDA_PATH = os.environ["CUDA_PATH"] = str(include_dirs()[0].parent)


FRONTEND = Frontend(
    module=MODULE, package=TINYGRAD.package, first=TINYGRAD.first, before=TINYGRAD.before,
    activate=_name_headers,
)  # fmt: skip
