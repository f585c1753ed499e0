"""The computations of the interactive pages."""
