"""Kernels with planted bugs and their repaired twins, and what the sanitizers say of them."""
