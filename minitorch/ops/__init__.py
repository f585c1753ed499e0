"""Operations beyond the course that PyTorch has: elementwise functions, indexing by tensors, linear algebra."""
