"""A term of a class: its roster and policy, what was handed in when, what each student has earned, and why it changed."""
