"""What a store holds, for a report: rows of the runs, arms of equal settings, chapters."""
