"""Measures a real GPU's constants, for cards that nobody measured before."""

from __future__ import annotations

from warplens.calibrate.card import Card, RealCard
from warplens.calibrate.run import Calibration, Held, assumed, calibrate

__all__ = ["Calibration", "Card", "Held", "RealCard", "assumed", "calibrate"]
