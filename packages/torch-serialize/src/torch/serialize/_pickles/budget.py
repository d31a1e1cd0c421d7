"""What reading one file may cost beyond its own bytes."""

from __future__ import annotations

from .._errors import FileFormatError
from .._options import options

AT_LEAST = 1 << 16  # what a file of any size may take: small files of few long numbers


class Copies:
    """Counts down the elements that the calls of a pickle of `size` bytes copy and hash, and those of files within it."""

    def __init__(self, size: int):
        self._size = size
        self._left = allowance(size)

    def pay(self, elements: int) -> None:
        """Takes `elements`, or raises `OverflowError` where so many are not left."""
        self._left -= elements
        if self._left < 0:
            raise OverflowError(f"its calls copy far more than its {self._size} bytes can mean. {way_out()}")


class Budget:
    """Counts down what copies and unpacks for a file of `size` bytes; `what` is the file's name in messages."""

    def __init__(self, size: int, what: str):
        self._what = what
        self._size = size
        self._times = options.expansion
        self._left = allowance(size)

    def pay(self, count: int, reason: str) -> None:
        """Takes `count` bytes for `reason`, or raises where so many are not left."""
        if count > self._left:
            raise FileFormatError(
                f"load: {self._what}: {reason} take more room than all of the file should: {count} bytes more than was "
                f"counted before, and the limit is {self._times} times its {self._size} bytes. {way_out()}"
            )
        self._left -= count


def allowance(size: int) -> int:
    """What a file or pickle of `size` bytes may have copied, in bytes or in elements."""
    return AT_LEAST + int(options.expansion * size)


def way_out() -> str:
    """What to do about a limit, for messages."""
    return (
        f"If you trust who made the file: torch.serialization.set_default_load_expansion({2 * options.expansion:g}) "
        "doubles the limit"
    )
