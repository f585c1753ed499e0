"""Published results of others, reproduced with our own library. `project/reproduce.py` runs them."""
