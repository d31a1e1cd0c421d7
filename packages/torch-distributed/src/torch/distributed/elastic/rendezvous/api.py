# ruff: noqa: F401
"""The errors under the name of the module that PyTorch has them in."""

from . import (
    RendezvousClosedError,
    RendezvousConnectionError,
    RendezvousError,
    RendezvousParameters,
    RendezvousStateError,
    RendezvousTimeoutError,
)
