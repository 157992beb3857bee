"""What every recording shares: the driver, the cubins, metadata, and a stand-in for dry runs."""

from __future__ import annotations

import argparse
import base64
import ctypes as ct
import datetime
import hashlib
import json
import lzma
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import Array, Driver


class DryDriver:
    """Accepts every call of `Driver` and computes nothing: checks a recording without a GPU."""

    context = ct.c_void_p()

    def describe(self) -> dict[str, Any]:
        """Says that there is no GPU."""
        return {"gpu": "none (dry run)", "cuda_driver": 0, "memory_bytes": 0, "attributes": {}}

    def load(self, cubin: bytes) -> ct.c_void_p:
        """Accepts a cubin."""
        self._cubin = cubin
        return ct.c_void_p()

    def function(self, module: ct.c_void_p, name: str) -> ct.c_void_p:
        """Checks that the name occurs in the cubin."""
        if name.encode() not in self._cubin:
            raise KeyError(name)
        return ct.c_void_p()

    def download(self, pointer: ct.c_uint64, count: int, dtype: Any) -> Array:
        """Zeros."""
        return np.zeros(count, dtype)

    def alloc(self, size_bytes: int) -> ct.c_uint64:
        """A null pointer."""
        return ct.c_uint64()

    def upload(self, array: Array) -> ct.c_uint64:
        """A null pointer."""
        return ct.c_uint64()

    def host_words(self, count: int) -> tuple[Array, ct.c_uint64]:
        """Zeros and a null pointer."""
        return np.zeros(count, np.uint32), ct.c_uint64()

    def elapsed_ms(self, start: ct.c_void_p, stop: ct.c_void_p) -> float:
        """One."""
        return 1.0

    def occupancy(self, function: ct.c_void_p, block: int, shared: int) -> int:
        """One."""
        return 1

    def function_attribute(self, function: ct.c_void_p, number: int) -> int:
        """Zero."""
        return 0

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class Session:
    """A driver, the folder of cubins and the folder of results."""

    def __init__(self, cubins: Path, out: Path, dry_run: bool = False) -> None:
        self.dry_run = dry_run
        self.cubins = cubins
        self.out = out
        out.mkdir(parents=True, exist_ok=True)

    @cached_property
    def driver(self) -> Any:
        """A context on the GPU, made when it is first needed."""
        return DryDriver() if self.dry_run else Driver()

    @classmethod
    def of_command_line(cls, description: str | None) -> Session:
        """From `CUBINS OUT [--dry-run]`."""
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("cubins", type=Path, help="compiled kernels and their manifest")
        parser.add_argument("out", type=Path)
        parser.add_argument("--dry-run", action="store_true")
        given = parser.parse_args()
        return cls(given.cubins, given.out, given.dry_run)

    def cubin(self, name: str) -> bytes:
        """The bytes of one compiled source."""
        return (self.cubins / f"{name}.cubin").read_bytes()

    def zeros(self, size_bytes: int) -> ct.c_uint64:
        """Memory of the GPU that is all zeros."""
        found: ct.c_uint64 = self.driver.alloc(size_bytes)
        self.driver.fill(found, 0, size_bytes)
        return found

    def metadata(self) -> dict[str, Any]:
        """GPU, driver, tools and date, for every recorded file."""
        info = self.driver.describe()
        version = "none"
        if not self.dry_run:
            query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
            version = subprocess.run(query, capture_output=True, text=True).stdout.strip()
        manifest = json.loads((self.cubins / "manifest.json").read_text())
        return {
            "gpu": info["gpu"],
            "driver": version.split(",")[0],
            "cuda_driver": info["cuda_driver"],
            "nvrtc": manifest["nvrtc"],
            "arch": manifest["arch"],
            "sha256": manifest["sha256"],
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        }

    def clocks(self) -> str:
        """The SM and memory clocks now, as nvidia-smi tells."""
        if self.dry_run:
            return ""
        query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True).stdout.strip()

    def save_rows(self, name: str, columns: tuple[str, ...], rows: list[Any], *,
                  cubin: bytes | None = None) -> None:  # fmt: skip
        """Writes a table of launches with the metadata, clocks and machine code that the rows speak
        of to NAME.json."""
        found = {
            "metadata": self.metadata(), "clocks": self.clocks(), "columns": columns, "rows": rows,
        }  # fmt: skip
        if cubin is not None:
            found["cubin_xz_base64"] = base64.b64encode(lzma.compress(cubin)).decode()
        (self.out / f"{name}.json").write_text(json.dumps(found))
        print(len(rows), "launches")

    def save(self, name: str, **arrays: Array) -> None:
        """Writes arrays with the metadata to NAME.npz."""
        text = json.dumps(self.metadata())
        np.savez_compressed(self.out / f"{name}.npz", metadata=np.array(text), **arrays)


def sha256(data: bytes) -> str:
    """Hexadecimal digest."""
    return hashlib.sha256(data).hexdigest()
