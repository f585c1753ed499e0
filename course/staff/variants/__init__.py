"""Per-student variants of tasks: a few tasks have each student write one more function, with numbers of the student's own."""
