"""Properties are checked without a deadline: a busy machine is no bug."""

from hypothesis import settings

settings.register_profile("untrue", deadline=None)
settings.load_profile("untrue")
