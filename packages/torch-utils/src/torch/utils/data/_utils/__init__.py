"""Where third-party code looks for the pieces of the loader."""

from .. import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
