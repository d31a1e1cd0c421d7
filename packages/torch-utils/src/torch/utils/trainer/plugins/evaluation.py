"""The model on data that it does not learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext

import torch

from .plugin import Interval, Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Evaluation(Plugin):
    """Runs the model over another data set after each epoch, and keeps means over it in ``stats[name]``.

    Args:
        dataset: gives pairs (input, target)
        metrics: functions of (output, target), by name; the mean over a batch each, which counts by its samples.
            The default is the trainer's criterion as ``loss``
        name: of the statistics
    """

    def __init__(
        self,
        dataset: Iterable,
        metrics: Mapping[str, Callable] | None = None,
        name: str = "test",
        interval: Interval | None = None,
    ) -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        self.dataset, self.metrics, self.name = dataset, metrics, name

    def register(self, trainer: Any) -> None:
        super().register(trainer)
        self.metrics = {"loss": trainer.criterion} if self.metrics is None else self.metrics
        fields = [f"{name} {{{name}:.4f}}" for name in self.metrics]
        trainer.stats[self.name] = {"log_iter_fields": [], "log_epoch_fields": fields}

    def epoch(self, *args: Any) -> None:
        with getattr(torch, "no_grad", nullcontext)():  # without torch-autograd there are no gradients
            self._evaluate()

    def _evaluate(self) -> None:
        assert self.metrics is not None
        model = self.trainer.model
        training = getattr(model, "training", False)
        if training:
            model.eval()
        sums, count = dict.fromkeys(self.metrics, 0.0), 0
        try:
            for input, target in self.dataset:
                output = model(input)
                weight = len(target) if hasattr(target, "__len__") else 1
                count += weight
                for name, metric in self.metrics.items():
                    sums[name] += float(metric(output, target)) * weight
        finally:
            if training:
                model.train()
        if not count:
            raise ValueError(f"Evaluation {self.name!r}: the data set gave no samples")
        self.trainer.stats[self.name].update({name: total / count for name, total in sums.items()})

    iteration = update = epoch
