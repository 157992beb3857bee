"""Occupancy; a package so that `python -m tests.occupancy.occupancy_header` works."""
