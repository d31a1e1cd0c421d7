"""The loop: batches, steps of the optimizer, and events that plugins wait for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.optim import Optimizer


EVENTS = ("iteration", "batch", "epoch", "update")


class Trainer:
    """Trains a model on the batches of a data set, and calls plugins when something happens.

    =====================================================  ==================================================
    method of a plugin                                     is called
    =====================================================  ==================================================
    ``batch(iteration, input, target)``                    before the step of the optimizer
    ``iteration(iteration, input, target, output, loss)``  after it; output and loss are without gradients
    ``update(iteration, model)``                           after that, when all of the above have been called
    ``epoch(epoch)``                                       after each pass over the data set
    =====================================================  ==================================================

    Iterations and epochs are counted from 1, and go on counting over several calls of `run`. ``stats`` is where plugins
    leave what they found, for the ones that print or keep it.

    Args:
        model: makes an output of an input
        criterion: makes a loss of an output and a target
        optimizer: with ``zero_grad()`` and ``step(closure)``
        dataset: gives pairs (input, target), such as a DataLoader

    Example:
        >>> class Steps:
        ...     def zero_grad(self): pass
        ...     def step(self, closure): closure()
        >>> class Loss(float):
        ...     def backward(self): pass
        >>> from torch.utils.trainer.plugins import LossMonitor, Logger
        >>> trainer = Trainer(lambda x: 2 * x, lambda y, t: Loss(abs(y - t)), Steps(), [(1, 3), (2, 4), (3, 3)])
        >>> trainer.register_plugin(LossMonitor())
        >>> trainer.register_plugin(Logger(["loss"]))
        >>> trainer.run()
        loss: 1.0000 (1.0000)
        loss: 0.0000 (0.7000)
        loss: 3.0000 (1.3900)
        epoch 1: loss: 1.3333
    """

    def __init__(
        self,
        model: Any = None,
        criterion: Any = None,
        optimizer: Optimizer | None = None,
        dataset: Iterable | None = None,
    ) -> None:
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.dataset = dataset
        self.iterations = 0
        self.epochs = 0
        self.stats: dict[str, dict[str, Any]] = {}
        self.plugins: list[Any] = []
        self.plugin_queues: dict[str, list[tuple[int, Callable]]] = {event: [] for event in EVENTS}
        self._stopped = False

    def register_plugin(self, plugin: Any) -> None:
        """Adds a plugin; at one event plugins are called in the order in which they were added."""
        if isinstance(plugin, type) or not hasattr(plugin, "trigger_interval"):
            made = (
                f"the class {plugin.__name__}: make one, {plugin.__name__}(...)"
                if isinstance(plugin, type)
                else repr(plugin)
            )
            raise TypeError(f"Trainer.register_plugin: expected a plugin, got {made}")
        if any(plugin is known for known in self.plugins):
            raise ValueError(f"Trainer.register_plugin: this {type(plugin).__name__} is registered already")
        waits = []
        for every, event in _pairs(plugin):
            if event not in EVENTS:
                raise ValueError(
                    f"{type(plugin).__name__} waits for {event!r}; events are {', '.join(map(repr, EVENTS))}"
                )
            if not isinstance(every, int) or every < 1:
                raise ValueError(f"{type(plugin).__name__}: an interval is a number of times from 1 on, got {every!r}")
            if not callable(getattr(plugin, event, None)):
                raise TypeError(f"{type(plugin).__name__} waits for {event!r} and has no method {event}()")
            waits.append((event, every))
        plugin.register(self)
        self.plugins.append(plugin)
        for event, every in waits:
            self.plugin_queues[event].append((every, getattr(plugin, event)))

    def call_plugins(self, queue_name: str, time: int, *args: Any) -> None:
        """Calls the plugins that wait for an event at this count of it."""
        for every, method in self.plugin_queues[queue_name]:
            if time % every == 0:
                method(time, *args)

    def run(self, epochs: int = 1) -> None:
        """Trains for so many more epochs, or until `stop` is called."""
        missing = [n for n in ("model", "criterion", "optimizer", "dataset") if getattr(self, n) is None]
        if missing:
            raise ValueError(f"Trainer.run: no {' and no '.join(missing)} was given: Trainer({missing[0]}=...)")
        for name in ("model", "criterion", "optimizer"):
            if isinstance(given := getattr(self, name), type):
                raise TypeError(f"Trainer.run: {name} is the class {given.__name__}: make one, {given.__name__}(...)")
        if not isinstance(epochs, int) or epochs < 0:
            raise ValueError(f"Trainer.run: epochs is a number from 0 on, got {epochs!r}")
        self._stopped = False
        for _ in range(epochs):
            self.train()
            self.epochs += 1
            self.call_plugins("epoch", self.epochs)
            if self._stopped:
                break

    def stop(self) -> None:
        """Ends the run after the current iteration, or epoch; for plugins."""
        self._stopped = True

    def train(self) -> None:
        """One pass over the data set."""
        assert self.dataset is not None
        batch = None
        for batch in self.dataset:
            if not isinstance(batch, (tuple, list)) or len(batch) != 2:
                raise TypeError(f"Trainer: the data set gives pairs (input, target), got {_described(batch)}")
            self._step(*batch)
            if self._stopped:
                return
        if batch is None:
            raise ValueError(
                f"Trainer: the data set, a {type(self.dataset).__name__}, gave no batches in epoch {self.epochs + 1} "
                "(an iterator or generator gives its batches once; a list or a DataLoader gives them in each epoch)"
            )

    def _step(self, input, target) -> None:
        self.iterations += 1
        self.call_plugins("batch", self.iterations, input, target)
        first: list[Any] = []

        def closure():
            self.optimizer.zero_grad()
            output = self.model(input)
            loss = self.criterion(output, target)
            if not hasattr(loss, "backward"):
                raise TypeError(
                    f"Trainer: the criterion gives a loss with backward(), a Tensor; got {_described(loss)}"
                )
            loss.backward()
            if not first:  # some optimizers look several times: plugins see the model as it was before the step
                first[:] = _detached(output), _detached(loss)
            return loss

        self.optimizer.step(closure)
        if not first:
            raise RuntimeError(
                f"Trainer: {type(self.optimizer).__name__}.step(closure) returned without calling the closure"
            )
        self.call_plugins("iteration", self.iterations, input, target, *first)
        self.call_plugins("update", self.iterations, self.model)

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on: counts, statistics, model, optimizer, plugins and the state of random numbers."""
        return {
            "iterations": self.iterations,
            "epochs": self.epochs,
            "stats": {name: dict(values) for name, values in self.stats.items()},
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "plugins": [plugin.state_dict() for plugin in self.plugins],
            "random": torch.get_rng_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave; the same plugins must have been registered, in the same order."""
        parts = ("iterations", "epochs", "stats", "model", "optimizer", "plugins", "random")
        if not isinstance(state, dict) or any(name not in state for name in parts):
            raise ValueError(f"Trainer: this is not what Trainer.state_dict() gives, a dict of {', '.join(parts)}")
        if len(state["plugins"]) != len(self.plugins):
            raise ValueError(
                f"Trainer: the state is of {len(state['plugins'])} plugins, and {len(self.plugins)} are registered: "
                "register the same ones before resuming"
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.iterations, self.epochs = state["iterations"], state["epochs"]
        for name, values in state["stats"].items():
            self.stats.setdefault(name, {}).update(values)
        for plugin, values in zip(self.plugins, state["plugins"]):
            plugin.load_state_dict(values)
        torch.set_rng_state(state["random"])

    def save(self, path: str | os.PathLike) -> None:
        """Writes a checkpoint."""
        torch.save(self.state_dict(), path)

    def resume(self, path: str | os.PathLike) -> None:
        """Goes on from a checkpoint: after the epochs that it has, ``run(total - trainer.epochs)`` does the rest."""
        self.load_state_dict(torch.load(path))


def _pairs(plugin) -> list[tuple]:
    interval = plugin.trigger_interval
    if not isinstance(interval, (list, tuple)) or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 for p in interval
    ):
        raise TypeError(f"{type(plugin).__name__}: interval is a list of pairs such as (1, 'epoch'), got {interval!r}")
    return list(interval)


def _detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    if type(value) in (tuple, list):
        return type(value)(_detached(v) for v in value)
    if isinstance(value, dict):
        return {name: _detached(v) for name, v in value.items()}
    return value


def _described(batch) -> str:
    return (
        f"{len(batch)} things in a {type(batch).__name__}"
        if isinstance(batch, (tuple, list))
        else f"a {type(batch).__name__}"
    )
