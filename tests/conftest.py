"""What holds for all tests: how long one takes says nothing of whether it passes."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
