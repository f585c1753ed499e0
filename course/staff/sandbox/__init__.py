"""Running untrusted code."""
