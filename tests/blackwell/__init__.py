"""Tensor memory and block-scaled products of sm_100 and sm_120, against NumPy and recorded sums."""
