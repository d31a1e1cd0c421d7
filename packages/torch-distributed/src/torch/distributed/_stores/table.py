"""The dictionary behind a store: what each request does to it, and which keys it still has to wait for."""

from collections import deque
from collections.abc import Sequence


class Missing(Exception):
    """The request must wait until these keys exist."""

    def __init__(self, keys):
        super().__init__(*keys)
        self.keys = keys


class Table:
    """Values by key; ``apply`` runs one request, or raises Missing and leaves everything as it was.

    >>> table = Table()
    >>> table.apply("add", ("n", 5)), table.apply("get", ("n",))
    (5, b'5')
    >>> table.apply("wait", ("n", "m"))
    Traceback (most recent call last):
    torch.distributed._stores.table.Missing: m
    """

    def __init__(self):
        self.values: dict = {}

    def apply(self, request: str, arguments: Sequence):
        if type(request) is not str or request not in TAKES:
            raise ValueError(f"Store: there is no request {request!r:.40}")
        _check(request, arguments)
        return getattr(self, "do_" + request)(*arguments)

    def need(self, keys):
        missing = [key for key in keys if key not in self.values]
        if missing:
            raise Missing(missing)

    def do_set(self, key, value):
        self.values[key] = value

    def held(self, key, kind):
        """What a key holds; TypeError when that is a queue and a value is wanted, or the other way round."""
        value = self.values[key]
        if type(value) is not kind:
            raise TypeError(f"Store: key {key!r} holds a {'queue' if kind is bytes else 'value'}")
        return value

    def do_get(self, key):
        self.need([key])
        return self.held(key, bytes)

    def do_add(self, key, amount):
        held = self.held(key, bytes) if key in self.values else b"0"
        try:
            total = int(held) + amount
        except ValueError:
            raise ValueError(f"Store.add: key {key!r} holds {held[:40]!r}, which is not a number") from None
        self.values[key] = b"%d" % total
        return total

    def do_append(self, key, value):
        self.values[key] = (self.held(key, bytes) if key in self.values else b"") + value

    def do_compare_set(self, key, expected, desired):
        held = self.held(key, bytes) if key in self.values else None
        if held == expected or (held is None and not expected):
            self.values[key] = desired
            return desired
        return expected if held is None else held

    def do_delete(self, key):
        return self.values.pop(key, None) is not None

    def do_keys(self):
        return list(self.values)

    def do_check(self, *keys):
        return all(key in self.values for key in keys)

    def do_wait(self, *keys):
        self.need(keys)

    def do_multi_get(self, *keys):
        self.need(keys)
        return [self.held(key, bytes) for key in keys]

    def do_multi_set(self, *keys_and_values):
        half = len(keys_and_values) // 2
        self.values.update(zip(keys_and_values[:half], keys_and_values[half:], strict=True))

    def do_push(self, key, value):
        self.values.setdefault(key, deque())
        self.held(key, deque).append(value)

    def do_pop(self, key):
        self.need([key])
        value = self.held(key, deque).popleft()
        if not self.values[key]:
            del self.values[key]
        return value

    def do_try_pop(self, key):
        return self.do_pop(key) if key in self.values else None

    def do_queue_len(self, key):
        return len(self.held(key, deque)) if key in self.values else 0


# By request, what it takes; the last of "keys" and "pairs" stands for any number.
TAKES: dict[str, tuple] = {
    "set": (str, bytes),
    "get": (str,),
    "add": (str, int),
    "append": (str, bytes),
    "compare_set": (str, bytes, bytes),
    "delete": (str,),
    "keys": (),
    "check": ("keys",),
    "wait": ("keys",),
    "multi_get": ("keys",),
    "multi_set": ("pairs",),
    "push": (str, bytes),
    "pop": (str,),
    "try_pop": (str,),
    "queue_len": (str,),
}


def _check(request, arguments):
    """TypeError for arguments that the request does not take: they come from other processes, and from files."""
    kinds = TAKES[request]
    if kinds == ("keys",):
        kinds = (str,) * len(arguments)
    elif kinds == ("pairs",):
        half = len(arguments) // 2
        kinds = (str,) * half + (bytes,) * half
    if len(kinds) != len(arguments) or any(type(given) is not kind for given, kind in zip(arguments, kinds)):
        wanted = ", ".join(kind.__name__ for kind in kinds)
        given = ", ".join(type(argument).__name__ for argument in arguments[:8])
        raise TypeError(f"Store.{request} takes ({wanted[:80]}), got ({given})")


READS = {"get", "wait", "multi_get", "pop"}
"""Requests that may have to wait."""
