"""Tests of the runners."""
