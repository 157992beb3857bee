"""Kernels over half precision, matrices, asynchronous copies, groups, barriers and libraries."""
