"""Settings of all pipes that a pipe is made of."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: Any) -> list[Any]:
    """The pipes in a tree of `traverse_dps`, each once."""
    found: dict[int, Any] = {}

    def walk(tree):
        for key, (pipe, below) in tree.items():
            if key not in found:
                found[key] = pipe
                walk(below)

    walk(graph)
    return list(found.values())


def _takes_sharding(pipe):
    method = getattr(pipe, "apply_sharding", None)
    return method if inspect.ismethod(method) else None


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Tells the pipes that share a stream out which part is theirs; RuntimeError when one lies behind another."""

    def walk(tree, shared):
        for pipe, below in tree.values():
            method = _takes_sharding(pipe)
            if method is not None:
                if shared is not None:
                    raise RuntimeError(
                        f"Sharding twice on a single pipeline is likely unintended: {pipe!r} and {shared!r}"
                    )
                if len(inspect.signature(method).parameters) < 3:
                    method(num_of_instances, instance_id)
                else:
                    method(num_of_instances, instance_id, sharding_group=sharding_group)
            walk(below, pipe if method is not None else shared)

    walk(traverse_dps(datapipe), None)
    return datapipe


def _shuffles(pipe):
    return inspect.ismethod(getattr(pipe, "set_shuffle", None)) and inspect.ismethod(getattr(pipe, "set_seed", None))


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the shuffling of all pipes on or off; with True, a pipe that has none gets it at its end."""
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _shuffles(pipe)]
    if not shufflers and shuffle:
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: torch.Generator) -> Any:
    """A seed for each pipe that draws, from one generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if inspect.ismethod(getattr(pipe, "set_seed", None)):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe


apply_shuffle_seed = apply_random_seed
