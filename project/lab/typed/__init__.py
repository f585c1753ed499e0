"""Parsers of typed input: expressions, arrays, shapes and chains of operations."""
