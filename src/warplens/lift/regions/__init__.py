"""The code of a kernel, region by region: registers, operands, guards, counters, ways out.

`writer.py` is what code generators of single instructions work through, `generators.py` where they
are registered; the room imports `decode/`, `engines/` and `runtime/`, never a code generator.
"""
