"""The store of the threads of one process."""

import threading
import time

from .base import Late, Store
from .table import Missing, Table


class HashStore(Store):
    """A store in the memory of this process, for threads and for groups of one process.

    >>> from torch.distributed import HashStore
    >>> store = HashStore()
    >>> store.compare_set("leader", "", "a"), store.compare_set("leader", "", "b")
    (b'a', b'a')
    """

    def __init__(self):
        super().__init__()
        self._table = Table()
        self._changed = threading.Condition()

    def _apply(self, request, arguments, deadline):
        with self._changed:
            while True:
                try:
                    result = self._table.apply(request, arguments)
                except Missing as missing:
                    if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                        raise Late(f"HashStore.{request}", missing.keys) from None
                else:
                    self._changed.notify_all()
                    return result
