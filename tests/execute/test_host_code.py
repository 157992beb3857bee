"""Host code that comes in a cubin runs only where the process itself has brought the cubin."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.driver.cells import serve
from warplens.driver.images import Code
from warplens.driver.machine import Driver
from warplens.driver.modules import load
from warplens.errors import Unsupported
from warplens.execute import host_code
from warplens.toolchain.nvrtc import compile_source

SOURCE = "extern \"C\" __global__ void one(int* out) { *out = 1; }"
FOREIGN = b"\x7fELF" + bytes(60)


def launch_with(code: bytes) -> None:
    """A launch of a kernel whose cubin brings an object file."""
    kernel = wl.Device("H200").compile(SOURCE)["one"]
    kernel.code.program.host_code = code
    kernel[1, 1](np.zeros(1, np.int32))


def test_a_files_host_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is loaded, and the message says how to allow it."""
    monkeypatch.delenv(host_code.ALLOWED, raising=False)
    with pytest.raises(Unsupported, match="would run in this process") as caught:
        launch_with(FOREIGN)

    assert host_code.ALLOWED in str(caught.value.hint)


def test_the_environment_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the file is looked at: this one is for no processor."""
    monkeypatch.setenv(host_code.ALLOWED, "1")
    with pytest.raises(Unsupported, match="another processor"):
        launch_with(FOREIGN)


@pytest.mark.parametrize("is_served", [False, True])
def test_whose_cubin_it_is(is_served: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that the process loads itself is trusted, one of another process is not."""
    monkeypatch.delenv(host_code.ALLOWED, raising=False)
    code = FOREIGN + bytes([is_served])
    found = type("Cubin", (), {"host_code": code})
    monkeypatch.setattr("warplens.toolchain.cubin.read_cubin", lambda _: found)
    cubin = compile_source(SOURCE, sm=90).cubin + b".nv.host"
    driver = Driver(("H200",))
    serve(object() if is_served else None)  # type: ignore[arg-type]
    try:
        load(driver, driver.gpus[0], Code(cubin=cubin))
    finally:
        serve(None)

    assert host_code.is_trusted(code) is not is_served
