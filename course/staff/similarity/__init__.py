"""Similarity of submissions: which pairs share code that few others have, and the evidence for it."""
