"""A workspace and what changes it: locate, back up, merge, update, reset."""
