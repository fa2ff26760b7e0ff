"""Starts servers of badserver.py for the tests beside it, each in a process of its own.

To start Python anew for each of them would take longer than the tests do. So
this reads the file once, and forks: each line of the standard input holds the
arguments of one server, which prints the number of its process and then that it
is ready. Servers end with the standard input, or when
they are told to by a signal.
"""
import os
import runpy
import signal
import sys

badserver = runpy.run_path(sys.argv[1], run_name="badserver")
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that have ended
started = []
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        print("pid", os.getpid(), flush=True)
        sys.argv[1:] = line.split()
        badserver["main"]()
        os._exit(0)
    started.append(pid)
for pid in started:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
