"""Measurements of our library against other programs, in the same run."""
