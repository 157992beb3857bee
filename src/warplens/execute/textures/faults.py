"""What a launch says of textures and surfaces that cannot be served."""

from __future__ import annotations

from warplens.errors import ExecutionFault, MemoryFault
from warplens.lift import layout as at

_REASONS = {
    0: "is no texture or surface object of this device",
    1: "is an object of the other kind (a surface for a texture, or a texture for a surface)",
    2: "has another shape than the instruction: other dimensions, layers or faces",
    6: "is accessed at a byte that is no multiple of the access's size",
}
_NOT_DONE = {
    3: "a linear filter over integers that are not read as normalised floats",
    4: "anything but samples (gathers, fetches, sizes) of a"
    " texture of several mipmap levels",
    5: "anything but plain samples and given levels of a cube map",
    10: "the number of layers asked by the kernel",
    11: "a reduction of texels (sured.p) of another size, or of several signed channels,",
    12: "a gradient over several mipmap levels, but for images whose sides are powers of two and"
    " gradients along the axes (dv/dx and du/dy are 0),",
    7: "a filter of more than one sample (anisotropy)",
}


def texture_fault(kind: int, handle: int, extra: int, where: str) -> ExecutionFault:
    """The error for a fault of the texture unit."""
    if kind == at.FAULT_SURFACE:
        return MemoryFault(
            f"access of surface {handle} outside of its array (byte {extra:,} of a row)\n"
            f"  at {where}",
            hint="The mode is cudaBoundaryModeTrap; cudaBoundaryModeZero and Clamp allow it.",
        )
    if extra in _NOT_DONE:
        return ExecutionFault(f"object {handle}: {_NOT_DONE[extra]} is not supported\n  at {where}")
    return ExecutionFault(f"object {handle} {_REASONS.get(extra, 'cannot be used')}\n  at {where}")
