"""Runs lifted kernels on the CPU: memory, blocks and grids, device functions, faults, and observers
that record what runs.

It may import what stands below it: `compiled`, `lift`, `isa`, `sass` and `toolchain`.
"""
