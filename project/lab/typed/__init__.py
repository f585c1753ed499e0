"""Parsers of typed values."""
