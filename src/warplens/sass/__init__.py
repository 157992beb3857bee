"""SASS as typed data.

`model` declares it; `parser` makes it from nvdisasm's text (`operands`) and the machine words
(`control`); `link` lays out a kernel's code; `cfg` finds its basic blocks.
"""
