"""JAX's Pallas: kernels of programs on JAX's CPU build run on the simulated GPU, through Triton.

JAX lowers a Pallas kernel to Triton's IR on any machine; on one with a GPU its CUDA plug-in would
compile that and launch it. Here Triton from PyPI compiles it, and arrays are the host's. JAX's
other way to GPUs, Mosaic GPU, is the plug-in's own: a kernel that asks for it is refused, and one
that does not say goes through Triton, which is said once.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import json
import re
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import Unsupported
from warplens.frontends.frontend import Frontend, GiveDriver

_RANGE = re.compile(r"(:\d+:\d+) to [\d:]+\)")  # where an operation's text begins and ends
_PARTS = ("jax", "jax._src.interpreters.mlir", "jax._src.pallas.pallas_call",
          "jax._src.pallas.triton.core", "jax._src.pallas.triton.lowering")  # fmt: skip


@cache
def _compiled(text: str, sm: int, warps: int, stages: int) -> Any:
    """A kernel of Triton's IR, compiled."""
    triton: Any = importlib.import_module("triton")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", sm, 32)
    with tempfile.TemporaryDirectory(prefix="warplens-pallas-") as folder:
        path = Path(folder) / "kernel.ttir"
        path.write_text(text)
        options = {"num_warps": warps, "num_stages": stages}
        return triton.compile(str(path), target=target, options=options)


# Triton's compiled kernels need its modules when they end.
atexit.register(_compiled.cache_clear)


@cache
def _tell_once() -> None:
    print(
        "warplens: Pallas kernels go through Triton; on a GPU, JAX would take Mosaic GPU for those "
        "without `compiler_params`, which is other machine code",
        file=sys.stderr,
    )


def _run(
    text: str, grid: tuple[int, ...], launch: tuple[int, int, int], outputs: Any,
    aliases: tuple[tuple[int, int], ...], *inputs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Launches a kernel: JAX calls this with arrays of the host."""
    array: Any = importlib.import_module("warplens.frontends.triton").array
    given = [np.ascontiguousarray(one) for one in inputs]
    results = [np.zeros(one.shape, one.dtype) for one in outputs]
    for source, target in aliases:
        results[target][...] = given[source]
    shape = (*grid, 1, 1, 1)[:3]
    _compiled(text, *launch)[shape](*map(array, (*given, *results)))
    return tuple(results)


def _placed(text: str, jaxpr: Any) -> str:
    """The IR with the kernel's file: JAX gives lines to its operations, but not to its function."""
    debug = jaxpr.debug_info
    if not debug.func_filename:
        return text
    place = f"loc({json.dumps(debug.func_filename)}:{debug.func_lineno or 1}:0)"
    return _RANGE.sub(r"\1)", text.replace("loc(unknown)", place))


class _Lowering:
    """What JAX's CPU does with a Pallas kernel that is not to be interpreted."""

    def __init__(self, give_driver: GiveDriver) -> None:
        self._give_driver = give_driver
        self._jax, self._mlir, self._call, self._params, self._lowering = (
            importlib.import_module(name) for name in _PARTS
        )  # type: Any, Any, Any, Any, Any

    def __call__(self, ctx: Any, *nodes: Any, interpret: Any, **given: Any) -> Any:
        if interpret:
            return self._call._pallas_call_lowering(ctx, *nodes, interpret=interpret, **given)
        chosen = given["compiler_params"]
        if chosen is None:
            _tell_once()
            chosen = self._params.CompilerParams()
        if not isinstance(chosen, self._params.CompilerParams):
            raise Unsupported(
                f"a Pallas kernel with {type(chosen).__module__}.{type(chosen).__name__}",
                hint="Kernels run through Triton: jax.experimental.pallas.triton.CompilerParams().",
            )
        if importlib.util.find_spec("triton") is None:
            hint = 'pip install "warplens[pallas]"'
            raise Unsupported("Pallas kernels without Triton", hint=hint)
        sm = self._give_driver().gpus[0].spec.sm
        lowered = self._lowering.lower_jaxpr_to_triton_module(
            given["jaxpr"], given["grid_mapping"], "cuda", sm, mlir_ctx=ctx.module_context
        )
        text = _placed(lowered.module.operation.get_asm(enable_debug_info=True), given["jaxpr"])
        launch = (sm, chosen.num_warps or 4, chosen.num_stages or 3)
        shapes = [self._jax.ShapeDtypeStruct(one.shape, one.dtype) for one in ctx.avals_out]
        run = partial(_run, text, tuple(lowered.grid), launch, shapes,
                      tuple(given["input_output_aliases"]))  # fmt: skip
        called = partial(self._jax.pure_callback, run, tuple(shapes), vmap_method="sequential")
        return self._mlir.lower_fun(called, multiple_results=True)(ctx, *nodes)


def _activate(give_driver: GiveDriver) -> None:
    lowering = _Lowering(give_driver)
    primitive = importlib.import_module("jax._src.pallas.pallas_call").pallas_call_p
    importlib.import_module("jax._src.interpreters.mlir").register_lowering(
        primitive, lowering, platform="cpu"
    )


FRONTEND = Frontend(
    module="jax._src.pallas.pallas_call", package="jax", first="0.10", before="0.11",
    activate=_activate,
)  # fmt: skip
