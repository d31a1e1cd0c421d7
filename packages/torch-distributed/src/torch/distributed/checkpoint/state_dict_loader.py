"""Where libraries look for ``load``."""

from .loading import load, load_state_dict

__all__ = ["load", "load_state_dict"]


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)
