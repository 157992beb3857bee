"""The timing model: one SM, cycle by cycle, with its share of L2 and DRAM, fed by traces."""
