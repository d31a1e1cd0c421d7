"""The loss."""

from .monitor import Monitor


class LossMonitor(Monitor):
    """Keeps the loss of each iteration and its averages in ``stats["loss"]``.

    >>> torch.utils.trainer.plugins.loss.LossMonitor.stat_name
    'loss'
    """

    stat_name = "loss"

    def _get_value(self, iteration, input, target, output, loss) -> float:
        return loss
