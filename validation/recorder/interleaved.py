"""Records what tensor copies of interleaved layouts give: loads by tile and im2col, stores and sums
in three to five dimensions, which maps the driver makes, and their words.

`python interleaved.py --build CUBINS` compiles; `python interleaved.py CUBINS OUT` needs a GPU and
NumPy. A copy that the TMA unit refuses ends its process; the next one goes on behind it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import CudaError
from hopper_cases import Map
from hopper_units import _SHARED
from session import Session

from hopper import build, encode

ELEMENT = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
TENSOR_BYTES = 1 << 20  # behind every map
IMAGE_BYTES = 16 << 10  # of shared memory
_STRIDES = {3: (0x400, 0x8000), 4: (0x200, 0x2000, 0x14000), 5: (0x200, 0x1000, 0x8000, 0x28000)}
_SIZES = {3: (12, 5), 4: (9, 6, 3), 5: (7, 5, 4, 3)}  # behind the channels
_BOX = {3: (6, 2), 4: (5, 3, 2), 5: (4, 3, 2, 2)}
_FAILURES = 4  # of a group of copies, of which no more are tried then
_LAYOUTS = ((1, 0), (2, 0), (1, 1), (2, 1))  # interleave and swizzle
_FURTHER = ((1, 2), (2, 2), (1, 3), (2, 3))  # of which less is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy: the map, the coordinates, for im2col the offsets; load, store or add."""

    name: str
    map: Map
    at: tuple[int, ...]
    offsets: tuple[int, ...] = ()
    action: str = "load"

    @property
    def size(self) -> int:
        """Bytes of the box: of pixels of one slice of channels, which is the last but one axis."""
        given = self.map
        if given.corners is not None:
            return 16 * given.interleave * given.pixels
        count = 1
        for axis, (n, step) in enumerate(zip(given.box, given.steps, strict=True)):
            if axis != len(given.box) - 2:
                count *= -(-n // step)
        return 16 * given.interleave * count


def kernels(rank: int) -> str:
    """A load by tile, one by im2col, a store, a sum, of one box."""
    found = ""
    for mode in ("tile", "im2col"):
        names = ", ".join(f"%{3 + i}" for i in range(rank))
        given = ", ".join(f'"r"(c{i})' for i in range(rank))
        offsets, more = "", ""
        if mode == "im2col":
            offsets = ", {" + ", ".join(f"%{3 + rank + i}" for i in range(rank - 2)) + "}"
            more = "".join(f', "h"((unsigned short)o{i})' for i in range(rank - 2))
        found += f"""
extern "C" __global__ void {mode}_load{rank}(
    const __grid_constant__ Map map, int c0, int c1, int c2, int c3, int c4, int o0, int o1, int o2,
    int bytes, int pieces, uint4* out) {{
  __shared__ alignas(8) u64 bar;
  for (int i = threadIdx.x; i < pieces; i += 128)
    ((uint4*)image)[i] = make_uint4(0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd, 0xcdcdcdcd);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(near(&bar)));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(near(&bar)), "r"(bytes));
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx"
                 "::bytes [%0], [%1, {{{names}}}], [%2]{offsets};"
                 :: "r"(near(image)), "l"(&map), "r"(near(&bar)), {given}{more} : "memory");
  }}
  asm volatile("nanosleep.u32 20000;");
  unsigned done = wait(near(&bar));
  __syncthreads();
  for (int i = threadIdx.x; i < pieces; i += 128) out[i] = ((uint4*)image)[i];
  if (threadIdx.x == 0) out[pieces] = make_uint4(done, bytes, 0, 0);
}}
"""
    there = ", ".join(f"%{2 + i}" for i in range(rank))
    for action in ("store", "add"):
        op, reduces = (".add", ".reduce") if action == "add" else ("", "")
        found += f"""
extern "C" __global__ void tile_{action}{rank}(
    const __grid_constant__ Map map, int c0, int c1, int c2, int c3, int c4, int pieces,
    const uint4* in) {{
  for (int i = threadIdx.x; i < pieces; i += 128) ((uint4*)image)[i] = in[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp{reduces}.async.bulk.tensor.{rank}d.global.shared::cta{op}.tile.bulk_group "
                 "[%0, {{{there}}}], [%1];\\n"
                 "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;"
                 :: "l"(&map), "r"(near(image)), {given} : "memory");
}}
"""
    return found


_WAIT = _SHARED.replace("i < 2000 && !done", "i < 3 && !done").replace(
    "void wait(", "unsigned wait("
).replace("unsigned i = 0, done = 0;", "unsigned i = 0;").replace(
    "  // bounded", "  unsigned done = 0;\n  // bounded"
).replace(': "r"(bar) : "memory");\n}', ': "r"(bar) : "memory");\n  return done;\n}')


def sources() -> dict[str, str]:
    """Translation units by name."""
    return {"interleaved": _WAIT + "".join(map(kernels, (3, 4, 5)))}


def _map(rank: int, kind: int, interleave: int, swizzle: int, slices: float) -> Map:
    group = 16 * interleave // ELEMENT[kind]
    return Map(
        array=-1, kind=kind, sizes=(2 * group + group // 2, *_SIZES[rank]), strides=_STRIDES[rank],
        box=(int(group * slices), *_BOX[rank]), steps=(1,) * rank, swizzle=swizzle,
        interleave=interleave,
    )  # fmt: skip


def _tiles(rank: int, interleave: int, swizzle: int) -> Iterator[Copy]:
    """Copies of a rank and layout, of 16-bit numbers and others."""
    base = _map(rank, 6, interleave, swizzle, 1)
    sizes, none = base.sizes, (0,) * rank
    group = 8 * interleave
    where = {
        "zero": none, "slice": (group, *none[1:]), "last": (2 * group, *none[1:]),
        "beyond": (3 * group, *none[1:]), "one": (1, *none[1:]), "half": (group // 2, *none[1:]),
        "before": (-group, *none[1:]), "little": (-1, *none[1:]),
        "inner": (0, *(1,) * (rank - 1)), "low": (0, -1, *none[2:]),
        "high": (0, sizes[1] - 2, *none[2:]), "under": (*none[:-1], -1),
        "over": (*none[:-1], sizes[-1] - 1), "corner": (group, *(n - 1 for n in sizes[1:])),
        "second": (0, 0, 1, *none[3:]),
    }  # fmt: skip
    for at, place in where.items():
        yield Copy(name=f"at_{at}", map=base, at=place)
    for at in ("zero", "last", "corner", "low", "half"):
        yield Copy(name=f"nan_{at}", map=replace(base, fill=1), at=where[at])
    for slices in (0.5, 1.5, 2, 3):
        box = (int(group * slices), *base.box[1:])
        for at in ("zero", "slice", "low"):
            yield Copy(name=f"slices{slices:g}_{at}", map=replace(base, box=box), at=where[at])
    for axis in range(rank):
        steps = tuple(2 if i == axis else 1 for i in range(rank))
        for at in ("zero", "low"):
            yield Copy(name=f"step{axis}_{at}", map=replace(base, steps=steps), at=where[at])
    for kind in (0, 2, 4, 7, 8, 9, 11):
        for slices in (1, 2):
            given = _map(rank, kind, interleave, swizzle, slices)
            yield Copy(name=f"kind{kind}_{slices}", map=given, at=where["zero"])
    wide = replace(base, box=(group, 12, *(1,) * (rank - 2)))
    yield Copy(name="wide", map=wide, at=where["zero"])
    tall = replace(base, box=(group, *(1,) * (rank - 2), 3))
    yield Copy(name="tall", map=tall, at=where["zero"])
    odd = replace(base, strides=tuple(n + 32 for n in base.strides))
    yield Copy(name="odd", map=odd, at=where["zero"])


def _im2col(rank: int, interleave: int, swizzle: int) -> Iterator[Copy]:
    """Loads of pixels of a convolution, in one to three slices of channels."""
    base = _map(rank, 6, interleave, swizzle, 1)
    group, few = 8 * interleave, rank - 2
    corners = ((0, 0, 0, 0), (-1, -1, -1, 0), (-1, -1, 1, 1), (-1, 0, -1, 1))
    for slices in (1, 2, 0.5):
        for low, high, at, offsets in corners:
            given = replace(
                base, box=(), corners=((low,) * few, (high,) * few),
                channels=int(slices * group), pixels=24,
            )  # fmt: skip
            yield Copy(name=f"im2col_{slices:g}_{low}_{high}_{at}_{offsets}", map=given,
                       at=(0, *(at,) * few, 0), offsets=(offsets,) * few)  # fmt: skip
    given = replace(base, box=(), corners=((0,) * few, (0,) * few), channels=group, pixels=24)
    yield Copy(name="im2col_slice", map=given, at=(group, *(0,) * few, 1), offsets=(0,) * few)


def copies() -> list[Copy]:
    """Every copy, loads before stores and sums."""
    found: list[Copy] = []
    for rank in (3, 4, 5):
        for interleave, swizzle in _LAYOUTS:
            mark = f"{rank}d_{16 * interleave}B_{32 * swizzle}"
            tiles = list(_tiles(rank, interleave, swizzle))
            loads = tiles + list(_im2col(rank, interleave, swizzle))
            # a store to before the tensor is an illegal instruction
            stored = [one for one in tiles if "nan" not in one.name and min(one.at) >= 0]
            added = [one for one in stored if one.name.startswith(("at_", "kind2"))]
            found += [replace(one, name=f"{mark}/{one.name}") for one in loads]
            found += [replace(one, name=f"{mark}/store_{one.name}", action="store")
                      for one in stored]  # fmt: skip
            found += [replace(one, name=f"{mark}/add_{one.name}", action="add") for one in added]
        for interleave, swizzle in _FURTHER:
            mark = f"{rank}d_{16 * interleave}B_{32 * swizzle}"
            for one in _tiles(rank, interleave, swizzle):
                if one.name in ("at_zero", "at_last", "slices2_zero", "wide"):
                    found.append(replace(one, name=f"{mark}/{one.name}"))
                    stored_name = f"{mark}/store_{one.name}"
                    found.append(replace(one, name=stored_name, action="store"))
    found = [one for one in found if one.size <= IMAGE_BYTES]
    return sorted(found, key=lambda one: ("load", "store", "add").index(one.action))


def maps() -> Iterator[tuple[str, Map, int]]:
    """Maps that the driver may refuse, and by how many bytes their tensors lie off."""
    for rank in (1, 2, 3):
        for interleave in (1, 2, 3):
            for swizzle in range(4):
                sizes, strides = (64, 12, 5)[:rank], _STRIDES[3][: rank - 1]
                box, steps = (8 * interleave, 6, 2)[:rank], (1,) * rank
                given = Map(array=-1, kind=6, sizes=sizes, strides=strides, box=box, steps=steps,
                            swizzle=swizzle, interleave=interleave)  # fmt: skip
                yield f"rank{rank}_{interleave}_{swizzle}", given, 0
    for interleave, swizzle in ((1, 0), (2, 1)):
        base = _map(3, 6, interleave, swizzle, 1)
        for off in (16, 32):
            yield f"off{off}_{interleave}", base, off
        for more in (16, 32):
            strides = (base.strides[0] + more, base.strides[1])
            yield f"stride{more}_{interleave}", replace(base, strides=strides), 0
        for inner in (1, 2, 3, 4, 8, 16, 24, 32, 64, 128, 256):
            yield f"inner{inner}_{interleave}", replace(base, box=(inner, *base.box[1:])), 0
        for strides in ((0x20, 0x400), (0x10, 0x400), (0x8000, 0x400), (0xC0, 0x400)):
            yield f"strides{strides[0]:x}_{interleave}", replace(base, strides=strides), 0
        for kind in range(13):
            yield f"kind{kind}_{interleave}", _map(3, kind, interleave, swizzle, 1), 0


def _launch(session: Session, module: Any, one: Copy) -> dict[str, Any]:
    """What one copy leaves: the image with the mbarrier, or the words it changed."""
    driver, rank = session.driver, len(one.map.sizes)
    rng = np.random.default_rng(7)
    data = rng.integers(0, 256, TENSOR_BYTES, dtype=np.uint8)
    image = rng.integers(0, 256, IMAGE_BYTES, dtype=np.uint8)
    if one.map.kind in (6, 9):
        image.view(np.uint16)[:] &= 0xBFFF  # finite
    behind = driver.upload(data)
    try:
        words = encode(driver, one.map, behind.value)
    except CudaError as error:
        driver.free_all()
        return {"refused": str(error)}
    c = tuple(np.int32(n) for n in (*one.at, 0, 0, 0, 0)[:5])
    pieces = np.int32(IMAGE_BYTES // 16)
    kernel = f"{'im2col' if one.map.corners is not None else 'tile'}_{one.action}{rank}"
    function = driver.function(module, kernel)
    found: dict[str, Any] = {"map": np.array(list(words), np.uint64), "address": behind.value}
    if one.action == "load":
        out = driver.upload(np.zeros(IMAGE_BYTES + 16, np.uint8))
        o = tuple(np.int32(n) for n in (*one.offsets, 0, 0, 0)[:3])
        given = (words, *c, *o, np.int32(one.size), pieces, out)
    else:
        given = (words, *c, pieces, driver.upload(image))
    driver.launch(function, (1,), (128,), given, IMAGE_BYTES + 1024)
    driver.synchronize()
    if one.action == "load":
        found["image"] = driver.download(out, IMAGE_BYTES + 16, np.uint8)
    else:
        after = driver.download(behind, TENSOR_BYTES, np.uint8)
        found["places"] = np.flatnonzero(after != data).astype(np.uint32)
        found["bytes"] = after[found["places"]]
    driver.free_all()
    return found


def _group(one: Copy) -> str:
    """Copies that fail together."""
    return f"{one.name.partition('/')[0]} {one.action} {one.map.corners is not None}"


def _some(session: Session, first: int) -> None:
    """Copies from `first` on, until one is an error of the device; groups that failed are left."""
    module = session.driver.load(session.cubin("interleaved"))
    arrays: dict[str, Any] = {}
    every, noted = copies(), session.out / "failed"
    failed = noted.read_text().splitlines() if noted.exists() else []
    end = len(every)
    for i in range(first, end):
        if failed.count(_group(every[i])) >= _FAILURES:
            continue
        try:
            found = _launch(session, module, every[i])
        except CudaError as error:
            arrays[f"{every[i].name}/failed"] = np.array(str(error))
            noted.write_text("\n".join([*failed, _group(every[i])]))
            end = i + 1
            break
        arrays |= {f"{every[i].name}/{k}": np.array(v) for k, v in found.items()}
    session.save(f"interleaved_{first}", **arrays)
    (session.out / "next").write_text(str(end))


def _encoded(session: Session) -> dict[str, Any]:
    """Which maps the driver makes."""
    address = session.driver.alloc(TENSOR_BYTES).value
    found = {}
    for name, given, off in maps():
        try:
            found[f"maps/{name}/map"] = np.array(list(encode(session.driver, given, address + off)),
                                                 np.uint64)  # fmt: skip
        except CudaError as error:
            found[f"maps/{name}/refused"] = np.array(str(error))
    return found


def main() -> None:
    """Compiles, or runs every copy and keeps what it left."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), sources())
        return
    if sys.argv[1] == "--from":
        _some(Session(Path(sys.argv[3]), Path(sys.argv[4])), int(sys.argv[2]))
        return
    session = Session.of_command_line(__doc__)
    arrays, first, count = {}, 0, len(copies())
    while first < count:
        command = [sys.executable, __file__, "--from", str(first), *sys.argv[1:3]]
        if subprocess.run(command).returncode:
            break
        kept = session.out / f"interleaved_{first}.npz"
        arrays |= {k: v for k, v in np.load(kept).items() if k != "metadata"}
        kept.unlink()
        first = int((session.out / "next").read_text())
        print(first, flush=True)
    arrays |= _encoded(session)
    session.save("interleaved_sm90", **arrays)
    names = {k.rpartition("/")[0] for k in arrays}
    print(json.dumps({"copies": count, "kept": len(names), "reached": first}))


if __name__ == "__main__":
    main()
