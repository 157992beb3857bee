"""What frameworks need beyond the simulated driver: supported versions, and plug-ins.

One small module per framework. `frontend.py` says what a front-end is, `watch.py` looks after the
imports of the process.
"""
