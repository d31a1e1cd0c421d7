"""Running several modules at once, each on its inputs, in threads."""

from __future__ import annotations

import contextlib

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from torch.nn import Module


__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[torch.device | str | int | None] | None = None,
) -> list[Any]:
    """``[module(*input, **kwargs) ...]``, in one thread each; the first error is raised here. A thread has the device of
    its inputs as the current one, the stream that is current here, and gradients and autocast as they are here.

    >>> torch.nn.parallel.parallel_apply([torch.nn.ReLU()], [(torch.tensor([-1.0, 2.0]),)])
    [tensor([0., 2.])]
    """
    import threading

    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    results = [None] * len(modules)
    given = devices if devices is not None else [None] * len(modules)
    surroundings = [_surroundings(given[i], inputs[i]) for i in range(len(modules))]

    def work(i):
        try:
            with contextlib.ExitStack() as blocks:
                for block in surroundings[i]:
                    blocks.enter_context(block)
                args = inputs[i] if isinstance(inputs[i], (tuple, list)) else (inputs[i],)
                results[i] = (modules[i](*args, **kwargs_tup[i]), None)
        except Exception as error:
            results[i] = (None, error)

    if len(modules) == 1:
        work(0)
    else:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(modules))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for i, (_, error) in enumerate(results):
        if error is not None:
            raise _told(error, i, given[i] if given[i] is not None else _first_device(inputs[i]))
    return [output for output, _ in results]


def _told(error, replica, device):
    """The error with whose it is; as it was, where its class wants other arguments than a text."""
    if device is None:
        return error
    index = torch.device("cuda", device).index if isinstance(device, int) else torch.device(device).index
    try:
        said = type(error)(f"Caught {type(error).__name__} in replica {replica} on device {index}: {error}")
    except Exception:
        return error
    said.__cause__ = error
    return said


def _surroundings(device, given):
    """The blocks in which a module runs on its inputs."""
    blocks = [torch.set_grad_enabled(torch.is_grad_enabled())]
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            cached = torch.is_autocast_cache_enabled()
            blocks.append(torch.autocast(kind, torch.get_autocast_dtype(kind), cache_enabled=cached))
    place = (
        _first_device(given)
        if device is None
        else torch.device(f"cuda:{device}" if isinstance(device, int) else device)
    )
    if place is not None and place.type == "cuda":
        blocks += [torch.cuda.device(place), torch.cuda.stream(torch.cuda.current_stream(place))]
    return blocks


def _first_device(given):
    """The device of the first CUDA tensor in nested inputs, or None."""
    if isinstance(given, torch.Tensor):
        return given.device if given.is_cuda else None
    parts = given.values() if isinstance(given, dict) else given if isinstance(given, (tuple, list)) else ()
    return next(filter(None, map(_first_device, parts)), None)
