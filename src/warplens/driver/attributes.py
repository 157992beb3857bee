"""What devices and functions say of themselves; names and numbers are those of cuda.h."""

from __future__ import annotations

from enum import IntEnum

from warplens.driver.machine import SimulatedGpu
from warplens.driver.status import DriverError, Status


class DeviceAttribute(IntEnum):
    """The attributes of CUdevice_attribute that have a value other than 0 here."""

    MAX_THREADS_PER_BLOCK = 1
    MAX_BLOCK_DIM_X = 2
    MAX_BLOCK_DIM_Y = 3
    MAX_BLOCK_DIM_Z = 4
    MAX_GRID_DIM_X = 5
    MAX_GRID_DIM_Y = 6
    MAX_GRID_DIM_Z = 7
    MAX_SHARED_MEMORY_PER_BLOCK = 8
    TOTAL_CONSTANT_MEMORY = 9
    WARP_SIZE = 10
    MAX_PITCH = 11
    MAX_REGISTERS_PER_BLOCK = 12
    CLOCK_RATE = 13
    TEXTURE_ALIGNMENT = 14
    GPU_OVERLAP = 15
    MULTIPROCESSOR_COUNT = 16
    CAN_MAP_HOST_MEMORY = 19
    SURFACE_ALIGNMENT = 30
    CONCURRENT_KERNELS = 31
    PCI_BUS_ID = 33
    PCI_DEVICE_ID = 34
    MEMORY_CLOCK_RATE = 36
    GLOBAL_MEMORY_BUS_WIDTH = 37
    L2_CACHE_SIZE = 38
    MAX_THREADS_PER_MULTIPROCESSOR = 39
    ASYNC_ENGINE_COUNT = 40
    UNIFIED_ADDRESSING = 41
    TEXTURE_PITCH_ALIGNMENT = 51
    COMPUTE_CAPABILITY_MAJOR = 75
    COMPUTE_CAPABILITY_MINOR = 76
    STREAM_PRIORITIES_SUPPORTED = 78
    GLOBAL_L1_CACHE_SUPPORTED = 79
    LOCAL_L1_CACHE_SUPPORTED = 80
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82
    MANAGED_MEMORY = 83
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87
    CONCURRENT_MANAGED_ACCESS = 89
    COMPUTE_PREEMPTION_SUPPORTED = 90
    COOPERATIVE_LAUNCH = 95
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    HOST_REGISTER_SUPPORTED = 99
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111
    MEMORY_POOLS_SUPPORTED = 115
    CLUSTER_LAUNCH = 120
    MAX_PERSISTING_L2_CACHE_SIZE = 108
    MAX_ACCESS_POLICY_WINDOW_SIZE = 109
    TENSOR_MAP_ACCESS_SUPPORTED = 127
    NUMA_ID = 131
    HOST_NUMA_ID = 134


# The largest textures and surfaces, by number of the attribute: an H200's (own_programs_sm90.json),
# and the CUDA C++ Programming Guide's of every compute capability.
_LARGEST = {
    21: 131072, 22: 131072, 23: 65536, 24: 16384, 25: 16384, 26: 16384, 27: 32768, 28: 32768,
    29: 2048, 42: 32768, 43: 2048, 45: 32768, 46: 32768, 47: 8192, 48: 8192, 49: 32768,
    52: 32768, 53: 32768, 54: 2046, 55: 32768, 56: 131072, 57: 65536, 58: 16384, 59: 16384,
    60: 16384, 61: 32768, 62: 2048, 63: 32768, 64: 32768, 65: 2048, 66: 32768, 67: 32768,
    68: 2046, 69: 268435456, 70: 131072, 71: 65000, 72: 2097120, 73: 32768, 74: 32768, 77: 32768,
}  # fmt: skip
MOST_ATTRIBUTE = 162  # CU_DEVICE_ATTRIBUTE_MAX


