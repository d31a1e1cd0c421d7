"""Loaded by a fork server ahead of its processes, because it runs with interrupts blocked (`_interrupts.held`).

A process of the standard library that it forks lets them in here. Ours do it when they run their function, so that an
interrupt from their first moment on ends them quietly.
"""

import signal
from multiprocessing import process, util

from ._context import SharingProcess


def _let_interrupts_in(_) -> None:
    if not isinstance(process.current_process(), SharingProcess):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


util.register_after_fork(_let_interrupts_in, _let_interrupts_in)
