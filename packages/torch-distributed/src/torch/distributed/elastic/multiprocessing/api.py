"""Which output of which rank goes to files, and which to the console."""

import enum
import os
import re

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "Std"]


class Std(enum.IntFlag):
    """Streams of a process, as ``--redirects`` and ``--tee`` of ``torchrun`` name them.

    >>> Std.from_str("3") is Std.ALL, Std.from_str("0:1,1:2")
    (True, {0: <Std.OUT: 1>, 1: <Std.ERR: 2>})
    """

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str):
        """The streams of ``"3"``, of all ranks; of ``"0:1,1:2"``, a dict by the rank on the machine."""
        text = str(vm)
        if re.fullmatch("[0-3]", text):
            return cls(int(text))
        if re.fullmatch(r"\d+:[0-3](,\d+:[0-3])*", text):
            return {int(rank): cls(int(std)) for rank, std in (pair.split(":") for pair in text.split(","))}
        raise ValueError(f'expected 0, 1, 2 or 3, or RANK:STREAMS pairs such as "0:3,1:2", got {text!r}')


def of_rank(streams, rank: int) -> Std:
    """What a setting says of one rank; those that a dict does not name have none."""
    return Std(streams.get(rank, Std.NONE)) if isinstance(streams, dict) else Std(streams)


class LogsSpecs:
    """Where the ranks of a job on this machine write their output.

    Args:
        log_dir: the folder of the files, one below it for each attempt and rank
        redirects: streams that go to files only; of all ranks, or by rank
        tee: streams that go to files and to the console
        local_ranks_filter: the ranks whose output the console shows; all of them unless given
    """

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        self._log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = None if local_ranks_filter is None else set(local_ranks_filter)
        for setting in (redirects, tee):
            for rank, value in setting.items() if isinstance(setting, dict) else [(0, setting)]:
                if not isinstance(rank, int) or value not in (0, 1, 2, 3):
                    raise ValueError(
                        f"{type(self).__name__}: expected a Std, or a dict of them by rank, got {setting!r}"
                    )

    @property
    def root_log_dir(self):
        """The folder of the files."""
        return self._log_dir


class DefaultLogsSpecs(LogsSpecs):
    """``stdout.log`` and ``stderr.log`` of each rank, in the folders ``attempt_N/RANK`` of ``log_dir``.

    >>> DefaultLogsSpecs("/tmp/logs", redirects=Std.ERR).root_log_dir
    '/tmp/logs'
    """

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        super().__init__(None if log_dir is None else os.fspath(log_dir), redirects, tee, local_ranks_filter)