class FunctionAttribute(IntEnum):
    """CUfunction_attribute."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    CACHE_MODE_CA = 7
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9
    CLUSTER_SIZE_MUST_BE_SET = 10
    REQUIRED_CLUSTER_WIDTH = 11
    REQUIRED_CLUSTER_HEIGHT = 12
    REQUIRED_CLUSTER_DEPTH = 13
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15


def device_attributes(gpu: SimulatedGpu) -> dict[int, int]:
    """Every attribute of a GPU that is not 0; 0 stands for what it cannot do here."""
    spec, a = gpu.spec, DeviceAttribute
    per_double = spec.fp32_lanes // spec.fp64_lanes if spec.fp64_lanes else 64
    return {
        **_LARGEST,
        a.MAX_PERSISTING_L2_CACHE_SIZE: int(spec.value("l2.persisting_bytes", 0)),
        a.MAX_ACCESS_POLICY_WINDOW_SIZE: int(spec.value("l2.window_bytes", 0)),
        a.MAX_THREADS_PER_BLOCK: spec.max_threads_per_block,
        a.MAX_BLOCK_DIM_X: spec.max_block_x,
        a.MAX_BLOCK_DIM_Y: spec.max_block_y,
        a.MAX_BLOCK_DIM_Z: spec.max_block_z,
        a.MAX_GRID_DIM_X: spec.max_grid_x,
        a.MAX_GRID_DIM_Y: spec.max_grid_y,
        a.MAX_GRID_DIM_Z: spec.max_grid_z,
        a.MAX_SHARED_MEMORY_PER_BLOCK: spec.shared_per_block_bytes,
        a.TOTAL_CONSTANT_MEMORY: 65536,
        a.WARP_SIZE: spec.warp_size,
        a.MAX_PITCH: 2**31 - 1,
        a.MAX_REGISTERS_PER_BLOCK: spec.registers_per_block,
        a.CLOCK_RATE: int(gpu.clock_mhz * 1000),
        a.TEXTURE_ALIGNMENT: 512,
        a.GPU_OVERLAP: 1,
        a.MULTIPROCESSOR_COUNT: spec.sm_count,
        a.CAN_MAP_HOST_MEMORY: 1,
        a.SURFACE_ALIGNMENT: 512,
        a.CONCURRENT_KERNELS: 1,
        a.PCI_BUS_ID: 1 + gpu.index,
        a.MEMORY_CLOCK_RATE: int(spec.memory_clock_mhz * 1000),
        a.GLOBAL_MEMORY_BUS_WIDTH: spec.dram_bus_bits,
        a.L2_CACHE_SIZE: spec.l2_size_bytes,
        a.MAX_THREADS_PER_MULTIPROCESSOR: spec.max_threads_per_sm,
        a.ASYNC_ENGINE_COUNT: 2,
        a.UNIFIED_ADDRESSING: 1,
        a.TEXTURE_PITCH_ALIGNMENT: 32,
        a.COMPUTE_CAPABILITY_MAJOR: spec.sm // 10,
        a.COMPUTE_CAPABILITY_MINOR: spec.sm % 10,
        a.STREAM_PRIORITIES_SUPPORTED: 1,
        a.GLOBAL_L1_CACHE_SUPPORTED: 1,
        a.LOCAL_L1_CACHE_SUPPORTED: 1,
        a.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: spec.shared_per_sm_bytes,
        a.MAX_REGISTERS_PER_MULTIPROCESSOR: spec.registers_per_sm,
        a.MANAGED_MEMORY: 1,
        a.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: per_double,
        a.CONCURRENT_MANAGED_ACCESS: 1,
        a.COMPUTE_PREEMPTION_SUPPORTED: 1,
        a.COOPERATIVE_LAUNCH: 1,
        a.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: spec.shared_per_block_optin_bytes,
        a.HOST_REGISTER_SUPPORTED: 1,
        a.VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: 1,
        a.MAX_BLOCKS_PER_MULTIPROCESSOR: spec.max_blocks_per_sm,
        a.RESERVED_SHARED_MEMORY_PER_BLOCK: spec.shared_reserved_bytes,
        a.MEMORY_POOLS_SUPPORTED: 1,
        a.CLUSTER_LAUNCH: int(spec.cluster_blocks_max > 1),
        a.TENSOR_MAP_ACCESS_SUPPORTED: int(spec.sm >= 90),
        a.NUMA_ID: -1,
        a.HOST_NUMA_ID: -1,
    }


def device_attribute(gpu: SimulatedGpu, attribute: int) -> int:
    """One attribute of a GPU.

    Raises:
        DriverError: there is no attribute of that number.
    """
    if not 1 <= attribute < MOST_ATTRIBUTE:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"device attribute {attribute}")
    return device_attributes(gpu).get(attribute, 0)
