"""What all schedules of sparsity do."""

from __future__ import annotations

import functools
import warnings

from ..sparsifier.base_sparsifier import BaseSparsifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["BaseScheduler"]


class BaseScheduler:
    """The base of schedules, which override :meth:`get_sl`: the sparsity of each group at ``self.last_epoch``.

    ``base_sl`` are those that the groups had. TypeError for what is no sparsifier.
    """

    def __init__(self, sparsifier: BaseSparsifier, last_epoch: int = -1, verbose: bool = False) -> None:
        self.sparsifier = sparsifier
        self.base_sl = [group["sparsity_level"] for group in self._groups()]
        self.last_epoch = last_epoch
        if not hasattr(sparsifier.step, "_counts"):
            sparsifier.step = _counting(sparsifier, sparsifier.step)
        sparsifier._step_count = 0
        self._step_count = 0
        self.verbose = verbose
        self._get_sl_called_within_step = False
        self.step()

    def state_dict(self) -> dict[str, Any]:
        """All of the schedule but the sparsifier."""
        return {name: value for name, value in self.__dict__.items() if name != "sparsifier"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what :meth:`state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_sl(self) -> list[float]:
        """The sparsities that were set last."""
        return self._last_sl

    def get_sl(self) -> list[float]:
        """The sparsity of each group at ``self.last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} must override get_sl")

    def print_sl(self, is_verbose: bool, group: int, sl: float, epoch: int | None = None) -> None:
        """Prints the sparsity of a group, when ``is_verbose``."""
        if is_verbose:
            at = "" if epoch is None else f"Epoch {epoch:5d}: "
            print(f"{at}adjusting sparsity level of group {group} to {sl:.4e}.")

    def step(self, epoch: int | None = None) -> None:
        """Sets the sparsities of the next epoch, or of ``epoch``."""
        if self._step_count == 1 and self.sparsifier._step_count < 1:
            warnings.warn(
                f"{type(self).__name__}.step() before sparsifier.step(): the first sparsity is passed over",
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_sl_called_within_step = True
        try:
            values = self.get_sl()
        finally:
            self._get_sl_called_within_step = False
        for i, (group, sl) in enumerate(zip(self.sparsifier.groups, values, strict=True)):
            group["sparsity_level"] = sl
            self.print_sl(self.verbose, i, sl, epoch)
        self._last_sl = [group["sparsity_level"] for group in self.sparsifier.groups]
        self.sparsifier.enable_mask_update = True

    def _groups(self) -> list[dict[str, Any]]:
        if not isinstance(self.sparsifier, BaseSparsifier):
            raise TypeError(f"{type(self.sparsifier).__name__} is not an instance of torch.ao.pruning.BaseSparsifier")
        return self.sparsifier.groups

    def _for_groups(self, value: Any) -> list[Any]:
        """A value for each group."""
        count = len(self._groups())
        if not isinstance(value, (list, tuple)):
            return [value] * count
        if len(value) != count:
            raise ValueError(f"{type(self).__name__}: expected {count} values, one for each group, got {len(value)}")
        return list(value)


def _counting(sparsifier, step):
    @functools.wraps(step)
    def counted(*args, **kwargs):
        sparsifier._step_count += 1
        return step(*args, **kwargs)

    counted._counts = True
    return counted
