"""`python -m untrue` is `untrue`."""

from __future__ import annotations

from untrue.cli import main

if __name__ == "__main__":
    main()
