"""The GPU files."""
