"""The two engines that implement the primitives of `isa/lanes.py`: LLVM IR, and NumPy as reference.

They know neither kernels nor registers, and import nothing of `lift/` but each other.
"""
