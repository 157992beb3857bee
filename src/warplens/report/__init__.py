"""Reporters: they read `warplens.result` and print. Nothing is measured or computed here.

`terminal` writes ncu's text pages, `csv` its comma-separated pages, `json` raw numbers, `numbers`
holds units and number formats, `jupyter` the small HTML table of a notebook.
"""
