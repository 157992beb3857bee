"""Settings that hold for all tests."""

from __future__ import annotations

from hypothesis import settings

# Compiling a kernel on a busy machine takes longer than hypothesis' 200 ms, and a run that fails
# must fail again: examples come from the test's name, not from the clock.
settings.register_profile("warplens", deadline=None, derandomize=True)
settings.load_profile("warplens")
