"""Textures and surfaces: objects, and the unit that serves the instructions for them."""
