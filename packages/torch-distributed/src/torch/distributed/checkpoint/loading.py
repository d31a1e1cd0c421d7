"""``load``: every rank reads what it needs, however many ranks have written it."""

from __future__ import annotations

from pathlib import Path

from ._together import Together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .saving import states
from .stateful import Stateful

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill ``state_dict`` from the folder ``checkpoint_id``: tensors in place, other values by those that were saved.

    A tensor that was saved in pieces is put together, whole or as the pieces of a :class:`DTensor`, of any number of
    ranks.  Checkpoints that PyTorch wrote are read too.  Raises KeyError that names what the checkpoint lacks,
    ValueError for a tensor of another shape, and FileNotFoundError when there is no whole checkpoint.
    """
    if storage_reader is None:
        if checkpoint_id is None:
            raise ValueError("checkpoint.load: checkpoint_id must be a folder, got None")
        storage_reader = FileSystemReader(Path(checkpoint_id))
    else:
        storage_reader.reset(checkpoint_id)
    held = states(state_dict)
    _load(held, storage_reader, planner, Together.of(process_group, no_dist))
    for name, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(held[name])
        else:
            state_dict[name] = held[name]


def _load(state_dict, reader, planner, together):
    planner = DefaultLoadPlanner() if planner is None else planner
    first = together.rank == 0

    def local():
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, first)
        reader.set_up_storage_reader(metadata, first)
        return reader.prepare_local_plan(planner.create_local_plan())

    def central(plans):
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    plan = together.step("checkpoint.load", local, central)
    together.step("checkpoint.load", lambda: _read(reader, planner, plan))


def _read(reader, planner, plan):
    reader.read_data(planner.finish_plan(plan), planner).wait()


def load_state_dict(
    state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None
):  # fmt: skip
    """:func:`load` under its older name; values that are no tensors are replaced in ``state_dict``."""
    load(state_dict, storage_reader=storage_reader, planner=planner, process_group=process_group, no_dist=no_dist)
