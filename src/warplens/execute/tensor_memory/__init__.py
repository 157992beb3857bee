"""Tensor memory of sm_100 and its tensor cores, as a unit that generated code calls."""
