"""Widgets for the app's pages."""
