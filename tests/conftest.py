"""For every test: no deadlines (a busy machine is no bug) and one thread (tensors are small)."""

import signal

import torch
from hypothesis import settings

settings.register_profile("untrue", deadline=None)
settings.load_profile("untrue")

torch.set_num_threads(1)

# Started in the background, the suite would ignore Ctrl-C, and so would every process it starts:
# those that test an interrupt would run for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
