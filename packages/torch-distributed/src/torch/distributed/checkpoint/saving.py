"""``save`` and ``load``: which rank writes what, the files, and the index."""

import contextlib
import json
import os
import secrets
import threading
from pathlib import Path

import torch
from torch.futures import Future

from .. import _objects
from .. import _world as world
from .stateful import Stateful

__all__ = ["async_save", "load", "save"]

INDEX = "index.json"


def save(
    state_dict,
    *,
    checkpoint_id=None,
    storage_writer=None,
    planner=None,
    process_group=None,
    no_dist=False,
    use_collectives=True,
):
    """Write ``state_dict`` to the folder ``checkpoint_id``, by all ranks of the group together.

    What several ranks have under one key is equal on them, and written by one.  Values are tensors, what
    ``torch.load`` reads, nested dictionaries and lists of them, and objects with ``state_dict``.  Raises ValueError on
    all ranks when shapes or dtypes under a key differ, and RuntimeError when one of them cannot write.

    >>> import tempfile, torch, torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcp.save({"w": torch.ones(2), "step": 5}, checkpoint_id=folder)
    ...     state = {"w": torch.zeros(2), "step": 0}
    ...     dcp.load(state, checkpoint_id=folder)
    ...     state
    {'w': tensor([1., 1.]), 'step': 5}
    """
    _refuse(storage_writer=storage_writer, planner=planner)
    _write(_flatten(_states(state_dict)), _folder("save", checkpoint_id), _ranks(process_group, no_dist))


def async_save(
    state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False, **_
):
    """As :func:`save`, in the background, from a copy of the state; a future that is done when it is written.

    >>> import tempfile, torch, torch.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcp.async_save({"w": torch.ones(2)}, checkpoint_id=folder).wait()
    """
    _refuse(storage_writer=storage_writer, planner=planner)
    folder = _folder("async_save", checkpoint_id)
    copies = {
        k: v.detach().clone() if isinstance(v, torch.Tensor) else v for k, v in _flatten(_states(state_dict)).items()
    }
    group = _ranks(process_group, no_dist)
    if group is not None:  # of its own: the job goes on with its collectives meanwhile
        group = world.new_group(world.get_process_group_ranks(group))
    future = Future()

    def run():
        try:
            _write(copies, folder, group)
            if group is not None:
                world.destroy_process_group(group)
            future.set_result(None)
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name="torch.distributed checkpoint").start()
    return future


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Fill ``state_dict`` from the folder ``checkpoint_id``: tensors in place, other values by those that were saved.

    Raises KeyError that names the keys that the checkpoint lacks, ValueError for a tensor of another shape, and
    FileNotFoundError when there is no whole checkpoint.
    """
    _refuse(storage_reader=storage_reader, planner=planner)
    folder = _folder("load", checkpoint_id)
    index = _index(folder)
    if index is None:
        raise FileNotFoundError(f"checkpoint.load: {folder} holds no checkpoint (no {INDEX})")
    states = _states(state_dict)
    wanted = _flatten(states)
    if missing := [key for key in wanted if key not in index["keys"]]:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise KeyError(f"checkpoint.load: {folder} has no {shown}")
    by_file: dict = {}
    for key in wanted:
        by_file.setdefault(index["keys"][key]["file"], []).append(key)
    for key, value in wanted.items():
        shape = index["keys"][key]["shape"]
        if isinstance(value, torch.Tensor) and (shape is None or list(value.shape) != shape):
            saved = "no tensor" if shape is None else f"a tensor of shape {tuple(shape)}"
            raise ValueError(
                f"checkpoint.load: {key} is a tensor of shape {tuple(value.shape)}, the checkpoint has {saved}"
            )
    for file, keys in by_file.items():
        saved = torch.load(folder / file)
        for key in keys:
            if isinstance(wanted[key], torch.Tensor):
                with torch.no_grad():
                    wanted[key].copy_(saved[key])
            else:
                _put(states, json.loads(key), saved[key])
    for name, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _refuse(**given):
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"torch.distributed.checkpoint: {name} is not there; give a folder as checkpoint_id"
            )


def _folder(what, checkpoint_id) -> Path:
    if checkpoint_id is None:
        raise ValueError(f"checkpoint.{what}: checkpoint_id must be a folder, got None")
    return Path(checkpoint_id)


def _ranks(group, no_dist):
    return None if no_dist or not world.is_initialized() else world.resolve(group)


def _states(state_dict):
    return {name: value.state_dict() if isinstance(value, Stateful) else value for name, value in state_dict.items()}


def _flatten(value, path=()):
    """The leaves of nested dictionaries and lists by the JSON text of their path."""
    if isinstance(value, dict) and value and all(isinstance(k, (str, int)) for k in value):
        children = value.items()
    elif isinstance(value, list) and value:
        children = enumerate(value)
    else:
        return {json.dumps(path): value}
    leaves = {}
    for name, child in children:
        leaves |= _flatten(child, (*path, name))
    return leaves


def _put(tree, path, value):
    for name in path[:-1]:
        tree = tree[name]
    tree[path[-1]] = value


def _index(folder):
    try:
        return json.loads((folder / INDEX).read_text())
    except FileNotFoundError:
        return None


def _together(group, value):
    """Every rank's value, by rank."""
    if group is None:
        return [value]
    everyone = [None] * group.size()
    _objects.all_gather_object(everyone, value, group)
    return everyone


