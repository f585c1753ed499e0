"""Outputs of grading: each file here writes one kind of output, from results only."""
