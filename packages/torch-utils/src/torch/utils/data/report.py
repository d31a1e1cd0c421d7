"""Errors of workers on their way to the process that trains, and the words for what a worker was doing."""

from __future__ import annotations

import pickle
import signal
import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class KeyErrorMessage(str):
    """Text of a KeyError, which would otherwise show its newlines escaped."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, which can be pickled where a traceback cannot.

    Example:
        >>> try:
        ...     1 / 0
        ... except ZeroDivisionError as e:
        ...     wrapper = ExceptionWrapper(e, "in worker 0")
        >>> wrapper.exc_type
        <class 'ZeroDivisionError'>
    """

    def __init__(self, exc_info: Any = None, where: str = "in a worker") -> None:
        """`exc_info` is an exception or what `sys.exc_info()` gives, which is also the default."""
        error = sys.exc_info() if exc_info is None else exc_info
        if isinstance(error, tuple):
            error = error[1]
        self.exc_type = type(error)
        self.exc_name = self.exc_type.__name__
        self.exc_msg = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.where = where

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__
        try:
            pickle.dumps(self.exc_type)
        except Exception:  # a class of a function's body
            state = {**state, "exc_type": RuntimeError}
        return state

    def reraise(self) -> None:
        """Raises an exception of the same class, whose text tells where it happened and shows the traceback."""
        text = f"Caught {self.exc_name} {self.where}.\nOriginal {self.exc_msg}"
        if issubclass(self.exc_type, KeyError):
            text = KeyErrorMessage(text)
        try:
            error = self.exc_type(text)
        except BaseException:  # a constructor with other arguments
            raise RuntimeError(text) from None
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, and with it the iterator and its workers


def exit_text(code: int | None) -> str:
    """What ended a process, in words.

    >>> exit_text(-9)
    'is killed by signal: SIGKILL'
    """
    if code is None:
        return "ended"
    if code >= 0:
        return f"exited unexpectedly with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"is killed by signal: {name}"


# Of a process that was not forked.
UNBORN = (
    " Its own message, above, tells why: it imports the main program, which must be a file that starts its work below "
    "`if __name__ == '__main__':`, and looks up classes and functions in their modules by name; what a notebook or a "
    "function defines is not there."
)


def hint(code: int | None) -> str:
    """A likely reason for the end of a process."""
    return {
        -signal.SIGKILL: " The system kills processes so when memory runs out (see dmesg).",
        -signal.SIGBUS: " This happens when shared memory or a mapped file has no room: see --shm-size, --ipc=host.",
        -signal.SIGSEGV: " Native code in the data set crashed: look there with num_workers=0 and python -X faulthandler.",
        -signal.SIGABRT: " Native code in the data set gave up.",
    }.get(code or 0, "")
