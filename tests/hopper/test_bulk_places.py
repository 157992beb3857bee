"""Bulk copies of arrays that stand anywhere in the host's memory."""

import numpy as np
import pytest

import warplens as wl

_SOURCE = r"""
extern "C" __global__ void through_shared(const unsigned *a, unsigned *o) {
  __shared__ alignas(16) unsigned row[256];
  __shared__ unsigned long long bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  unsigned r = (unsigned)__cvta_generic_to_shared(row);
  if (!threadIdx.x) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b));
    asm volatile("fence.proxy.async;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" :: "r"(b));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], 1024, [%2];" :: "r"(r), "l"(a), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L;}"
               :: "r"(b) : "memory");
  row[threadIdx.x] += 1;
  asm volatile("fence.proxy.async;");
  __syncthreads();
  if (!threadIdx.x) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
                 :: "l"(o), "r"(r) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
"""


@pytest.mark.parametrize("offset", [0, 1, 4, 8])
def test_an_array_need_not_begin_at_a_multiple_of_sixteen_bytes_of_the_host(offset):
    """A view into a file's bytes, say: the device's address is aligned, the host's is not."""
    kernel = wl.Device("H200").compile(_SOURCE)["through_shared"]
    values = np.arange(256, dtype=np.uint32) * 3
    read = np.zeros(1024 + 16, np.uint8)[offset : offset + 1024].view(np.uint32)
    read[:] = values
    written = np.zeros(1024 + 16, np.uint8)[offset : offset + 1024].view(np.uint32)
    assert read.ctypes.data % 16 == offset % 16
    kernel[1, 256](read, written)
    np.testing.assert_array_equal(written, values + 1)
