"""Recurrent layers and cells."""

from __future__ import annotations

import math
import warnings

import torch
from torch import _seams
from torch._seams import in_lower_precision

from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._count import layers
from ._recurrence import GATES, STEPS, product, unroll
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters for each layer and direction, and the walk over them.

    The parameters of layer k are ``weight_ih_l{k}`` (gates * hidden, in), ``weight_hh_l{k}``, ``bias_ih_l{k}``,
    ``bias_hh_l{k}``, with the suffix ``_reverse`` for the second direction; ``weight_hr_l{k}`` projects an LSTM's output.

    >>> sorted(name for name, _ in torch.nn.RNNBase("GRU", 3, 4).named_parameters())
    ['bias_hh_l0', 'bias_ih_l0', 'weight_hh_l0', 'weight_ih_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}; use one of {', '.join(GATES)}")
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout should be a number in range [0, 1], got {dropout!r}")
        for size, what in ((input_size, "input_size"), (hidden_size, "hidden_size")):
            if not isinstance(size, int):
                raise TypeError(f"{name}: {what} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name}: {what} must be greater than zero, got {size}")
        for flag, what in ((bias, "bias"), (batch_first, "batch_first")):
            if not isinstance(flag, bool):
                raise TypeError(f"{name}: {what} should be of type bool, got: {type(flag).__name__}")
        num_layers = layers(name, "num_layers", num_layers, [(GATES[mode] * hidden_size * hidden_size, 4)] * 2)
        if num_layers <= 0:
            raise ValueError(f"{name}: num_layers must be greater than zero, got {num_layers}")
        if proj_size and mode != "LSTM":
            raise ValueError(f"{name}: proj_size argument is only supported for LSTM, not RNN or GRU")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"{name}: proj_size must be in [0, hidden_size), got {proj_size} and {hidden_size}")
        if dropout > 0 and num_layers == 1:
            import warnings

            warnings.warn(
                f"{name}: dropout acts between layers, so with num_layers=1 dropout={dropout} does nothing",
                stacklevel=3,
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        options = {"device": device, "dtype": dtype}
        gates = GATES[mode] * hidden_size
        out = proj_size or hidden_size
        for suffix, layer in self._places():
            width = input_size if layer == 0 else out * self._directions
            self.register_parameter("weight_ih" + suffix, Parameter(torch.empty(gates, width, **options)))
            self.register_parameter("weight_hh" + suffix, Parameter(torch.empty(gates, out, **options)))
            if bias:
                self.register_parameter("bias_ih" + suffix, Parameter(torch.empty(gates, **options)))
                self.register_parameter("bias_hh" + suffix, Parameter(torch.empty(gates, **options)))
            if proj_size:
                self.register_parameter("weight_hr" + suffix, Parameter(torch.empty(proj_size, hidden_size, **options)))
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    def _places(self):
        """The suffix of the parameters' names and the layer, for each layer and direction."""
        for layer in range(self.num_layers):
            for reverse in range(self._directions):
                yield f"_l{layer}" + ("_reverse" if reverse else ""), layer

    def _weights(self, suffix):
        has = {
            "weight_ih": True,
            "weight_hh": True,
            "bias_ih": self.bias,
            "bias_hh": self.bias,
            "weight_hr": self.proj_size,
        }
        return tuple(getattr(self, kind + suffix) if there else None for kind, there in has.items())

    def _matrices(self, suffix):
        """The weights as steps take them."""
        return self._weights(suffix)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """For each layer and direction the list of its parameters."""
        return [[w for w in self._weights(suffix) if w is not None] for suffix, _ in self._places()]

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of the parameters in the order in which they were made: programs that replace weights go by them."""
        kinds = [
            "weight_ih",
            "weight_hh",
            *(["bias_ih", "bias_hh"] if self.bias else []),
            *(["weight_hr"] if self.proj_size else []),
        ]
        return [kind + suffix for suffix, _ in self._places() for kind in kinds]

    @property
    def _flat_weights(self) -> list[torch.Tensor]:
        """What stands under these names now."""
        return [getattr(self, name) for name in self._flat_weights_names]

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniform in ``+-1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need not lie in one block here."""

    def _first_state(self, hx, x, batch):
        """The state to begin with, as a tuple of tensors (layers * directions, batch, size)."""
        places = self.num_layers * self._directions
        out = self.proj_size or self.hidden_size
        shapes = [(places, batch, out)] + ([(places, batch, self.hidden_size)] if self.mode == "LSTM" else [])
        if hx is None:
            return tuple(torch.zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes)
        if self.mode == "LSTM" and isinstance(hx, torch.Tensor) and len(hx) != len(shapes):
            raise RuntimeError(f"{type(self).__name__}: hx must be a pair (h_0, c_0), got a tensor {tuple(hx.shape)}")
        hx = tuple(hx) if self.mode == "LSTM" else (hx,)
        if len(hx) != len(shapes):
            raise RuntimeError(f"{type(self).__name__}: hx must be a pair (h_0, c_0), got {len(hx)} tensors")
        for name, tensor, shape in zip(("h_0", "c_0"), hx, shapes):
            if tuple(tensor.shape) != shape:
                raise RuntimeError(
                    f"{type(self).__name__}: expected {name} of shape {shape} (layers * directions, batch, size), "
                    f"got {tuple(tensor.shape)}"
                )
        return hx

    def _check_input(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.dtype != (dtype := self.weight_ih_l0.dtype) and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"{type(self).__name__}: input has dtype {input.dtype} and the weights {dtype}; convert one: "
                f"input.to({dtype}) or module.to({input.dtype})"
            )

    def forward(self, input: Tensor, hx: Any = None) -> Tensor:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_input(input)
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(1)
            if hx is not None:
                hx = tuple(h.unsqueeze(1) for h in hx) if self.mode == "LSTM" else hx.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        if input.shape[0] == 0:
            raise RuntimeError(
                f"{type(self).__name__}: expected a sequence of at least one step, got {tuple(input.shape)}"
            )
        output, state = self._run(input, None, self._first_state(hx, input, input.shape[1]))
        if not batched:
            output, state = output.squeeze(1), tuple(s.squeeze(1) for s in state)
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, self._last_state(state)

    def _forward_packed(self, packed, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        if data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {data.shape[-1]}"
            )
        sizes = batch_sizes.tolist()
        state = self._first_state(hx, data, sizes[0])
        if hx is not None and sorted_indices is not None:
            state = tuple(s.index_select(1, sorted_indices) for s in state)
        output, state = self._run(data, sizes, state)
        if unsorted_indices is not None:
            state = tuple(s.index_select(1, unsorted_indices) for s in state)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), self._last_state(state)

    def _last_state(self, state):
        return state if self.mode == "LSTM" else state[0]

    # What the forward methods of subclasses are written with.

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """RuntimeError unless the input, packed where there are ``batch_sizes``, has the dims and the size of the layer."""
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"{type(self).__name__}: input must have {dims} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _expected_size(self, input, batch_sizes, size):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.shape[0 if self.batch_first else 1]
        return self.num_layers * self._directions, batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the first hidden state for an input."""
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError with this text for a state of another shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """:meth:`check_input` and the shape of the first state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its examples in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _run(self, x, batch_sizes, first):
        """All layers and directions; ``x`` is (T, N, in) or packed. Returns the outputs and the last states, stacked."""
        if (self.mode == "LSTM" or x.is_cuda) and _seams.is_casting():  # sums with a state of float32 would be float32
            x, *first = in_lower_precision(lambda *tensors: tensors)(x, *first)
        weights = [self._matrices(suffix) for suffix, _ in self._places()]
        dropout = self.dropout if self.training else 0
        return unroll(STEPS[self.mode], x, batch_sizes, first, weights, self._directions, dropout)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += ", batch_first=True"
        if self.dropout:
            text += f", dropout={self.dropout}"
        return text + (", bidirectional=True" if self.bidirectional else "")


