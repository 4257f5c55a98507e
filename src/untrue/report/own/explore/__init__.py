"""The page of `untrue explore`: its template, its style and its scripts, and how they are put
together. The scripts are plain JavaScript, one file for each topic."""
