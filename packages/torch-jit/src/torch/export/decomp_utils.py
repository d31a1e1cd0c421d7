"""The table of decompositions: what exported programs put in the place of operators, which users make and change."""

from typing import Any

from ._core_aten import table


class CustomDecompTable(dict):
    """Functions by operator, at first what turns a program into core ATen. To take an operator out keeps it in programs, also
    one that is not in the table.

    >>> table = CustomDecompTable()
    >>> table.pop(torch.ops.aten.conv2d.default)
    <what aten.conv2d.default is made of>
    >>> table.pop(torch.ops.aten.relu.default), table.copy().materialize() == table
    (None, True)
    """

    def __init__(self) -> None:
        super().__init__(table())

    def pop(self, operator: Any, *default: Any) -> Any:
        """Take an operator out."""
        return super().pop(operator, *(default or (None,)))

    def copy(self) -> "CustomDecompTable":
        """Another table with the same functions."""
        made = CustomDecompTable()
        made.clear()
        made.update(self)
        return made

    def materialize(self) -> dict:
        """The functions as a plain dictionary."""
        return dict(self)
