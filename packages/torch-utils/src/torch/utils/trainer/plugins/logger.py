"""Statistics as lines of text."""

from __future__ import annotations

from .plugin import Interval, Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Logger(Plugin):
    """Prints statistics after iterations and epochs.

    Args:
        fields: names such as ``"loss"``, which shows what its monitor proposes, or ``"loss.running_avg"``
        interval: when to print; the default is after each iteration and each epoch
        file: where to; the default is standard output

    >>> torch.utils.trainer.plugins.logger.Logger(["loss"]).fields
    [['loss']]
    """

    separator = "  "

    def __init__(self, fields: list[str] | tuple[str, ...], interval: Interval | None = None, file: Any = None) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")] if interval is None else interval)
        if isinstance(fields, str):
            raise TypeError(f"Logger: fields is a list of names, got one str: Logger([{fields!r}])")
        self.fields = [field.split(".") for field in fields]
        self.file = file

    def iteration(self, iteration: int, *args: Any) -> None:
        self._print("", "log_iter_fields")

    def epoch(self, epoch: int) -> None:
        self._print(f"epoch {epoch}: ", "log_epoch_fields")

    def _print(self, begin: str, which: str) -> None:
        texts = [text for field in self.fields if (text := self._text(field, which))]
        if texts:
            print(begin + self.separator.join(texts), file=self.file, flush=True)

    def _text(self, field: list[str], which: str) -> str:
        stats = self.trainer.stats
        if field[0] not in stats:
            known = f"there are {', '.join(map(repr, stats))}" if stats else "register a monitor, such as LossMonitor()"
            raise KeyError(f"Logger: there is no {field[0]!r} in the statistics; {known}")
        values = stats[field[0]]
        if len(field) == 1:
            shown = " ".join(form.format(**values) for form in values.get(which, ()))
            return shown and f"{field[0]}: {shown}"
        for name in field[1:]:
            if name not in values:
                known = ", ".join(map(repr, values))
                raise KeyError(f"Logger: {'.'.join(field)!r} is not in the statistics; {field[0]!r} has {known}")
            values = values[name]
        return f"{'.'.join(field)}: {values:.4f}" if isinstance(values, float) else f"{'.'.join(field)}: {values}"
