"""Occupancy: how many blocks fit on an SM, what limits them, and which launch would fit better.

Rules over GPU files and plain numbers; may import gpus, result and errors.
"""
