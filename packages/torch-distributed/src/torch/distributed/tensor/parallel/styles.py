"""How a layer is spread (Shoeybi 2019): a linear layer by columns, then one by rows, need one sum between them."""

from __future__ import annotations

import fnmatch
import warnings
from abc import ABC, abstractmethod

import torch
from torch import nn
from torch.nn import functional as F

from ..._reduce import ReduceOp
from .._api import distribute_tensor
from .._dtensor import DTensor, wrap
from .._layout import Spec
from .._redistribute import Cut, Enter, Gather, Total
from ..placement_types import Partial, Replicate, Shard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...device_mesh import DeviceMesh

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "SequenceParallel", "parallelize_module"]


class ParallelStyle(ABC):
    """A way to spread a module over a mesh of one dim."""

    @abstractmethod
    def _apply(self, module, device_mesh):
        """Spread the module in place; return it."""


def _line(mesh):
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module: takes a mesh of one dim, got {mesh}; mesh['name'] is one")
    return mesh.get_group()


def _spread_parameter(module, name, mesh, placement):
    parameter = getattr(module, name)
    if parameter is not None:
        module.register_parameter(name, distribute_tensor(parameter, mesh, [placement]))


def _local(value):
    return value.to_local() if isinstance(value, DTensor) else value


class _LayerStyle(ParallelStyle):
    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        self.input_layout, self.output_layout = input_layouts or self.INPUT, output_layouts or self.OUTPUT
        self.use_local_output = use_local_output

    def _entered(self, value, mesh, wanted):
        """The piece of the input that the layer computes with."""
        group = mesh.get_group()
        layout = value.placements[0] if isinstance(value, DTensor) else self.input_layout
        value = _local(value)
        if layout == wanted:
            return value
        if isinstance(layout, Shard):
            dim = layout.dim % value.dim()
            value = Gather.apply(value, dim, value.shape[dim] * group.size(), group)
        elif not isinstance(layout, Replicate):
            value = Total.apply(value, ReduceOp.SUM, group)
        return Cut.apply(value, wanted.dim % value.dim(), group) if isinstance(wanted, Shard) else value

    def _left(self, value, mesh, layout):
        """The output as it was asked for, of one that lies by ``layout``."""
        if isinstance(layout, Shard) and layout.dim < 0:
            layout = Shard(layout.dim % value.dim())
        shape = list(value.shape)
        if isinstance(layout, Shard):
            shape[layout.dim] = self.features if layout.dim == value.dim() - 1 else shape[layout.dim]
        return self._left_as(wrap(value, Spec(mesh, (layout,), torch.Size(shape))), mesh)

    def _left_as(self, result, mesh):
        result = result.redistribute(mesh, [self.output_layout])
        return result.to_local() if self.use_local_output else result


class ColwiseParallel(_LayerStyle):
    """A ``Linear`` or ``Embedding`` of which each rank computes some of the outputs.

    The input is whole on each rank unless ``input_layouts`` say otherwise; the output stays in pieces along its last
    dim, unless ``output_layouts`` is ``Replicate()``.
    """

    INPUT, OUTPUT = Replicate(), Shard(-1)

    def _apply(self, module, device_mesh):
        group = _line(device_mesh)
        if isinstance(module, nn.Linear):
            self.features = module.out_features
            _spread_parameter(module, "weight", device_mesh, Shard(0))
            _spread_parameter(module, "bias", device_mesh, Shard(0))

            def forward(x):
                x = Enter.apply(self._entered(x, device_mesh, Replicate()), group)
                result = F.linear(x, module.weight.to_local(), None if module.bias is None else module.bias.to_local())
                return self._left(result, device_mesh, Shard(-1))

        elif isinstance(module, nn.Embedding):
            self.features = module.embedding_dim
            _spread_parameter(module, "weight", device_mesh, Shard(1))

            def forward(x):
                x = self._entered(x, device_mesh, Replicate())
                result = F.embedding(x, module.weight.to_local(), module.padding_idx)
                return self._left(result, device_mesh, Shard(-1))

        else:
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        module.forward = forward
        return module


