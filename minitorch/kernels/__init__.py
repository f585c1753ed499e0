"""Compiled code that no student writes: the optimized kernels. Import its modules by name."""
