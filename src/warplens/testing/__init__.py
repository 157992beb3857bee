"""What tests of kernels use: `assert_metric` and the pytest plugin.

May import session and everything below it.
"""

from warplens.testing.assertions import assert_metric

__all__ = ["assert_metric"]
