"""Ctrl+C and other signals at the start and at the end of a process.

A handler written in Python may raise anywhere. Between `fork` and the child's own code it would leave a process that is
half the parent and half itself, so signals with such handlers wait there.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import weakref
from multiprocessing import forkserver, resource_tracker, util

INTERRUPTED = 128 + signal.SIGINT  # the exit code by which a shell knows


@contextlib.contextmanager
def held(process):
    """Signals wait while `process` starts, in the child until it runs its function."""
    method = process._start_method or multiprocessing.get_start_method()
    which: set = {signal.SIGINT}
    if method == "fork":
        which |= {number for number in signal.valid_signals() if callable(signal.getsignal(number))}
    else:
        resource_tracker.ensure_running()  # its start would let the signal through again
    if method == "forkserver":
        _prepare_server()
    elif method == "spawn":  # it imports the main module first, and would end that with a traceback
        util.Finalize(process, _end_if_interrupted, (weakref.ref(process),), exitpriority=0)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, which)
    process._held_signals = frozenset(which - before)
    try:
        yield
        if signal.SIGINT in signal.sigpending() and callable(signal.getsignal(signal.SIGINT)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)  # it came for all processes, maybe before this was one of them
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_server() -> None:
    """A fork server that starts now gets the blocked signal for life, and gives it to all that it forks.

    Ours let it in when they run their function, and for those of the standard library a module does that the server
    loads ahead. One that runs already, from before our first process, does without.
    """
    modules = forkserver._forkserver._preload_modules
    if _fork_server not in modules:
        multiprocessing.set_forkserver_preload([*modules, _fork_server])


_fork_server = f"{__package__}._fork_server"


def _end_if_interrupted(reference) -> None:
    """At the end of a program: a process that is to be interrupted as soon as it has imported all need not import it."""
    process = reference()
    if process is None or process._popen is None or process._popen.poll() is not None:
        return
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as file:
        facts = dict(line.split(":", 1) for line in file)
        waiting = (int(facts["SigPnd"], 16) | int(facts["ShdPnd"], 16)) & int(facts["SigBlk"], 16)
        if waiting >> (signal.SIGINT - 1) & 1:
            process.terminate()


def quiet(run, held_signals, ignoring: bool):
    """`run` in a new process: what was held comes now, and an interrupt ends it without a traceback."""

    @functools.wraps(run)
    def guarded():
        if ignoring:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, held_signals)
            run()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one is enough, also while it ends
            sys.exit(INTERRUPTED)

    return guarded
