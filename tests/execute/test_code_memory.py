"""Machine code stays in reach of its constants, however scattered the free address space is."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Free space near the top of the mapping area shrinks to one hole that the code fits into but the
# constants do not; the next free space lies 4 GiB further down.
_SCATTERED = """
import ctypes
from warplens.lift import jit
from warplens.lift.engines.host import host_features

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PIECE, PRIVATE_ANONYMOUS_NORESERVE = 1 << 20, 0x4022
CODE = '''
@table = internal constant [2097152 x i8] zeroinitializer
define internal i32 @wl.more(i32 %x, i32 %n) noinline {{
  %y = add i32 %x, %n
  ret i32 %y
}}

define i32 @region0(ptr %w, ptr %env) {{
  %i = load i64, ptr %w
  %p = getelementptr i8, ptr @table, i64 %i
  %v = load i8, ptr %p
  %x = zext i8 %v to i32
  %y = call i32 @wl.more(i32 %x, i32 {})
  ret i32 %y
}}
'''

def reserve(size):
    return libc.mmap(None, size, 0, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)

jit.compile_ir(CODE.format(1), 1, host_features(), 1)
barrier = reserve((4 << 30) + PIECE)
while (last := reserve(PIECE)) > barrier:
    pass
libc.munmap(last, PIECE)
libc.munmap(barrier + (4 << 30), 1 << 16)
code = jit.compile_ir(CODE.format(7), 1, host_features(), 1)
run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.addresses[0])
index = ctypes.c_int64(12345)
print(run(ctypes.addressof(index), None))
"""


@pytest.mark.skipif(platform.system() != "Linux", reason="maps memory as Linux does")
def test_code_reaches_constants_beside_it_and_helpers_far_away() -> None:
    done = subprocess.run([sys.executable, "-c", _SCATTERED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "7"
