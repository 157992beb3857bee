"""The version of the package; below everything, since reports and result files carry it."""

__version__ = "0.1.0"
