"""cuda.core: compile, allocate, launch, copy."""

import numpy as np
from cuda.core import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)

SOURCE = 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }'
device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
kernel = Program(SOURCE, "c++", options=options).compile("cubin").get_kernel("twice")
host = LegacyPinnedMemoryResource().allocate(128, stream=stream)
values = np.from_dlpack(host).view(np.int32)
values[:] = np.arange(32)
memory = device.allocate(128, stream=stream)
memory.copy_from(host, stream=stream)
launch(stream, LaunchConfig(grid=1, block=32), kernel, memory)
memory.copy_to(host, stream=stream)
stream.sync()
assert (values == 2 * np.arange(32)).all()
