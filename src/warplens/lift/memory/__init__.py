"""Code for instructions that access memory: loads, stores, atomics, matrices, copies, mbarriers.

`sites.py`, `addresses.py` and `checks.py` hold what they share; rows and patterns served without a
call stand in `inline_rows.py`, `lane_rows.py` and `shared_loads.py`. The room imports every other
one but `control/`.
"""
