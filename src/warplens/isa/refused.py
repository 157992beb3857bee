"""Features that are known but not executed: what a message calls them."""

from __future__ import annotations

_BY_PREFIX = (
    ("UTMA", "TMA copies with tensor maps (cp.async.bulk.tensor)"),
    ("UTC", "tcgen05 matrix instructions"),
    ("LDTM", "tcgen05 tensor memory"),
    ("STTM", "tcgen05 tensor memory"),
    ("HGMMA", "warpgroup matrix instructions (wgmma)"),
    ("IGMMA", "warpgroup matrix instructions (wgmma)"),
    ("QGMMA", "warpgroup matrix instructions (wgmma)"),
    ("BGMMA", "warpgroup matrix instructions (wgmma)"),
    ("WARPGROUP", "warpgroup matrix instructions (wgmma)"),
    ("TEX", "textures"),
    ("TLD", "textures"),
    ("TMML", "textures"),
    ("TXD", "textures"),
    ("TXQ", "textures"),
    ("UTEX", "textures"),
    ("SULD", "surfaces"),
    ("SUST", "surfaces"),
    ("SUATOM", "surfaces"),
    ("SURED", "surfaces"),
    ("SUQUERY", "surfaces"),
    ("MOVM", "matrix moves other than transposition (1-bit matrices from sm_100 on)"),
    ("OMMA", "matrix products with block scaling"),
    ("QMMA", "FP8 matrix products of sm_120"),
)


def feature_of(opcode: str) -> str:
    """The name of the feature that an opcode belongs to; empty if there is none for it."""
    return next((name for prefix, name in _BY_PREFIX if opcode.startswith(prefix)), "")
