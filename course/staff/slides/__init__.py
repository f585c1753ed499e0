"""Slides for lectures: a deck for each module, from Markdown with figures of the book and code of the course's files."""