class RowwiseParallel(_LayerStyle):
    """A ``Linear`` of which each rank has some of the inputs, or an ``Embedding`` of which it has some of the rows.

    The sum over the ranks is the output.  The input of a linear layer is in pieces along its last dim, as ColwiseParallel
    leaves it, and that of an embedding is whole, unless ``input_layouts`` say otherwise.
    """

    INPUT, OUTPUT = None, Replicate()

    def _apply(self, module, device_mesh):
        group = _line(device_mesh)
        if isinstance(module, nn.Embedding):
            return self._apply_to_table(module, device_mesh)
        if not isinstance(module, nn.Linear):
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")
        self.input_layout = self.input_layout or Shard(-1)
        self.features = module.out_features
        _spread_parameter(module, "weight", device_mesh, Shard(1))
        _spread_parameter(module, "bias", device_mesh, Replicate())

        def forward(x):
            x = self._entered(x, device_mesh, Shard(-1))
            total = F.linear(x, module.weight.to_local())
            if isinstance(self.output_layout, Shard) and module.bias is None:
                return self._left(total, device_mesh, Partial())
            total = Total.apply(total, ReduceOp.SUM, group)
            if module.bias is not None:
                total = total + module.bias.to_local()
            return self._left(total, device_mesh, Replicate())

        module.forward = forward
        return module

    def _apply_to_table(self, module, device_mesh):
        self.input_layout = self.input_layout or Replicate()
        _spread_parameter(module, "weight", device_mesh, Shard(0))

        def forward(x):
            x = x if isinstance(x, DTensor) else DTensor.from_local(x, device_mesh, [self.input_layout])
            return self._left_as(F.embedding(x, module.weight, module.padding_idx), device_mesh)

        module.forward = forward
        return module


class SequenceParallel(ParallelStyle):
    """A layer that treats positions each for itself (``LayerNorm``, ``Dropout``, ``RMSNorm``), of sequences in pieces.

    Its parameters are whole on each rank.  What it is given is a piece along ``sequence_dim``, and so is its output.
    """

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module, device_mesh):
        _line(device_mesh)
        wanted = Shard(self.sequence_dim)
        for name, parameter in [*module.named_parameters(recurse=False)]:
            if not isinstance(parameter, DTensor):
                _spread_parameter(module, name, device_mesh, Replicate())

        def enter(module, inputs):
            x = inputs[0]
            if isinstance(x, DTensor):
                x = x.redistribute(device_mesh, [wanted])
            elif isinstance(x, torch.Tensor):
                x = DTensor.from_local(x, device_mesh, [wanted])
            else:
                raise ValueError(f"expecting input of {module} to be a torch.Tensor or DTensor, but got {x!r}")
            return (x, *inputs[1:])

        def leave(module, inputs, output):
            return output.to_local() if self.use_local_output else output

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)
        return module


def parallelize_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Spread a module by a style, or its submodules by styles under their names, in which ``*`` stands for any between dots.

    A name that no submodule has is warned of.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    >>> net(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    >>> dist.destroy_process_group()
    """
    from ...device_mesh import current_mesh

    mesh = current_mesh() if device_mesh is None else device_mesh
    _line(mesh)
    if isinstance(parallelize_plan, ParallelStyle):
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {parallelize_plan!r} found!"
        )
    for pattern, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(f"parallelize_module: expected a ParallelStyle for {pattern!r}, got {style!r}")
        found = [part for name, part in module.named_modules() if _is_called(name, pattern)]
        if not found:
            warnings.warn(f"parallelize_module: no submodule is called {pattern!r}", stacklevel=2)
        for part in found:
            style._apply(part, mesh)
    return module


def _is_called(name, pattern) -> bool:
    """Whether a name is that of a pattern, word by word; the name of the module itself is empty.

    >>> _is_called("layers.0.mlp", "layers.*.mlp"), _is_called("layers.0.mlp", "*"), _is_called("", "*")
    (True, False, False)
    """
    words, wanted = name.split("."), pattern.split(".")
    if not name or len(words) != len(wanted):
        return name == pattern
    return all(map(fnmatch.fnmatchcase, words, wanted))
