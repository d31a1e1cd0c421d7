"""From where to where a size may go."""

from dataclasses import dataclass
from typing import Any


class ValueRangeError(RuntimeError):
    """A range whose end lies before its beginning."""


@dataclass(frozen=True)
class ValueRanges:
    """The values from `lower` to `upper`, both included.

    >>> 3 in ValueRanges(2, 5), ValueRanges(2, 5) & ValueRanges(4, 9)
    (True, ValueRanges(lower=4, upper=5))
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        if self.upper < self.lower:
            raise ValueRangeError(f"Invalid ranges [{self.lower}:{self.upper}]")

    def __contains__(self, value: Any) -> bool:
        return self.lower <= value <= self.upper

    def __and__(self, other: "ValueRanges") -> "ValueRanges":
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def is_singleton(self) -> bool:
        """Whether there is one value.

        >>> ValueRanges(2, 2).is_singleton()
        True
        """
        return self.lower == self.upper
