"""The tests of warplens; a package so that `python -m tests.fuzz` works."""
