"""What loaders of libraries tell of their workers: here each loader watches its own, and nothing is kept."""

from __future__ import annotations

from typing import Any


def _set_worker_pids(loader_id: int, pids: Any) -> None:
    """Notes the processes of a loader: nothing watches them beside the loader."""


def _remove_worker_pids(loader_id: int) -> None:
    """Forgets them."""


def _error_if_any_worker_fails() -> None:
    """Raises for a worker that died; those of libraries are not known here."""


def _set_worker_signal_handlers() -> None:
    """In a worker: Python's own handlers of signals stay."""


def _set_SIGCHLD_handler() -> None:
    """Python's own handler stays."""
