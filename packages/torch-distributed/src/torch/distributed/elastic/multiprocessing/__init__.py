"""The processes of a job on one machine: what becomes of their output, and of the errors that end them."""

from .api import DefaultLogsSpecs, LogsSpecs, Std
from .errors import ProcessFailure, record

__all__ = ["DefaultLogsSpecs", "LogsSpecs", "ProcessFailure", "Std", "record"]
