"""Standard output that never stops the work: a reader who left, a full disk, a poor alphabet.

`untrue fit ... | head -1` closes the pipe while a model is trained. What cannot be printed is lost;
what was asked for is made all the same.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO


class Unfailing(io.RawIOBase):
    """Passes bytes on until that fails, then drops them and remembers why."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        if self.failure is None:
            left = memoryview(content).cast("B")
            try:
                while left:
                    left = left[self._stream.write(left) or 0 :]
            except OSError as error:
                self.failure = error
        return size

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())


def protect() -> Unfailing | None:
    """Make standard output and error unfailing for the rest of the process: that of the output.

    Signs that their encoding has not are escaped.
    """
    _occupy()
    output = None
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
            continue
        buffer = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)  # unbuffered, it has no raw one below
        if raw is None:
            continue  # replaced by an embedding program
        stream.flush()
        unfailing = Unfailing(raw)
        output = unfailing if name == "stdout" else output
        safe = io.TextIOWrapper(
            io.BufferedWriter(unfailing),
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=getattr(stream, "line_buffering", False) or name == "stderr",
            write_through=getattr(stream, "write_through", False),
        )
        setattr(sys, name, safe)
    return output


def lost(output: Unfailing | None) -> str | None:
    """Why what was printed did not arrive; None if it did, or if its reader has left."""
    try:
        sys.stdout.flush()
    except ValueError:  # closed
        return None
    failure = None if output is None else output.failure
    if failure is None or failure.errno in (errno.EPIPE, errno.EINVAL):  # Windows says EINVAL
        return None
    return failure.strerror or str(failure)


def _occupy() -> None:
    """Where a standard stream is closed, keep its number from a file that is opened later."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
