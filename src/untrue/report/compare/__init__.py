"""The chapter of a comparison of methods."""
