"""What tensors stand on and no task asks for: dtypes, backends, indexing, creation, conversion. Import its modules by name."""
