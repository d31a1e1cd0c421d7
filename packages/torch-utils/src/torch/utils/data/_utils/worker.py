"""The names of `torch.utils.data.worker`."""

from ..worker import *  # noqa: F403
from ..worker import _here  # noqa: F401


class _IterableDatasetStopIteration:
    """What a worker of a library's loader sends when its stream has ended."""

    def __init__(self, worker_id):
        self.worker_id = worker_id


class _ResumeIteration:
    """What a library's loader sends a worker that goes on with another pass."""

    def __init__(self, seed=None):
        self.seed = seed


def __getattr__(name):
    if name == "_worker_info":
        from ..worker import get_worker_info

        return get_worker_info()
    if name == "ManagerWatchdog":
        from ..dataloader import ManagerWatchdog

        return ManagerWatchdog
    raise AttributeError(f"module 'torch.utils.data._utils.worker' has no attribute {name!r}")


def _generate_state(base_seed, worker_id):
    """Four 32-bit seeds of a worker for NumPy's generators: ``SeedSequence([worker, low, high, 0])`` of O'Neill's seed_seq
    (pcg-random.org, "Developing a seed_seq Alternative"), in integers.

    >>> _generate_state(1, 2)
    [307626447, 1538850434, 3092219749, 3926071173]
    """
    mask = 0xFFFFFFFF

    def hasher(start, factor):
        state = start

        def run(value):
            nonlocal state
            value ^= state
            state = state * factor & mask
            value = value * state & mask
            return value ^ value >> 16

        return run

    def mix(x, y):
        value = (0xCA01F9DD * x - 0x4973F715 * y) & mask
        return value ^ value >> 16

    absorb, emit = hasher(0x43B0D7E5, 0x931E8875), hasher(0x8B51F9DD, 0x58F38DED)
    pool = [absorb(word) for word in (worker_id, base_seed & mask, base_seed >> 32 & mask, 0)]
    for source in range(4):
        for into in range(4):
            if into != source:
                pool[into] = mix(pool[into], absorb(pool[source]))
    return [emit(word) for word in pool]
