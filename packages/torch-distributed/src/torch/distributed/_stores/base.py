"""What every store can do, told by the few operations that each of them has in its own way."""

import time
from datetime import timedelta

from .._errors import DistStoreError, QueueEmptyError

DEFAULT_TIMEOUT = timedelta(seconds=300)
LONGEST = 1e9  # seconds, some thirty years: clocks and locks of the system take no more


def to_bytes(value, what="value") -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"Store: {what} must be str or bytes, got {type(value).__name__}")


def to_seconds(timeout, what="timeout") -> float:
    """Seconds of a timedelta or a number; ValueError when they are not positive."""
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{what} must be a timedelta or a number of seconds, got {type(timeout).__name__}")
    if not seconds > 0:
        raise ValueError(f"{what} must be positive, got {timeout}")
    return float(min(seconds, LONGEST))


class Late(Exception):
    """The deadline of the request ``what`` has passed, and ``keys`` are still missing."""

    def __init__(self, what: str, keys):
        super().__init__(what, keys)
        self.what, self.keys = what, keys


class Store:
    """Keys (str) with values (bytes) that all processes of a job see.

    Reading a key waits until it has been set, at most ``timeout``.  A store of another kind is a subclass that
    defines ``_apply(request, arguments, deadline)`` for the requests of :mod:`torch.distributed._stores.table`, and
    raises ``Late`` when the deadline passes.

    >>> from torch.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("greeting", "hello")
    >>> store.get("greeting"), store.add("count", 2), store.add("count", 3)
    (b'hello', 2, 5)
    """

    def __init__(self):
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long a read waits unless it is told otherwise."""
        return self._timeout

    def set_timeout(self, timeout) -> None:
        """Let reads wait for ``timeout`` (a timedelta, or seconds) from now on."""
        self._timeout = timedelta(seconds=to_seconds(timeout))

    def _apply(self, request: str, arguments: tuple, deadline: float):
        raise NotImplementedError(f"{type(self).__name__} does not say how to {request}")

    def _ask(self, request, *arguments, timeout=None):
        seconds = self._timeout.total_seconds() if timeout is None else to_seconds(timeout)
        try:
            return self._apply(request, arguments, time.monotonic() + seconds)
        except Late as late:
            names = ", ".join(key.removeprefix(QUEUE) for key in late.keys)
            raise DistStoreError(
                f"{late.what}: wait timeout after {round(seconds, 3):g} s, keys that were not set: {names}"
            ) from None

    def set(self, key: str, value) -> None:
        """Give ``key`` the value, str or bytes, in place of an earlier one.

        >>> store = torch.distributed.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
        """
        self._ask("set", key, to_bytes(value))

    def get(self, key: str) -> bytes:
        """The value of ``key``, once it has one; DistStoreError after ``timeout``.

        >>> store = torch.distributed.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key")
        b'value'
        """
        return self._ask("get", key)

    def add(self, key: str, amount: int) -> int:
        """Add to the number that ``key`` holds (0 at first) and return the sum.

        >>> store = torch.distributed.HashStore()
        >>> store.add("count", 2), store.add("count", 3)
        (2, 5)
        """
        return int(self._ask("add", key, int(amount)))

    def append(self, key: str, value) -> None:
        """Put ``value`` behind what ``key`` holds."""
        self._ask("append", key, to_bytes(value))

    def compare_set(self, key: str, expected_value, desired_value) -> bytes:
        """Set ``key`` if it holds ``expected_value`` (or, for ``""``, nothing), and return what it holds then.

        A key that does not exist and is expected to hold something stays so, and ``expected_value`` is returned.
        """
        return self._ask("compare_set", key, to_bytes(expected_value), to_bytes(desired_value))

    def delete_key(self, key: str) -> bool:
        """Remove ``key`` and say whether it was there."""
        return bool(self._ask("delete", key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self.list_keys())

    def list_keys(self) -> list:
        """All keys, in alphabetical order."""
        return sorted(k for k in self._ask("keys") if not k.startswith(QUEUE))

    def check(self, keys) -> bool:
        """Whether all ``keys`` exist now."""
        return bool(self._ask("check", *_keys(keys)))

    def wait(self, keys, timeout=None) -> None:
        """Wait until all ``keys`` exist; DistStoreError that names the missing ones after ``timeout``.

        >>> store = torch.distributed.HashStore()
        >>> store.set("key", "value")
        >>> store.wait(["key"]) is None
        True
        """
        self._ask("wait", *_keys(keys), timeout=timeout)

    def multi_get(self, keys) -> list:
        """The values of several keys, once all exist."""
        return self._ask("multi_get", *_keys(keys))

    def multi_set(self, keys, values) -> None:
        """Set several keys at once."""
        keys, values = _keys(keys), list(values)
        if len(keys) != len(values):
            raise ValueError(f"Store.multi_set: {len(keys)} keys and {len(values)} values")
        self._ask("multi_set", *keys, *map(to_bytes, values))

    def queue_push(self, key: str, value) -> None:
        """Put a value at the end of the queue ``key``."""
        self._ask("push", QUEUE + key, to_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value out of the queue ``key``; QueueEmptyError when there is none and ``block`` is False."""
        if block:
            return self._ask("pop", QUEUE + key)
        value = self._ask("try_pop", QUEUE + key)
        if value is None:
            raise QueueEmptyError(f"Store.queue_pop: queue {key!r} is empty")
        return value

    def queue_len(self, key: str) -> int:
        """How many values wait in the queue ``key``."""
        return int(self._ask("queue_len", QUEUE + key))

    def barrier(self, key: str, world_size: int, timeout=None) -> None:
        """Wait until ``world_size`` callers have come to the barrier ``key``."""
        if self.add(f"{key}/came", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], timeout)

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are there."""
        return True

    def clone(self) -> "Store":
        """The same store for use by another thread (ours serve several threads as they are)."""
        return self


QUEUE = "\0queue/"


def _keys(keys) -> list:
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"Store: keys must be a list of str, got {keys!r}")
    return list(keys)
