"""Differential fuzzing: random programs in a small language with two back-ends, CUDA and NumPy.

`python -m tests.fuzz --programs 1000 --seed 1` runs it; `test_fuzz.py` does a little of it.
"""
