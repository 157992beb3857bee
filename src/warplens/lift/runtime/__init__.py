"""Functions in LLVM IR that generated code calls: loads, stores and atomics of every space.

They are plain text and know no kernel; they import `counting/`, `lift/layout.py`,
`lift/vector_ir.py` and the host's features.
"""
