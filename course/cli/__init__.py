"""The student's command line."""
