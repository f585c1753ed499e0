"""What the interactive pages compute."""
