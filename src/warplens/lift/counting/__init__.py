"""What an access to memory counts: sectors, lines, bytes, bank passes, and the slots they go to.

Its functions in LLVM IR import `lift/layout.py`, `lift/vector_ir.py` and the host's features.
"""
