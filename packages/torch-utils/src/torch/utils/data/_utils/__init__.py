"""Where third-party code looks for the pieces of the loader, which in PyTorch are here."""

from importlib.util import find_spec

from ..report import ExceptionWrapper
from . import collate, fetch, pin_memory, signal_handling, worker

MP_STATUS_CHECK_INTERVAL = (
    5.0  # seconds; the unit of their time limits. Our loader sees at once what becomes of a worker
)
HAS_NUMPY = find_spec("numpy") is not None
python_exit_status = False  # whether the interpreter ends; nothing here needs to be told

__all__ = [
    "HAS_NUMPY",
    "MP_STATUS_CHECK_INTERVAL",
    "ExceptionWrapper",
    "collate",
    "fetch",
    "pin_memory",
    "python_exit_status",
    "signal_handling",
    "worker",
]
