"""Whole CUDA programs on simulated GPUs: host code runs as it is, device code is executed here.

The program is a process of its own with our `libcudart` and `libcuda` in place of NVIDIA's: thin C
(`client.c`, `runtime.c` and stubs written by `library.py`) that sends each call to the engine, the
process that started it. `engine.py` serves the calls with the driver of `warplens.driver`, through
`runtime/`, which says what CUDA's runtime adds to it. Device memory is shared between both
processes (`shared.py`), never copied. `process.py` starts the program and passes on how it ended.
"""
