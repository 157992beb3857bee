"""The performance formulas."""
