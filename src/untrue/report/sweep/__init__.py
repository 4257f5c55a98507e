"""Chapters of the paper's experiments."""
