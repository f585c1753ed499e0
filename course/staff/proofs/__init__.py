"""Proofs that the tests catch the known wrong answers."""
