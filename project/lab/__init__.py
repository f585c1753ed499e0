"""Code that the pages of the app and the programs share."""
