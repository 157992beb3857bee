"""Warpgroup products and tensor copies of sm_90, against what an H100 gave and against NumPy."""
