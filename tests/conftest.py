"""Settings of all tests: property tests draw the same examples everywhere and watch no clock."""

from hypothesis import settings

settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
