"""The version of the package; below everything, since reports and result files carry it."""

__version__ = "0.2.0"
