"""The Python API by its names of version 0.1; `import warplens` has the ones that matter."""

from warplens.execute.executable import LaunchShape
from warplens.session.configured import ConfiguredKernel
from warplens.session.device import Device
from warplens.session.kernel import Kernel
from warplens.session.launch import Launch
from warplens.session.module import Module
from warplens.session.options import LaunchOptions
from warplens.timing.pm_sampling import PmSampling

__all__ = [
    "ConfiguredKernel",
    "Device",
    "Kernel",
    "Launch",
    "LaunchOptions",
    "LaunchShape",
    "Module",
    "PmSampling",
]
