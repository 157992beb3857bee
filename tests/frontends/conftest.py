"""The simulated GPU of the front-ends' tests; nothing is in place before a test asks for it."""

from __future__ import annotations

from typing import Any

import pytest

import warplens


@pytest.fixture(scope="session")
def gpu() -> Any:
    """The process's GPU: a context that collects launches."""
    return warplens.cuda()
