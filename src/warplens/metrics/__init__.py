"""Metrics under ncu's names: one declaration each, computed from an execution's exact counts.

`registry` holds the declarations and evaluates names with their roll-ups, `counters` is the view
that formulas read, `classes` sorts instructions as ncu counts them, and every section has a file
of its own that declares its metrics and rows. `catalog` imports them all.
"""
