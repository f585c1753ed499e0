"""Measurements beside other programs, in one run."""
