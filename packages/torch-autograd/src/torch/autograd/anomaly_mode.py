"""Finding the operation behind a bad gradient."""

from __future__ import annotations

from warnings import warn

from ._C import _get_anomaly, _set_anomaly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]


def set_anomaly_enabled(mode: Any, check_nan: bool = True) -> None:
    """Switches anomaly detection on or off until the next call."""
    _set_anomaly(mode, check_nan)


class set_detect_anomaly:
    """Switches anomaly detection on or off: backward names the stack of the operation at fault, and nan is an error.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     print(torch.is_anomaly_enabled())
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = _set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        _set_anomaly(*self.before)


class detect_anomaly:
    """As a context: anomaly detection is on within it. Run the forward pass inside too, so that its stack is known.

    >>> import torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     loss = torch.ones(2, requires_grad=True).sum()
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = _set_anomaly(True, self.check_nan)

    def __exit__(self, *error: Any) -> None:
        _set_anomaly(*self.before)


def is_anomaly_enabled() -> Any:
    return _get_anomaly()[0]


def is_anomaly_check_nan_enabled() -> Any:
    return _get_anomaly()[1]


def _traceback():
    """Called by the tape when anomaly detection is on: the stack of the operation being recorded."""
    from traceback import format_stack

    return "".join(format_stack()[:-1])


def _warn(text):
    """Called by the engine when a derivative fails while anomaly detection is on."""
    warn(text, stacklevel=2)
