"""Hyper-parameter search: many runs of a training program with different settings."""
