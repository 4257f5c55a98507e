"""Rows and matrices turned into tables, figures and one self-contained page."""
