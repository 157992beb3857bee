"""Sanitizers: memory errors, races, uninitialised reads and bad synchronisation, on the CPU.

`finding.py` says what a finding is, `session.py` runs the passes, `watch.py` holds the native
functions that see every access; the checks themselves are in `memcheck.py`, `racecheck.py`,
`initcheck.py` and `synccheck.py`; `text.py`, `sarif.py` and `html.py` render findings.
"""
