"""Reading and writing files of arrays. Import its modules by name."""