class RNN(RNNBase):
    """``h' = tanh(W x + b + U h + c)`` over sequences (T, N, input_size); ``nonlinearity`` may be 'relu'.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None); returns the outputs (T, N, directions * hidden) and the last state.

    >>> output, last = torch.nn.RNN(10, 20, num_layers=2)(torch.zeros(5, 3, 10))
    >>> output.shape, last.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("RNN: proj_size argument is only supported for LSTM, not RNN or GRU")
        args = list(args)
        nonlinearity = args.pop(3) if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory over sequences (T, N, input_size) (Hochreiter 1997).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None); returns the outputs (T, N, directions * hidden) and the pair of last states.

    >>> lstm = torch.nn.LSTM(10, 20, 2)
    >>> output, (h, c) = lstm(torch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the first cell state for an input."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        """:meth:`check_input` and the shapes of both first states."""
        self.check_input(input, batch_sizes)
        hidden_size = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], hidden_size, "Expected hidden[0] size {}, got {}")
        cell_size = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell_size, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both states with their examples in another order."""
        return hx if permutation is None else (hx[0].index_select(1, permutation), hx[1].index_select(1, permutation))


class GRU(RNNBase):
    """Gated recurrent units over sequences (T, N, input_size) (Cho 2014).

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None); returns the outputs (T, N, directions * hidden) and the last state.

    >>> output, last = torch.nn.GRU(10, 20, num_layers=2)(torch.zeros(5, 3, 10))
    >>> output.shape, last.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("GRU: proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """One step of a recurrent layer, with its weights."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        options = {"device": device, "dtype": dtype}
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty(gates, input_size, **options))
        self.weight_hh = Parameter(torch.empty(gates, hidden_size, **options))
        self.register_parameter("bias_ih", Parameter(torch.empty(gates, **options)) if bias else None)
        self.register_parameter("bias_hh", Parameter(torch.empty(gates, **options)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniform in ``+-1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _matrices(self):
        """The weights as a step takes them."""
        return self.weight_ih, self.weight_hh

    def _step(self, step, input, state):
        """Check, add what is missing (batch, first state), and do one step."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for h in state or ():
            if h.dim() != input.dim():
                raise ValueError(f"{name}: Expected hidden to be {input.dim()}D like the input, got {h.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            state = state and tuple(h.unsqueeze(0) for h in state)
        if input.shape[1] != self.input_size:
            raise RuntimeError(f"{name}: input has size {input.shape[1]}, expected input_size {self.input_size}")
        if state is None:
            zeros = torch.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
            state = (zeros, zeros)[: 2 if isinstance(self, LSTMCell) else 1]
        for h in state:
            if h.shape[0] != input.shape[0] or h.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"{name}: hidden has shape {tuple(h.shape)}, expected ({input.shape[0]}, {self.hidden_size})"
                )
        if input.is_cuda and _seams.is_casting():  # cells are in the list of CUDA, not in that of the CPU
            input, *state = in_lower_precision(lambda *tensors: tensors)(input, *state)
        w_ih, w_hh = self._matrices()
        new = step(product(input, w_ih, self.bias_ih), state, w_hh, self.bias_hh)
        return new if batched else tuple(h.squeeze(0) for h in new)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + (f", bias={self.bias}" if self.bias is not True else "")


class RNNCell(RNNCellBase):
    """``h' = tanh(W x + b + U h + c)``: input (N, input_size) and hidden (N, hidden_size) give hidden.

    >>> torch.nn.RNNCell(10, 20)(torch.zeros(3, 10), torch.zeros(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; use 'tanh' or 'relu'")
        step = STEPS["RNN_" + self.nonlinearity.upper()]
        return self._step(step, input, None if hx is None else (hx,))[0]

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text + (f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else "")


class LSTMCell(RNNCellBase):
    """One LSTM step: input (N, input_size) and ``(h, c)`` give ``(h', c')``.

    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.zeros(3, 10))
    >>> h.shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step(STEPS["LSTM"], input, hx if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """One GRU step: input (N, input_size) and hidden (N, hidden_size) give hidden.

    >>> torch.nn.GRUCell(10, 20)(torch.zeros(3, 10), torch.zeros(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(STEPS["GRU"], input, None if hx is None else (hx,))[0]


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The tensor with its slices along ``dim`` in another order. Deprecated: ``tensor.index_select(dim, permutation)``.

    >>> apply_permutation(torch.tensor([[1, 2]]), torch.tensor([1, 0]))
    tensor([[2, 1]])
    """
    text = "apply_permutation is deprecated, please use tensor.index_select(dim, permutation) instead"
    warnings.warn(text, FutureWarning, stacklevel=2)
    return tensor.index_select(dim, permutation)
