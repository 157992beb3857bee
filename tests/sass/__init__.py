"""Tests of the SASS parser, control codes and basic blocks."""
