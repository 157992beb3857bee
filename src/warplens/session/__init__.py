"""What a Python program touches: devices, modules, kernels, launches, arguments and arrays.

The only package that knows the features; it may import everything but the front ends, the command
line and the pytest plugin.
"""
