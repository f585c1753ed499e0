"""CUDA code that no student writes: device memory and the optimized kernels. Import its modules by name."""
