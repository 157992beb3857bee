"""What each opcode means: one decorated function each, over the primitives of `lanes.py`.

Values in, values out, no registers, masks or counters; may import sass alone.
"""
