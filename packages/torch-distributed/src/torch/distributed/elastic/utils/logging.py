"""Loggers by the name of who asks."""

import logging
import os
import sys

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of a name, or of the calling module; its level is that of LOGLEVEL in the environment.

    >>> get_logger("trainer").name
    'trainer'
    """
    logger = logging.getLogger(name or sys._getframe(1).f_globals.get("__name__", "__main__"))
    logger.setLevel(os.environ.get("LOGLEVEL", "WARNING").upper())
    return logger
