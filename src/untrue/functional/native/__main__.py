"""`python -m untrue.functional.native`: which backend is in use, and why."""

from untrue.functional.native import described

print(described())
