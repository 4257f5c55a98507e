"""What the lab does for the paper, for a person's own data: penalties, audit, fit, predict.

These modules read files, compute and return frozen results; they draw and print nothing.
"""
