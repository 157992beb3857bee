"""Code for branches, calls, convergence, barriers and special registers.

It imports `decode/`, `engines/` and `regions/`, and nothing of `memory/`.
"""
