"""Similarity of submissions: which pairs share code that few others wrote, and what supports it."""
