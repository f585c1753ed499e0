"""What to explain in the next lecture: statistics of a class from handed-in records and from grading, without names."""
