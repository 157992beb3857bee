"""From a `SassKernel` to LLVM IR and machine code.

`lifter.py` is the way in, `jit.py` compiles what it gives. The rooms, each of which imports only
those before it: `engines/` the primitives of semantics, `decode/` what a kernel says, `counting/`
what an access touches, `runtime/` functions that generated code calls, `regions/` the code of a
kernel, `memory/` and `control/` the code of instructions that are more than values. `layout.py`
declares the records that generated code and the runner (`execute/`) share. Of the packages of
warplens `lift/` imports `isa/`, `sass/` and the cache.
"""
