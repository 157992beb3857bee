"""The CUDA driver's semantics over the session, as plain Python.

`machine.py` holds what a process sees of a driver: devices, contexts, handles, memory, streams,
events, modules and graphs. `entries/` declares every function of the driver API that is served,
once, with its C signature; the C library in front is generated from these declarations.
"""
