"""The kernel corpus: one CUDA file and one Python module of references for each theme."""
