"""A fuzzer over every reader of files and every option: `make fuzz`, or `python -m fuzz --help`.

A case is a seed and a number. From them a generator makes a file, a folder or a command line, valid
or nearly so, and a reader takes it. A case is clean when it is accepted, or refused in a sentence,
within its limits of time and memory. Anything else is a finding: another kind of error, a warning
of a library, a crash, a hang, a NaN in an answer, a file left behind.

values     texts, names and numbers that break programs, and mutations of bytes
files      penalties, trees, tables, predictions, arrays, experiments
folders    images, models, stores
commands   whole command lines, with every option that the commands declare
runner     each case in a process of its own kind, its limits, what it came to
"""
