"""From CUDA C++ to what a cubin holds, with NVIDIA's pip packages only.

`nvrtc` compiles, `cubin` (with `elf`, `attributes`, `lines`) reads, `nvdisasm` lists, `ptx` and
`demangle` tell parameter types, `cache` keeps results on disk, `packages` finds NVIDIA's files.
"""
