"""``save``: all ranks write what they hold, each piece once."""

from __future__ import annotations

import concurrent.futures
import copy
import threading
from pathlib import Path

import torch

from .. import _world as world
from ..tensor._dtensor import DTensor, wrap
from ._together import Together
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .stateful import Stateful

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["async_save", "save", "save_state_dict"]


def save(
    state_dict: Any,
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Any:
    """Write ``state_dict`` to the folder ``checkpoint_id``, by all ranks of the group together; its metadata.

    A :class:`DTensor` is written in pieces, by those that hold them.  What several ranks have under one name is equal on
    them, and written by one.  Values are tensors, what ``torch.load`` reads, nested dictionaries and lists of them, and
    objects with ``state_dict``.  Raises ValueError when shapes or dtypes under a name differ, and CheckpointException
    (a RuntimeError) on all ranks when one of them cannot write; the checkpoint before is then still there.

    >>> import tempfile, torch, torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2), "step": 5}, checkpoint_id=folder)
    ...     state = {"w": torch.zeros(2), "step": 0}
    ...     dcp.load(state, checkpoint_id=folder)
    ...     state
    {'w': tensor([1., 1.]), 'step': 5}
    """
    together = Together.of(process_group, no_dist)
    return _save(states(state_dict), _writer("save", checkpoint_id, storage_writer), planner, together)


def _writer(what, checkpoint_id, writer):
    if writer is None:
        if checkpoint_id is None:
            raise ValueError(f"checkpoint.{what}: checkpoint_id must be a folder, got None")
        return FileSystemWriter(Path(checkpoint_id))
    writer.reset(checkpoint_id)
    return writer


def states(state_dict: Any) -> dict:
    """Objects with a state replaced by it."""
    return {name: value.state_dict() if isinstance(value, Stateful) else value for name, value in state_dict.items()}


def _save(state_dict, writer, planner, together):
    planner = DefaultSavePlanner() if planner is None else planner
    first, metadata = together.rank == 0, [None]

    def local():
        planner.set_up_planner(state_dict, writer.storage_meta(), first)
        writer.set_up_storage_writer(first)
        return writer.prepare_local_plan(planner.create_local_plan())

    def central(plans):
        plans, metadata[0] = planner.create_global_plan(plans)
        return writer.prepare_global_plan(plans)

    def write():
        return writer.write_data(planner.finish_plan(plan), planner).wait()

    def finish(results):
        writer.finish(metadata[0], results)
        return [metadata[0]] * together.size

    try:
        plan = together.step("checkpoint.save", local, central)
        return together.step("checkpoint.save", write, finish)
    except Exception:
        if hasattr(writer, "give_up"):
            writer.give_up()
        raise


class Saving(concurrent.futures.Future):
    """What :func:`async_save` returns: ``result()`` waits until the checkpoint is written, or raises why it is not."""

    wait = concurrent.futures.Future.result


def async_save(
    state_dict: Any,
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    **_: Any,
) -> Any:
    """As :func:`save`, in the background, from a copy of the state; a future that is done when it is written.

    >>> import tempfile, torch, torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.async_save({"w": torch.ones(2)}, checkpoint_id=folder).result()
    """
    writer = _writer("async_save", checkpoint_id, storage_writer)
    copies = _copied(states(state_dict))
    together = Together.of(process_group, no_dist)
    if together.group is not None:  # of its own: the job goes on with its collectives meanwhile
        together = Together(world.new_group(world.get_process_group_ranks(together.group)))
    future = Saving()

    def run():
        try:
            metadata = _save(copies, writer, planner, together)
            if together.group is not None:
                world.destroy_process_group(together.group)
            future.set_result(metadata)
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name="torch.distributed checkpoint").start()
    return future


def _copied(value):
    if isinstance(value, DTensor):
        return wrap(value._local_tensor.clone(), value._spec)
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return copy.copy(value)


def save_state_dict(
    state_dict: Any, storage_writer: Any, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False, planner: Any = None
) -> Any:  # fmt: skip
    """:func:`save` under its older name; the first rank of the group is the coordinator."""
    return save(
        state_dict, storage_writer=storage_writer, planner=planner, process_group=process_group, no_dist=no_dist
    )
