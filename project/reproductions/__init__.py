"""Results that others have published, computed anew by our own library. `project/reproduce.py` runs them."""
