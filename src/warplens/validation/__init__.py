"""Predictions beside measured times and counters, from case files of ours and of others.

It drives the Python API as a user does; may import session and everything below it.
"""
