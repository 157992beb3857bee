"""Counters against numbers computed from addresses alone."""
