"""Settings for all tests."""

import signal
import threading

from hypothesis import settings

# the same examples every time: a failure in one place is a failure everywhere
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# a shell's background jobs ignore ctrl-c, and so would all programs that tests start and stop by it
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
