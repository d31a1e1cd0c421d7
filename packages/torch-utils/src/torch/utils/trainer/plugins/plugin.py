"""What all plugins have in common."""

from __future__ import annotations

from typing import Any

Interval = list[tuple[int, str]]


class Plugin:
    """Waits for events of a trainer; subclasses have a method for each event that they wait for.

    Args:
        interval: pairs (n, event): the method named like the event is called each n-th time

    >>> torch.utils.trainer.plugins.plugin.Plugin([(1, "epoch")]).trigger_interval
    [(1, 'epoch')]
    """

    trainer: Any = None

    def __init__(self, interval: Interval | None = None) -> None:
        self.trigger_interval: Interval = [] if interval is None else interval

    def register(self, trainer: Any) -> None:
        """Is called once, when the plugin is added to a trainer."""
        self.trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        """What the plugin has to know again when training is resumed, beside the trainer's ``stats``."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state:
            raise ValueError(f"{type(self).__name__} has no state, and was given {', '.join(map(repr, state))}")
