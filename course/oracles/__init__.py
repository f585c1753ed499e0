"""Oracles: what each function that students write must return, computed by NumPy or plain Python."""