def _write(leaves, folder, group):
    rank = 0 if group is None else group.rank()
    about = {
        key: [list(v.shape), str(v.dtype), v.numel() * v.element_size()]
        if isinstance(v, torch.Tensor)
        else [None, None, 1]
        for key, v in leaves.items()
    }
    everyone = _together(group, (about, secrets.token_hex(8)))
    token = everyone[0][1]  # names of files that no earlier checkpoint of the folder has
    owners, loads, shapes = {}, [0] * len(everyone), {}
    for key in dict.fromkeys(key for have, _ in everyone for key in have):
        holders = [r for r, (have, _) in enumerate(everyone) if key in have]
        kinds = {json.dumps(everyone[r][0][key]): r for r in reversed(holders)}
        if len(kinds) > 1:
            (a, r), (b, s) = sorted(kinds.items(), key=lambda one: one[1])[:2]
            raise ValueError(f"checkpoint.save: {key} is {a} (shape, dtype, bytes) on rank {r} and {b} on rank {s}")
        owner = min(holders, key=lambda r: loads[r])
        owners[key], shapes[key] = owner, everyone[owner][0][key][0]
        loads[owner] += everyone[owner][0][key][2]
    ours = {key: leaves[key] for key, owner in owners.items() if owner == rank}
    failed = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if ours:
            torch.save({k: _apart(v) for k, v in ours.items()}, folder / _file(token, rank))
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    wrong = [f"rank {r}: {text}" for r, text in enumerate(_together(group, failed)) if text]
    if not wrong and rank == 0:
        try:
            _publish(folder, {key: {"file": _file(token, owners[key]), "shape": shapes[key]} for key in owners})
        except OSError as error:
            failed = f"{type(error).__name__}: {error}"
    wrong = wrong or [f"rank {r}: {text}" for r, text in enumerate(_together(group, failed)) if text]
    if wrong:
        with contextlib.suppress(OSError):
            (folder / _file(token, rank)).unlink()
        raise RuntimeError(f"checkpoint.save: {folder}: {'; '.join(wrong)}")


def _apart(value):
    """A view would be saved with the whole memory that it looks into."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return value.clone() if value.untyped_storage().nbytes() > value.numel() * value.element_size() else value
    return value


def _file(token, rank):
    return f"{token}_{rank}.pt"


def _publish(folder, keys):
    """From here on the new checkpoint is the folder's; then the files of the one before go."""
    before = _index(folder)
    temporary = folder / f"{INDEX}.{os.getpid()}"
    with open(temporary, "w") as file:
        json.dump({"version": 1, "keys": keys}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / INDEX)
    if before is not None:
        for old in {entry["file"] for entry in before["keys"].values()}:
            (folder / old).unlink(missing_ok=True)
