"""Steps that all ranks take together: what goes wrong on one of them is said on all."""

from .. import _objects
from .. import _world as world

__all__ = ["CheckpointException", "Together"]


class CheckpointException(RuntimeError):
    """Something went wrong on a rank; ``failures`` has the errors as text by rank."""

    def __init__(self, what: str, failures: dict):
        self.failures = failures
        said = "; ".join(f"rank {rank}: {text}" for rank, text in failures.items())
        super().__init__(f"{what}: {said}" if failures else what)

    def __reduce__(self):
        return _again, (str(self), self.__dict__.get("failures", {}))


def _again(text, failures):
    made = CheckpointException(text, {})
    made.failures = failures
    return made


class Together:
    """The ranks of a group, or (None) only this process."""

    def __init__(self, group):
        self.group = group
        self.rank, self.size = (0, 1) if group is None else (group.rank(), group.size())

    @classmethod
    def of(cls, group, no_dist):
        return cls(None if no_dist or not world.is_initialized() else world.resolve(group))

    def step(self, what: str, local, central=None):
        """``local()`` on every rank; then its own of what ``central(results)`` makes on the first rank, one for each."""
        if self.group is None:
            mine = local()
            return mine if central is None else central([mine])[0]
        mine, failed = _guarded(local)
        everyone = [None] * self.size if self.rank == 0 else None
        _objects.gather_object((mine, failed), everyone, group=self.group, group_dst=0)
        answers = None
        if self.rank == 0:
            failures = {rank: error for rank, (_, error) in enumerate(everyone) if error is not None}
            made = None
            if not failures and central is not None:
                made, failed = _guarded(lambda: central([value for value, _ in everyone]))
                failures = {} if failed is None else {0: failed}
            answers = [(None if made is None else made[rank], failures) for rank in range(self.size)]
        mine_again = [None]
        _objects.scatter_object_list(mine_again, answers, group=self.group, group_src=0)
        answer, failures = mine_again[0]
        if failures:
            raise CheckpointException(what, failures)
        return mine if central is None else answer


def _guarded(function):
    try:
        return function(), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
