"""A bar of progress, for terminals and notebooks."""

from __future__ import annotations

from typing import Any

from .plugin import Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


class ProgressBar(Plugin):
    """Shows each epoch as a bar of tqdm, with the last values of some statistics beside it.

    Args:
        fields: names of statistics whose running average, or last value, is shown
        options: for tqdm, such as ``leave=False`` or ``file=...``
    """

    def __init__(self, fields: list[str] | tuple[str, ...] = ("loss",), **options: Any) -> None:
        super().__init__([(1, "batch"), (1, "iteration"), (1, "epoch")])
        self.fields, self.options = fields, options
        self._bar: Any = None

    def register(self, trainer: Any) -> None:
        super().register(trainer)
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ModuleNotFoundError("ProgressBar needs tqdm: pip install tqdm") from None
        self._tqdm = tqdm

    def batch(self, iteration: int, input: Tensor, target: Tensor) -> None:
        if self._bar is None:
            try:
                total = len(self.trainer.dataset)
            except TypeError:
                total = None
            self._bar = self._tqdm(total=total, desc=f"epoch {self.trainer.epochs + 1}", **self.options)

    def iteration(self, iteration: int, *args: Any) -> None:
        stats = self.trainer.stats
        values = {
            name: stats[name].get("running_avg", stats[name].get("last")) for name in self.fields if name in stats
        }
        self._bar.set_postfix({k: f"{v:.4g}" for k, v in values.items() if v is not None}, refresh=False)
        self._bar.update()

    def epoch(self, epoch: int) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
