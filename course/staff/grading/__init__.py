"""Grading submissions."""
