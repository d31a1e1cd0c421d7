"""One run of a checkpointed part: placeholders for what it saves, and the second run that fills them."""

from __future__ import annotations

import contextlib
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks

from .casts import autocast_as, autocast_states
from .devices import get_device_states, set_device_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor


class CheckpointError(RuntimeError):
    """The part did something else when it ran again."""


class _Place:
    """Stands for tensor number `index` of those that the first run saved; holds it between the second run and its use."""

    __slots__ = ("__weakref__", "index", "value")

    def __init__(self, index: int) -> None:
        self.index = index
        self.value = None


class _Stop(Exception):
    """Everything that was saved at first has been saved again."""


class Part:
    """One run of a checkpointed part, able to run again."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        preserve: Any,
        context: Any,
        compare: Any,
        early_stop: Any,
        debug: Any,
    ) -> None:
        self._call = function, args, kwargs
        self._random = random_states(args, kwargs) if preserve else None
        self._casts = autocast_states()
        self._context = context
        self._compare = compare
        self._early_stop = early_stop
        self._debug = debug
        self._facts: list[tuple] = []
        self._places: weakref.WeakValueDictionary[int, _Place] = weakref.WeakValueDictionary()
        self.complete = False

    def pack(self, tensor: Tensor) -> Any:
        place = _Place(len(self._facts))
        self._facts.append(_facts(tensor))
        self._places[place.index] = place
        return place

    def unpack(self, place: _Place) -> Any:
        if not self.complete:
            raise CheckpointError("checkpoint: a backward pass began inside the part before it had ended")
        if place.value is None:
            self._run_again()
        return place.value

    def _run_again(self) -> None:
        function, args, kwargs = self._call
        count = 0

        def keep(tensor):
            nonlocal count
            index, count = count, count + 1
            if index >= len(self._facts):
                raise CheckpointError(
                    f"checkpoint: the part saved {len(self._facts)} tensors for its backward pass at first, and more when it "
                    "ran again: it does not do the same each time (does it read a flag, a counter or the time?)"
                )
            if self._compare and _facts(tensor) != self._facts[index]:
                raise CheckpointError(
                    f"checkpoint: tensor {index} of {len(self._facts)} saved for backward was {_words(self._facts[index])} "
                    f"at first and is {_words(_facts(tensor))} when the part runs again: it does not do the same each time"
                )
            if (place := self._places.get(index)) is not None:
                place.value = tensor.detach()
            if self._early_stop and count == len(self._facts):
                raise _Stop
            return tensor

        with random_state(self._random), torch.enable_grad(), autocast_as(self._casts), self._context:
            with saved_tensors_hooks(keep, _unused), contextlib.suppress(_Stop):
                function(*args, **kwargs)
        if count != len(self._facts):
            raise CheckpointError(
                f"checkpoint: the part saved {len(self._facts)} tensors for its backward pass at first, and {count} when it "
                "ran again: it does not do the same each time"
            )


def _unused(tensor):
    return tensor


def _facts(tensor) -> tuple:
    return tuple(tensor.shape), tensor.dtype, tensor.device


def _words(facts) -> str:
    shape, dtype, device = facts
    return f"{shape} {dtype} on {device}"


def random_states(*args: Any) -> Any:
    """How the CPU and the devices of the tensors in `args` go on drawing."""
    return torch.get_rng_state(), *get_device_states(*args)


@contextlib.contextmanager
def random_state(states: Any) -> Any:
    """Draws within go on as `random_states` found them, those after as if there had been none."""
    if states is None:
        yield
        return
    state, devices, of_devices = states
    with torch.random.fork_rng(devices=devices):
        torch.set_rng_state(state)
        set_device_states(devices, of_devices)
        yield
