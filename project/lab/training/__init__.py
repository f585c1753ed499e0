"""Training runs, for programs and pages."""
