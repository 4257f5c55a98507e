"""The report of the paper's experiments: from the rows of a store to chapters."""
