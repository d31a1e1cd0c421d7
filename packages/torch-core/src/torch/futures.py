"""Values that are not there yet."""

from __future__ import annotations

import threading
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, TypeVar

    _T = TypeVar("_T")

    class _Of(Generic[_T]): ...

else:

    class _Of:
        __class_getitem__ = classmethod(types.GenericAlias)


__all__ = ["Future", "collect_all", "wait_all"]


class Future(_Of["_T"]):
    """A value that another thread will set.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda f: 2 * f.wait())
    >>> future.set_result(3)
    >>> doubled.wait(), future.done()
    (6, True)
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._value = self._error = None
        self._callbacks = []

    def done(self) -> bool:
        """Whether the value, or an error in its place, is there."""
        return self._done

    def wait(self) -> _T:
        """Wait for the value and return it, or raise the error that was set in its place."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> _T:
        """The value, which must be there; RuntimeError otherwise."""
        if not self._done:
            raise RuntimeError("Future.value: the future has no result yet; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Set the value, once; RuntimeError the second time."""
        self._set(result, None)

    def set_exception(self, result: Any) -> None:
        """Set an error that :meth:`wait` raises in place of a value."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(None, result)

    def _set(self, value, error):
        with self._changed:
            if self._done:
                raise RuntimeError("Future.set_result: the future has its result already")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Any) -> None:
        """Call ``callback(future)`` when the value is there, on the thread that sets it; at once when it is there already."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Any) -> Any:
        """A future of what ``callback(future)`` will return."""
        after = Future()

        def run(future):
            try:
                after.set_result(callback(future))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(run)
        return after


def collect_all(futures: Any) -> Any:
    """A future of the list of futures, there when all of them are."""
    futures = list(futures)
    everything = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one_more(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            everything.set_result(futures)

    if not futures:
        everything.set_result(futures)
    for future in futures:
        future.add_done_callback(one_more)
    return everything


def wait_all(futures: Any) -> list[Any]:
    """The values of all futures; raises the first error, after all are done."""
    return [future.wait() for future in collect_all(futures).wait()]
