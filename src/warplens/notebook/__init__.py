"""Notebooks: `%load_ext warplens.notebook` gives `%%cuda`, whose cells are kernels that are run.

`magic.py` reads the cell and runs it; `widget.py` shows the report, through anywidget where it is
installed, dark or light as the notebook is.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Registers `%%cuda` when IPython loads the extension."""
    from warplens.notebook.magic import Cuda

    magic = Cuda(shell)
    shell.register_magic_function(magic.cell, magic_kind="cell", magic_name="cuda")
