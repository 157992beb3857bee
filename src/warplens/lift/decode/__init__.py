"""What a kernel says before code is written: operands, gaps, blocks, regions, order.

It imports the table of `isa/`, the data types of `sass/`, and nothing else of `lift/`.
"""
