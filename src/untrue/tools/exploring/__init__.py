"""A file of predictions made small enough to stand in a page: `untrue explore`."""
