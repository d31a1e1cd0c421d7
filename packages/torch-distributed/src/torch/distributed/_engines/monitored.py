"""A barrier by way of the store, for engines that cannot tell which of their ranks is missing."""

import time
from datetime import timedelta

from .._errors import DistBackendError, DistStoreError


def monitored_barrier(store, rank, ranks, number, patience, all_ranks, name):
    """Return when all have come; DistBackendError on every rank with those that have not within ``patience`` seconds.

    ``number`` counts a group's barriers; without ``all_ranks`` the first who is missing is named.
    """
    said = f"monitored_barrier (collective {number} of group {name})"
    prefix = f"monitored_barrier/{number}"
    if rank:
        store.set(f"{prefix}/{rank}", b"here")
        try:  # rank 0 names those who are missing: it is given the time to say so
            store.wait([f"{prefix}/answer"], timedelta(seconds=patience + 5))
        except DistStoreError:
            raise DistBackendError(
                f"{said}: rank {ranks[0]} failed to pass monitored_barrier within {patience:g} s"
            ) from None
        answer = store.get(f"{prefix}/answer")
    else:
        answer, missing = b"passed", []
        deadline = time.monotonic() + patience
        for other in range(1, len(ranks)):
            try:
                store.wait([f"{prefix}/{other}"], timedelta(seconds=max(0.001, deadline - time.monotonic())))
            except DistStoreError:
                missing.append(str(ranks[other]))
                if not all_ranks:
                    break
        if missing:
            answer = f"rank {', '.join(missing)} failed to pass monitored_barrier within {patience:g} s".encode()
        store.set(f"{prefix}/answer", answer)
    if answer != b"passed":
        raise DistBackendError(f"{said}: {answer.decode()}")
