"""A part of another store, under a name of its own."""

from .base import QUEUE, Store

WITH_KEYS = {"wait", "check", "multi_get"}


class PrefixStore(Store):
    """Another store's keys below ``prefix/``, so that two users of one store do not meet.

    >>> from torch.distributed import HashStore, PrefixStore
    >>> below = HashStore()
    >>> PrefixStore("first", below).set("key", "value")
    >>> below.list_keys(), PrefixStore("first", below).list_keys()
    (['first/key'], ['key'])
    """

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: store must be a Store, got {type(store).__name__}")
        self._prefix = prefix
        self._store = store
        self._timeout = store.timeout

    @property
    def underlying_store(self) -> Store:
        """The store that holds the keys."""
        return self._store

    def set_timeout(self, timeout) -> None:
        super().set_timeout(timeout)
        self._store.set_timeout(timeout)

    def _long(self, key):
        queue = QUEUE if key.startswith(QUEUE) else ""
        return f"{queue}{self._prefix}/{key.removeprefix(queue)}"

    def _apply(self, request, arguments, deadline):
        if request == "keys":
            start = self._prefix + "/"
            return [k.removeprefix(start) for k in self._store._apply(request, (), deadline) if k.startswith(start)]
        count = len(arguments) if request in WITH_KEYS else len(arguments) // 2 if request == "multi_set" else 1
        arguments = (*map(self._long, arguments[:count]), *arguments[count:])
        return self._store._apply(request, arguments, deadline)

    def clone(self):
        return PrefixStore(self._prefix, self._store.clone())
