"""Loaded code: modules and libraries, their functions and variables."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from warplens.driver.attributes import FunctionAttribute
from warplens.driver.cells import served_caller
from warplens.driver.images import Code
from warplens.driver.machine import Driver, SimulatedGpu
from warplens.driver.status import DriverError, Status
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel

if TYPE_CHECKING:
    from warplens.sass.model import SassKernel
    from warplens.session.configured import ConfiguredKernel
    from warplens.session.kernel import Kernel
    from warplens.session.module import Module

DEFAULT_SHARED = 49152


@dataclass(slots=True, eq=False)
class LoadedModule:
    """A module on a GPU; a library is one as well."""

    number: int
    gpu: SimulatedGpu
    module: Module
    functions: dict[str, int] = field(default_factory=dict)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels' mangled names."""
        return tuple(names.mangled for names in self.module.names)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Function:
    """A kernel of a module; the kernel of a library is one as well."""

    number: int
    module: LoadedModule
    name: str
    sass: SassKernel
    attributes: dict[int, int] = field(default_factory=dict)
    lifted: Kernel | None = None
    configured: dict[Hashable, ConfiguredKernel] = field(default_factory=dict)

    @property
    def kernel(self) -> Kernel:
        """The kernel, lifted when first needed."""
        if self.lifted is None:
            self.lifted = self.module.module[self.name]
        return self.lifted

    def resident_blocks(self, block: int | tuple[int, int, int], dynamic_shared: int) -> int:
        """Blocks of that shape that fit on an SM."""
        spec = self.module.gpu.spec
        return int(occupancy_of_kernel(self.sass, spec, block, dynamic_shared).blocks)

    @property
    def most_dynamic_shared(self) -> int:
        """Dynamic shared memory that a launch may ask for."""
        usual = max(0, DEFAULT_SHARED - self.sass.static_shared)
        return self.attributes.get(FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, usual)

    @property
    def most_cluster_blocks(self) -> int:
        """Blocks that a cluster of this kernel may have."""
        spec = self.module.gpu.spec
        may = self.attributes.get(FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
        return spec.cluster_blocks_max if may else spec.cluster_blocks_portable

    @property
    def most_threads(self) -> int:
        """Threads of a block that its registers and launch bounds allow."""
        spec = self.module.gpu.spec
        bound = spec.max_threads_per_block
        if self.sass.max_threads is not None:
            bound = min(bound, prod(self.sass.max_threads))
        unit = spec.register_unit
        per_warp = -(-max(self.sass.registers, 1) * spec.warp_size // unit) * unit
        return min(bound, spec.registers_per_block // per_warp * spec.warp_size)


def load(driver: Driver, gpu: SimulatedGpu, code: Code) -> int:
    """Loads machine code; gives the module's handle."""
    from warplens.execute import host_code
    from warplens.session.module import Module  # with it comes all that runs kernels
    from warplens.toolchain.cubin import read_cubin

    if b".nv.host" in code.cubin and served_caller() is None:
        host_code.trust(read_cubin(code.cubin).host_code)  # who asks runs in this process already
    module = LoadedModule(0, gpu, Module(gpu.device, cubin=code.cubin, shipped=code.ptx))
    module.number = driver.handle(module)
    return module.number


def unload(driver: Driver, handle: int) -> None:
    """Ends a module and its functions."""
    module = driver.forget(handle, LoadedModule)
    for function in module.functions.values():
        driver.forget(function, Function)


def function_of(driver: Driver, module: LoadedModule, name: str) -> int:
    """The handle of a module's kernel.

    Raises:
        DriverError: the module has no kernel of that mangled name.
    """
    if name not in module.functions:
        if name not in module.kernel_names:
            raise DriverError(Status.CUDA_ERROR_NOT_FOUND, f"there is no kernel {name!r}")
        function = Function(0, module, name, module.module.sass(name))
        function.number = driver.handle(function)
        module.functions[name] = function.number
    return module.functions[name]


def variable_of(module: LoadedModule, name: str) -> tuple[int, int]:
    """Address and size of a module's variable."""
    image = module.module.images[0]
    symbol = image.kernels.cubin.symbols.get(name)
    address = image.variables.addresses.get(name)
    if symbol is None or address is None:
        raise DriverError(Status.CUDA_ERROR_NOT_FOUND, f"there is no variable {name!r}")
    return address, symbol.size


def attribute_of(function: Function, attribute: int) -> int:
    """What cuFuncGetAttribute tells."""
    sass, spec = function.sass, function.module.gpu.spec
    cluster = sass.cluster or (0, 0, 0)
    known = {
        FunctionAttribute.MAX_THREADS_PER_BLOCK: function.most_threads,
        FunctionAttribute.SHARED_SIZE_BYTES: sass.static_shared,
        FunctionAttribute.CONST_SIZE_BYTES: len(
            function.module.module.images[0].kernels.cubin.constant3
        ),
        FunctionAttribute.LOCAL_SIZE_BYTES: sass.local_bytes,
        FunctionAttribute.NUM_REGS: sass.registers,
        FunctionAttribute.PTX_VERSION: sass.sm,
        FunctionAttribute.BINARY_VERSION: sass.sm,
        FunctionAttribute.CACHE_MODE_CA: 0,
        FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES: function.most_dynamic_shared,
        FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT: -1,
        FunctionAttribute.CLUSTER_SIZE_MUST_BE_SET: int(sass.cluster is not None),
        FunctionAttribute.REQUIRED_CLUSTER_WIDTH: cluster[0],
        FunctionAttribute.REQUIRED_CLUSTER_HEIGHT: cluster[1],
        FunctionAttribute.REQUIRED_CLUSTER_DEPTH: cluster[2],
        FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED: 0,
        FunctionAttribute.CLUSTER_SCHEDULING_POLICY_PREFERENCE: 0,
    }
    if attribute not in known:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"function attribute {attribute}")
    if attribute == FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return min(known[FunctionAttribute(attribute)], spec.shared_per_block_optin_bytes)
    return function.attributes.get(attribute, known[FunctionAttribute(attribute)])


def set_attribute(function: Function, attribute: int, value: int) -> None:
    """What cuFuncSetAttribute changes."""
    spec = function.module.gpu.spec
    writable = (
        FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES,
        FunctionAttribute.PREFERRED_SHARED_MEMORY_CARVEOUT,
        FunctionAttribute.REQUIRED_CLUSTER_WIDTH,
        FunctionAttribute.REQUIRED_CLUSTER_HEIGHT,
        FunctionAttribute.REQUIRED_CLUSTER_DEPTH,
        FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
        FunctionAttribute.CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    )
    if attribute not in writable:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"attribute {attribute} is fixed")
    most = spec.shared_per_block_optin_bytes - function.sass.static_shared
    is_shared = attribute == FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    if is_shared and not 0 <= value <= most:
        raise DriverError(
            Status.CUDA_ERROR_INVALID_VALUE,
            f"{value} bytes of dynamic shared memory; {spec.name} allows {most} here",
        )
    function.attributes[attribute] = value
