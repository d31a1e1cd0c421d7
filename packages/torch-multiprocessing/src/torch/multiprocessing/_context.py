"""The start methods of `multiprocessing`, with processes that can share tensors, and our queues and pools."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context as base
import os

from . import _interrupts, _segments


class SharingProcess:
    """What each start method's Process adds.

    A segment for the child, made by its parent; and an end without a traceback when the child is interrupted, since
    Ctrl+C reaches every process of a terminal and the parent's traceback says enough.
    """

    ignores_interrupts = False  # set before `start`: the parent ends it
    _provision = None
    _held_signals: frozenset = frozenset()

    def start(self):
        _segments.prune()
        self._provision = _segments.provide(self)
        with _interrupts.held(self), _segments.starting(self):
            super().start()
            _segments.started(self)

    def _bootstrap(self, *args, **kwargs):
        _segments.adopt(self._provision)
        self.run = _interrupts.quiet(self.run, self._held_signals, self.ignores_interrupts)
        return super()._bootstrap(*args, **kwargs)

    def join(self, timeout=None):
        super().join(timeout)
        _segments.prune()


class Process(SharingProcess, multiprocessing.Process):
    """`multiprocessing.Process`, whose tensors travel by handle.

    Example:
        >>> import torch.multiprocessing as mp
        >>> process = mp.Process(target=print, args=("hello",))
        >>> process.start(); process.join(); process.exitcode
        0
    """


class ForkProcess(SharingProcess, base.ForkProcess):
    pass


class SpawnProcess(SharingProcess, base.SpawnProcess):
    pass


class ForkServerProcess(SharingProcess, base.ForkServerProcess):
    pass


class SharingContext:
    """Queues and pools of a context."""

    def get_context(self, method=None):
        """This context, or the one of another start method."""
        return self if method is None else get_context(method)

    def Queue(self, maxsize=0):
        """A queue of any objects, with room for `maxsize` of them (0: no limit); tensors travel by handle."""
        from .queue import Queue

        return Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize=0):
        """A queue that also counts the tasks done."""
        from .queue import JoinableQueue

        return JoinableQueue(maxsize, ctx=self.get_context())

    def Pool(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None):
        """A pool of worker processes."""
        from .pool import Pool

        return Pool(processes, initializer, initargs, maxtasksperchild, context=self.get_context())


class ForkContext(SharingContext, base.ForkContext):
    Process = ForkProcess


class SpawnContext(SharingContext, base.SpawnContext):
    Process = SpawnProcess


class ForkServerContext(SharingContext, base.ForkServerContext):
    Process = ForkServerProcess


_contexts = {"fork": ForkContext(), "spawn": SpawnContext(), "forkserver": ForkServerContext()}


def get_context(method: str | None = None):
    """The context of a start method, or of the one that is set for the process.

    >>> torch.multiprocessing.get_context("spawn").get_start_method()
    'spawn'
    """
    if method is None:
        method = multiprocessing.get_start_method()
    if method not in _contexts:
        raise ValueError(f"cannot find context for {method!r}; there are {sorted(_contexts)}")
    return _contexts[method]


def _has_no_children() -> None:
    # The standard library would end its parent's daemons, such as the workers of a loader, when a child of os.fork exits.
    multiprocessing.process._children.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_has_no_children)
