"""Running tests: the pytest plugin, progress, watch mode, failure reports."""
