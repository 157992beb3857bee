"""Kernels with BREAK are compiled by the optimising tier too."""

from __future__ import annotations

import llvmlite.binding as llvm

from warplens import Device
from warplens.execute.program import host_features
from warplens.lift.lifter import lift

# Compiled switches inside of a loop leave its convergence region by BREAK.
SOURCE = """
extern "C" __global__ void breaks(int* out, const int* in, int n) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    switch (in[i] & 7) {
      case 0: __pipeline_wait(0); sum += 3; break;
      case 1: __pipeline_wait(1); sum ^= 5; break;
      case 2: __pipeline_wait(2); sum *= 7; break;
      case 3: __pipeline_wait(3); sum -= i; break;
      default: __pipeline_wait(4); sum += i; break;
    }
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}
"""
WAIT = """
__device__ __forceinline__ void __pipeline_wait(int n) {
  switch (n) {
    case 0: asm volatile("cp.async.wait_group 0;"); break;
    case 1: asm volatile("cp.async.wait_group 1;"); break;
    case 2: asm volatile("cp.async.wait_group 2;"); break;
    case 3: asm volatile("cp.async.wait_group 3;"); break;
    default: asm volatile("cp.async.wait_group 4;"); break;
  }
}
"""


def test_blocks_behind_break_are_written() -> None:
    """Every place that the code goes to exists: LLVM takes the text."""
    module = Device("H200").compile(WAIT + SOURCE)
    sass = module.sass("breaks")
    assert any(inst.opcode == "BREAK" for inst in sass.instructions)
    lifted = lift(sass, host_features(), False, tier=1)
    llvm.parse_assembly(lifted.ir)
