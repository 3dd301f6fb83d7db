"""Settings for all tests."""

from hypothesis import settings

# the same examples every time: a failure in one place is a failure everywhere
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
