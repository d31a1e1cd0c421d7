"""Functions of torch.nn that a recording holds as one call: what they are made of says less than their name."""

from __future__ import annotations

import functools
import inspect
import threading

import torch
from torch.jit import _native
from torch.nn import functional as F
from torch.nn.modules.rnn import RNNBase

from ._beneath import is_needed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: functions of torch.nn.functional
FUNCTIONS = ("embedding_bag", "grid_sample", "instance_norm", "interpolate", "one_hot", "scaled_dot_product_attention")
_active = threading.local()


def recurrent(input: Any, states: Any, weights: Any, mode: str, layers: int, bidirectional: bool, bias: bool) -> Any:
    """All layers and directions of an RNN, LSTM or GRU over (T, N, in): outputs, then the last states.

    ``weights`` are those of each layer and direction, one after another: of the input, of the state, and the two biases.

    >>> net = torch.nn.GRU(2, 3)
    >>> x, h = torch.ones(4, 1, 2), torch.zeros(1, 1, 3)
    >>> out, last = recurrent(x, [h], list(net.parameters()), "GRU", 1, False, True)
    >>> torch.equal(out, net(x)[0])
    True
    """
    recorder = getattr(_active, "recorder", None)
    if recorder is not None and not is_needed((input, states), {}):
        arguments = {
            "input": input, "states": states, "weights": weights, "mode": mode, "layers": layers,
            "bidirectional": bidirectional, "bias": bias,
        }  # fmt: skip
        return _apart(recorder.leaf, "recurrent", recurrent, arguments, lambda: _layers(**arguments))
    return _layers(input, states, weights, mode, layers, bidirectional, bias)


def _layers(input, states, weights, mode, layers, bidirectional, bias):
    from torch.nn.modules._recurrence import STEPS, run

    directions, each = 2 if bidirectional else 1, 4 if bias else 2
    first = list(zip(*(s.unbind(0) for s in states), strict=True))
    x, last = input, []
    for layer in range(layers):
        outputs = []
        for way in range(directions):
            i = layer * directions + way
            own = [*weights[i * each : (i + 1) * each], *[None] * (5 - each)]
            output, state = run(STEPS[mode], x, None, first[i], tuple(own), bool(way))
            outputs.append(output)
            last.append(state)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
    return (x, *(torch.stack(s) for s in zip(*last, strict=True)))


def standing_in(recorder: Any) -> Any:
    """While the block runs, this thread's calls of such functions go to ``recorder.leaf``."""
    functions = [(F, name, _stand_in(name, getattr(F, name))) for name in FUNCTIONS]
    return _native.Replaced(
        [*functions, (RNNBase, "_run", _stand_in_for_rnn(RNNBase._run)), (_active, "recorder", recorder)]
    )


def unseen(function: Any) -> Any:
    """Call a function whose calls of such functions are not recorded."""
    return _apart(lambda: function())


def _stand_in(name, function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*args, **kwargs):
        recorder = getattr(_active, "recorder", None)
        if recorder is None or is_needed(args, kwargs):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _apart(recorder.leaf, name, function, dict(bound.arguments), lambda: function(*args, **kwargs))

    return called


def _apart(leaf, *arguments):
    """What runs inside of a leaf is not recorded."""
    recorder, _active.recorder = _active.recorder, None
    try:
        return leaf(*arguments)
    finally:
        _active.recorder = recorder


def _stand_in_for_rnn(run):
    def called(self, x, batch_sizes, first):
        recorder = getattr(_active, "recorder", None)
        plain = batch_sizes is None and not self.proj_size and not (self.dropout and self.training)
        if recorder is None or not plain or is_needed((x, first), {}):
            return run(self, x, batch_sizes, first)
        weights = [w for suffix, _ in self._places() for w in self._matrices(suffix) if w is not None]
        output, *states = recurrent(
            x, list(first), weights, self.mode, self.num_layers, self.bidirectional, bool(self.bias)
        )
        return output, tuple(states)

    return called
