"""What the running process is called and whether a progress bar may be drawn."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def process_name() -> str:
    """The name of the running program, as reports show it."""
    return Path(sys.argv[0]).name or "python"


def progress_wanted() -> bool:
    """Whether a progress bar may be drawn: only on a terminal."""
    try:
        return os.isatty(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return False
