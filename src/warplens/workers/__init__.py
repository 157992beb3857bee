"""Who does many tasks: this process, processes with a core each, or a Dask cluster.

Tuning, sweeps, validation and the fuzzer hand their tasks to a `Runner`; what comes back does not
depend on which one it is. May import toolchain and errors.
"""

from warplens.workers.arrays import Store, Stored, resolved
from warplens.workers.choose import cores, runner_of
from warplens.workers.runner import Here, Lost, Runner, in_order

__all__ = ["Here", "Lost", "Runner", "Store", "Stored", "cores", "in_order", "resolved",
           "runner_of"]  # fmt: skip
