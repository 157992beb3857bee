"""The C library in front of the driver: a `libcuda.so.1` that calls into this process's Python.

`header.py` reads which functions there are from NVIDIA's header, `source.py` writes the library's C
text from them and from the driver's table of entries, `build.py` compiles it, `lookup.py` answers
cuGetProcAddress, and `place.py` puts it in place: on demand, never beside a real driver.
"""
