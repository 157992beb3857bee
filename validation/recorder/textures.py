"""Records samples of textures and accesses of surfaces (`texture_cases.py`) on a GPU.

`python textures.py --pack CUBIN FOLDER [MODULE]` writes the cases (of another module, as
surface_cases, if it is named) beside their compiled kernels, as kernels/textures.cu;
`python textures.py FOLDER OUT.npz` runs them and needs nothing but libcuda and Python.
"""

from __future__ import annotations

import ctypes as ct
import importlib
import json
import shutil
import struct
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HOST, DEVICE, ARRAY = 1, 2, 3
FORMATS = {"u1": 1, "u2": 2, "u4": 3, "i1": 8, "i2": 9, "i4": 10, "f2": 16, "f4": 32}


class CudaError(RuntimeError):
    """A driver call did not succeed."""


class Box(ct.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = [("width", ct.c_size_t), ("height", ct.c_size_t), ("depth", ct.c_size_t),
                ("format", ct.c_int), ("channels", ct.c_uint), ("flags", ct.c_uint)]  # fmt: skip


class Copy(ct.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = [
        (f"{side}_{name}", kind)
        for side in ("src", "dst")
        for name, kind in (("x", ct.c_size_t), ("y", ct.c_size_t), ("z", ct.c_size_t),
                           ("lod", ct.c_size_t), ("type", ct.c_int), ("host", ct.c_void_p),
                           ("device", ct.c_uint64), ("array", ct.c_void_p),
                           ("reserved", ct.c_void_p), ("pitch", ct.c_size_t),
                           ("rows", ct.c_size_t))
    ] + [("width", ct.c_size_t), ("height", ct.c_size_t), ("depth", ct.c_size_t)]  # fmt: skip


class Machine:
    """The driver, a context and the kernels."""

    def __init__(self, cubin: bytes) -> None:
        self.lib = ct.CDLL("libcuda.so.1")
        self.call("cuInit", ct.c_uint(0))
        self.device, context = ct.c_int(), ct.c_void_p()
        self.call("cuDeviceGet", ct.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ct.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.module = ct.c_void_p()
        self.call("cuModuleLoadData", ct.byref(self.module), ct.c_char_p(cubin))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls the driver and checks its answer."""
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise CudaError(f"{name}: {status}")

    def names(self) -> dict[str, Any]:
        """What was used."""
        name, version = ct.create_string_buffer(256), ct.c_int()
        self.call("cuDeviceGetName", name, 256, self.device)
        self.call("cuDriverGetVersion", ct.byref(version))
        driver = Path("/proc/driver/nvidia/version")
        return {"gpu": name.value.decode(), "cuda": version.value,
                "driver": driver.read_text().split("\n")[0] if driver.exists() else "",
                "date": time.strftime("%Y-%m-%d")}  # fmt: skip

    def memory(self, data: bytes) -> ct.c_uint64:
        """Device memory with these bytes."""
        pointer = ct.c_uint64()
        self.call("cuMemAlloc_v2", ct.byref(pointer), ct.c_size_t(max(len(data), 16)))
        self.call("cuMemcpyHtoD_v2", pointer, ct.c_char_p(data), ct.c_size_t(len(data)))
        return pointer

    def bytes_of(self, pointer: ct.c_uint64, size: int) -> bytes:
        """Bytes of device memory."""
        host = ct.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", host, pointer, ct.c_size_t(size))
        return host.raw

    def copy(self, array: ct.c_void_p, host: Any, shape: Sequence[int], row: int,
             is_back: bool) -> None:  # fmt: skip
        """All of an array from or to the host; `row` in bytes."""
        plan, depth, height = Copy(), shape[0], shape[1]
        near, far = ("dst", "src") if is_back else ("src", "dst")
        setattr(plan, f"{near}_type", HOST)
        setattr(plan, f"{near}_host", ct.addressof(host))
        setattr(plan, f"{near}_pitch", row)
        setattr(plan, f"{near}_rows", height)
        setattr(plan, f"{far}_type", ARRAY)
        setattr(plan, f"{far}_array", array.value)
        plan.width, plan.height, plan.depth = row, height, depth
        self.call("cuMemcpy3D_v2", ct.byref(plan))

    def launch(self, kernel: str, shape: Sequence[int], *arguments: Any) -> None:
        """Launches and waits; `shape`: blocks and threads, or three numbers of either."""
        function = ct.c_void_p()
        self.call("cuModuleGetFunction", ct.byref(function), self.module, kernel.encode())
        cells = (ct.c_void_p * len(arguments))(
            *[ct.cast(ct.pointer(a), ct.c_void_p) for a in arguments]
        )
        sizes = shape if len(shape) == 6 else (shape[0], 1, 1, shape[1], 1, 1)
        numbers = [ct.c_uint(n) for n in (*sizes, 0)]
        self.call("cuLaunchKernel", function, *numbers, None, cells, None)
        self.call("cuCtxSynchronize")


def element_bytes(case: dict[str, Any]) -> int:
    """Bytes of a texel."""
    return int(case["dtype"][1]) * int(case["shapes"][0][3])


def make_array(gpu: Machine, case: dict[str, Any], data: Sequence[bytes]) -> ct.c_void_p:
    """A CUDA array, or a mipmapped one, with its texels."""
    depth, height, width, channels = case["shapes"][0]
    rank, flags = case["rank"], case["array_flags"]
    third = depth if rank == 3 or flags & 5 else 0
    box = Box(width, height if rank > 1 else 0, third, FORMATS[case["dtype"]], channels, flags)
    made = ct.c_void_p()
    if case["kind"] == "mipmap":
        levels = len(data)
        gpu.call("cuMipmappedArrayCreate", ct.byref(made), ct.byref(box), ct.c_uint(levels))
    else:
        gpu.call("cuArray3DCreate_v2", ct.byref(made), ct.byref(box))
    for k, level in enumerate(data):
        array = made
        if case["kind"] == "mipmap":
            array = ct.c_void_p()
            gpu.call("cuMipmappedArrayGetLevel", ct.byref(array), made, ct.c_uint(k))
        shape = case["shapes"][k]
        host = ct.create_string_buffer(level, len(level))
        gpu.copy(array, host, shape, shape[2] * element_bytes(case), False)
    return made


def resource_of(gpu: Machine, case: dict[str, Any], data: Sequence[bytes]) -> tuple[bytes, Any]:
    """CUDA_RESOURCE_DESC, and the array behind it."""
    size, (_, height, width, channels) = element_bytes(case), case["shapes"][0]
    kind = {"array": 0, "mipmap": 1, "linear": 2, "pitch": 3}[case["kind"]]
    if kind < 2:
        made = make_array(gpu, case, data)
        union = struct.pack("<Q", made.value or 0)
    elif kind == 2:
        made = gpu.memory(data[0])
        union = struct.pack("<QiIQ", made.value, FORMATS[case["dtype"]], channels, len(data[0]))
    else:
        row, pitch = width * size, -(-width * size // 512) * 512
        rows = [data[0][i * row : (i + 1) * row].ljust(pitch, b"\xee") for i in range(height)]
        made = gpu.memory(b"".join(rows))
        union = struct.pack("<QiIQQQ", made.value, FORMATS[case["dtype"]], channels, width, height,
                            pitch)  # fmt: skip
    return struct.pack("<ii128sQ", kind, 0, union, 0), made


def texture_of(gpu: Machine, case: dict[str, Any], resource: bytes) -> ct.c_uint64:
    """A texture object, or a surface object."""
    handle = ct.c_uint64()
    if case["surface"]:
        gpu.call("cuSurfObjectCreate", ct.byref(handle), ct.c_char_p(resource))
        return handle
    view = struct.pack(
        "<3iiIIifff4f12i", *case["mode"], case["filter"], case["flags"], case["anisotropy"],
        case["mip_filter"], case["bias"], *case["levels"], *case["border"], *[0] * 12,
    )  # fmt: skip
    gpu.call("cuTexObjectCreate", ct.byref(handle), ct.c_char_p(resource), ct.c_char_p(view), None)
    return handle


def run(gpu: Machine, case: dict[str, Any], data: Sequence[bytes], table: bytes) -> bytes:
    """What a launch gives: four words for each row of the table, or the array's bytes."""
    resource, made = resource_of(gpu, case, data)
    handle = texture_of(gpu, case, resource)
    n, (blocks, threads) = case["n"], case["shape"]
    blocks = blocks or -(-n // threads)
    places, out = gpu.memory(table), gpu.memory(bytes(16 * max(n, blocks * threads)))
    shape = (case["blocks"], threads) if "blocks" in case else (blocks, threads)
    gpu.launch(case["kernel"], shape, handle, places, out, ct.c_int(n))
    if case["whole"]:
        host = ct.create_string_buffer(len(data[0]))
        whole = case["shapes"][0]
        gpu.copy(made, host, whole, whole[2] * element_bytes(case), True)
        found = host.raw
    else:
        found = gpu.bytes_of(out, 16 * (blocks * threads if case["shape"][0] else n))
        kept = 4 * case["channels"]
        found = b"".join(found[i : i + kept] for i in range(0, len(found), 16))
    gpu.call("cuSurfObjectDestroy" if case["surface"] else "cuTexObjectDestroy", handle)
    for pointer in (places, out):
        gpu.call("cuMemFree_v2", pointer)
    return found


def release(gpu: Machine, case: dict[str, Any], made: Any) -> None:
    """Frees what is behind a texture."""
    names = {"array": "cuArrayDestroy", "mipmap": "cuMipmappedArrayDestroy"}
    gpu.call(names.get(case["kind"], "cuMemFree_v2"), made)


def described(case: Any) -> dict[str, Any]:
    """A case of `texture_cases` as plain data."""
    left_out = ("texels", "coordinates", "extra")
    plain = {k: v for k, v in vars(case).items() if k not in left_out}
    plain["shapes"] = [list(level.shape) for level in case.texels]
    plain["dtype"] = case.texels[0].dtype.str[1:]
    plain["n"] = case.coordinates.shape[1]
    return plain


def pack(cubin: Path, folder: Path, module: str = "texture_cases") -> None:
    """Writes a module's cases and their bytes."""
    cases = importlib.import_module(module).cases
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(cubin, folder / "textures.cubin")
    plain, blob = [], bytearray()
    for case in cases():
        entry = described(case)
        entry["pieces"] = []
        for array in (*case.texels, case.coordinates):
            data = array.tobytes()
            entry["pieces"].append((len(blob), len(data)))
            blob += data
        plain.append(entry)
    (folder / "cases.json").write_text(json.dumps(plain))
    (folder / "cases.bin").write_bytes(bytes(blob))


def npy(data: bytes) -> bytes:
    """Bytes as a file of NumPy's."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(data)},), }}"
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def record(folder: Path, out: Path) -> None:
    """Runs every case and keeps what comes; a case that fails is noted."""
    cases = json.loads((folder / "cases.json").read_text())
    blob = (folder / "cases.bin").read_bytes()
    gpu = Machine((folder / "textures.cubin").read_bytes())
    session, failed, started = gpu.names(), {}, time.time()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as kept:
        for case in cases:
            data = [blob[start : start + size] for start, size in case["pieces"]]
            try:
                found = run(gpu, case, data[:-1], data[-1])
            except CudaError as error:
                failed[case["name"]] = str(error)
                if any(f": {n}" in str(error) for n in (700, 715, 716, 717, 719)):
                    break
                continue
            kept.writestr(case["name"] + ".npy", npy(found))
        session.update(failed=failed, seconds=time.time() - started)
        kept.writestr("session.npy", npy(json.dumps(session).encode()))
    print(json.dumps(session))


if __name__ == "__main__":
    if sys.argv[1] == "--pack":
        pack(Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:5])
    else:
        record(Path(sys.argv[1]), Path(sys.argv[2]))
