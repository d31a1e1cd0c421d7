"""What has been learned, kept in files."""

from __future__ import annotations

import os
from pathlib import Path

from .plugin import Interval, Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Checkpoint(Plugin):
    """Writes the trainer's state to a file after each epoch; ``trainer.resume(path)`` goes on from it.

    Register it after the monitors, so that the file has their values of the same epoch.

    Args:
        path: of the file; ``{epoch}`` and ``{iteration}`` in it are replaced by the counts
        interval: when to write
        best: the name of a statistic such as ``"loss.epoch_mean"``: writes only when it is lower than ever before
    """

    def __init__(self, path: str | os.PathLike, interval: Interval | None = None, best: str | None = None) -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        self.path, self.best = str(path), best
        try:
            self.path.format(epoch=0, iteration=0)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(
                f"Checkpoint: a path may name only {{epoch}} and {{iteration}}, got {self.path!r} ({error!r})"
            ) from None
        self.lowest: float | None = None

    def epoch(self, *args: Any) -> None:
        if self.best is not None:
            name, _, value = self.best.partition(".")
            found = self.trainer.stats.get(name, {}).get(value)
            if found is None:
                raise KeyError(f"Checkpoint: {self.best!r} is not in the statistics; write it as 'loss.epoch_mean'")
            if self.lowest is not None and not found < self.lowest:
                return
            self.lowest = found
        path = Path(self.path.format(epoch=self.trainer.epochs, iteration=self.trainer.iterations))
        path.parent.mkdir(parents=True, exist_ok=True)
        self.trainer.save(path)

    iteration = update = epoch

    def state_dict(self) -> dict:
        return {"lowest": self.lowest}

    def load_state_dict(self, state: dict) -> None:
        self.lowest = state["lowest"]
