"""For every test: no deadlines (a busy machine is no bug) and one thread (tensors are small)."""

import torch
from hypothesis import settings

settings.register_profile("untrue", deadline=None)
settings.load_profile("untrue")

torch.set_num_threads(1)
