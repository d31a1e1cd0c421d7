"""The loss."""

from .monitor import Monitor


class LossMonitor(Monitor):
    """Keeps the loss of each iteration and its averages in ``stats["loss"]``."""

    stat_name = "loss"

    def _get_value(self, iteration, input, target, output, loss) -> float:
        return loss
