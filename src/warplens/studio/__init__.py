"""`warplens studio`: a local web page to edit kernels, run them, and see what they cost.

`app.py` answers requests, `guard.py` refuses those that are not the page's own, `pool.py` keeps the
worker processes in which everything of CUDA happens (`worker.py`, `compiling.py`, `running.py`).
"""
