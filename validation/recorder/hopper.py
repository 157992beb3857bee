"""Records what Hopper's instructions give one by one (`hopper_cases.py`), from compiled units.

`python hopper.py --build CUBINS` compiles; `python hopper.py CUBINS OUT` needs a GPU and NumPy.
"""

from __future__ import annotations

import ctypes as ct
import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from build import Nvrtc
from cuda_driver import Array, CudaError, Driver
from hopper_cases import Case, Filter, Map, cases
from session import Session, sha256


def encode(driver: Driver, given: Map, address: int) -> Any:
    """The driver's tensor map of a tensor at an address, as a kernel's argument."""
    words = (ct.c_uint64 * 32)()
    place = ct.addressof(words) + -ct.addressof(words) % 64
    rank = len(given.sizes)
    sizes = (ct.c_uint64 * rank)(*given.sizes)
    strides = (ct.c_uint64 * rank)(*given.strides)
    steps = (ct.c_uint32 * rank)(*given.steps)
    common = [ct.c_int(n) for n in (given.interleave, given.swizzle, 0, given.fill)]
    start = (ct.c_void_p(place), ct.c_int(given.kind), ct.c_uint(rank), ct.c_void_p(address), sizes,
             strides)  # fmt: skip
    if given.corners is None:
        box = (ct.c_uint32 * rank)(*given.box)
        driver._call("cuTensorMapEncodeTiled", *start, box, steps, *common)
    else:
        lower, upper = ((ct.c_int * (rank - 2))(*corner) for corner in given.corners)
        driver._call(
            "cuTensorMapEncodeIm2col", *start, lower, upper, ct.c_uint(given.channels),
            ct.c_uint(given.pixels), steps, *common,
        )  # fmt: skip
    return (ct.c_uint64 * 16).from_buffer_copy(ct.string_at(place, 128))


def texture(driver: Driver, given: Filter, address: int) -> ct.c_uint64:
    """A texture object over rows of device memory, as a kernel's argument."""
    resource = struct.pack("<ii", 3, 0)  # CU_RESOURCE_TYPE_PITCH2D
    shape = given.width, given.height, given.width * given.texel_bytes
    resource += struct.pack("<QiIQQQ", address, given.format, given.channels, *shape)
    resource = resource.ljust(136, b"\0")
    view = struct.pack("<3iiIIifff4f12i", *[given.mode] * 3, int(given.is_linear), given.flags,
                       *[0] * 21)  # fmt: skip
    handle = ct.c_uint64()
    driver._call("cuTexObjectCreate", ct.byref(handle), ct.c_char_p(resource + bytes(8)),
                 ct.c_char_p(view), None)  # fmt: skip
    return handle


def arguments_of(driver: Driver, case: Case) -> tuple[list[Any], dict[int, Any]]:
    """The arguments of a launch, and device copies of its arrays."""
    buffers = {k: driver.upload(array) for k, array in case.hidden.items()}
    arguments: list[Any] = []
    for i, given in enumerate(case.arguments):
        if isinstance(given, Map):
            arguments.append(encode(driver, given, buffers[given.array].value))
        elif isinstance(given, Filter):
            arguments.append(texture(driver, given, buffers[given.array].value))
        elif isinstance(given, np.ndarray):
            buffers[i] = driver.upload(given)
            arguments.append(buffers[i])
        else:
            arguments.append(given)
    return arguments, buffers


def run(driver: Driver, module: Any, case: Case) -> list[Array]:
    """One launch; the arrays that it leaves."""
    arguments, buffers = arguments_of(driver, case)
    function = driver.function(module, case.kernel)
    if case.shared > 48 << 10:
        driver.set_dynamic_shared(function, case.shared)
    driver.launch(function, case.blocks, (case.block,), tuple(arguments), case.shared)
    driver.synchronize()
    found = []
    for k in case.kept:
        array = case.hidden[k] if k in case.hidden else case.arguments[k]
        found.append(driver.download(buffers[k], array.size, array.dtype).reshape(array.shape))
    driver.free_all()
    return found


def build(folder: Path, sources: Mapping[str, str]) -> None:
    """Compiles units, texts by name, for sm_90a."""
    folder.mkdir(parents=True, exist_ok=True)
    nvrtc, digests = Nvrtc(), {}
    for name, text in sources.items():
        cubin = nvrtc.compile(text, f"{name}.cu", ("-arch=sm_90a", "-default-device"))
        (folder / f"{name}.cubin").write_bytes(cubin)
        digests[name] = sha256(cubin)
    (folder / "manifest.json").write_text(
        json.dumps({"nvrtc": nvrtc.version, "arch": "sm_90a", "sha256": digests})
    )


def main() -> None:
    """Compiles, or runs every case and keeps what it left."""
    if sys.argv[1] == "--build":
        from hopper_units import sources

        build(Path(sys.argv[2]), sources())
        return
    session = Session.of_command_line(__doc__)
    driver, modules, arrays, failed = session.driver, {}, {}, []
    for case in cases():
        try:
            print(case.name, flush=True)
            if case.unit not in modules:
                modules[case.unit] = driver.load(session.cubin(case.unit))
            for i, array in enumerate(run(driver, modules[case.unit], case)):
                arrays[f"{case.name}/{i}"] = array
        except CudaError as error:
            failed.append(f"{case.name}: {error}")
            print(failed[-1])
    session.save("hopper_sm90", failed=np.array(failed, "U"), **arrays)
    print(len(arrays), "arrays,", len(failed), "launches failed")


if __name__ == "__main__":
    main()
