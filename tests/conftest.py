"""Settings that all tests share."""

import signal

# A shell that starts the tests in the background makes them, and every program that they start, ignore Ctrl-C; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
