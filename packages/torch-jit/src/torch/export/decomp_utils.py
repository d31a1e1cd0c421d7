"""The table of decompositions, which programs make and change: here operators are in their final form, and it has no effect."""


class CustomDecompTable(dict):
    """Functions by operator.

    >>> table = CustomDecompTable()
    >>> table["aten::silu"] = len
    >>> table.copy().materialize() == table
    True
    """

    def copy(self) -> "CustomDecompTable":
        """Another table with the same functions."""
        return CustomDecompTable(self)

    def materialize(self) -> dict:
        """The functions as a plain dictionary."""
        return dict(self)
