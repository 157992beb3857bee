"""What a device, its modules and its kernels share: GPU, clock, options and memory."""

from __future__ import annotations

from warplens.execute.memory import DeviceMemory
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.session.options import LaunchOptions


class Target:
    """A simulated GPU that modules are loaded into; `Device` adds compiling and loading."""

    def __init__(
        self,
        name: str | GpuSpec,
        *,
        clock: str | float,
        options: LaunchOptions | None,
        memory: DeviceMemory | None = None,
    ) -> None:
        self.gpu = find_gpu(name)
        self.clock_mhz = self.gpu.clock_mhz(clock)
        self.options = options or LaunchOptions()
        self.memory = DeviceMemory() if memory is None else memory

    @property
    def name(self) -> str:
        """The GPU's name."""
        return self.gpu.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gpu.name!r}, clock={self.clock_mhz:g})"
