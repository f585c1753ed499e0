"""Generating a student's workspace from the reference."""
