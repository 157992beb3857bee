"""Tests of NVRTC, nvdisasm, the cubin reader and the cache."""
