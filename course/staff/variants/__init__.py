"""Variants of tasks: in a few tasks, each student writes one more function, with individual parameters."""
