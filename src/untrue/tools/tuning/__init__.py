"""The parts of `untrue tune`: examples in parts, trained settings kept in a file, the search."""
