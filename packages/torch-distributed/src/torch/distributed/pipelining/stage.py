"""A stage: the layers that one rank has, between those of the rank before and those of the rank behind."""

from __future__ import annotations

import torch

from .. import _collectives as collectives
from .. import _objects
from .. import _world as world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["PipelineStage"]


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _described(tensors):
    return [(tuple(t.shape), t.dtype, t.requires_grad) for t in tensors]


class PipelineStage:
    """``submodule``, the layers of this rank, as stage ``stage_index`` of ``num_stages``; rank i of the group has stage i.

    A stage is given what the one before returns, a tensor or a tuple of them, whose shapes it is told in each step.
    """

    __module__ = "torch.distributed.pipelining"

    def __init__(
        self,
        submodule: Any,
        stage_index: Any,
        num_stages: Any,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        **more: Any,
    ) -> None:
        if any(value is not None for value in more.values()):
            raise NotImplementedError(f"PipelineStage: {', '.join(more)} is not there")
        group = world.resolve(group)
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if group.size() != num_stages or group.rank() != stage_index:
            raise ValueError(
                f"PipelineStage: rank {group.rank()} of {group.size()} has stage {group.rank()} of as many, got stage "
                f"{stage_index} of {num_stages}"
            )
        self.submod, self.stage_index, self.num_stages, self.group = submodule, stage_index, num_stages, group
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.begin()

    def begin(self) -> None:
        """Forget the step before."""
        self.incoming = self.outgoing = None  # shape, dtype and need of gradients of each tensor
        self.held, self.sends, self.outputs = {}, [], []

    # ---- between stages

    def _send(self, tensor, place):
        work = collectives.isend(tensor.detach().contiguous(), group=self.group, group_dst=place)
        self.sends.append(work)

    def _receive(self, shape, dtype, place):
        tensor = torch.empty(shape, dtype=dtype)
        collectives.recv(tensor, group=self.group, group_src=place)
        return tensor

    def _tell(self, outputs):
        described = _described(outputs)
        if self.outgoing is None:
            _objects.send_object_list([described], group=self.group, group_dst=self.stage_index + 1)
            self.outgoing = described
        elif described != self.outgoing:
            raise RuntimeError(
                f"PipelineStage {self.stage_index}: its outputs were {_said(self.outgoing)} at first and are {_said(described)} now"
            )

    def _hear(self):
        if self.incoming is None:
            told = [None]
            _objects.recv_object_list(told, group=self.group, group_src=self.stage_index - 1)
            self.incoming = told[0]

    # ---- one part of the batch

    def forward(self, part: Any, args: tuple[Any, ...], kwargs: dict[str, Any], with_grad: Any) -> Any:
        """The outputs for a part, which also go to the next stage."""
        if not self.is_first:
            self._hear()
            args = tuple(self._receive(shape, dtype, self.stage_index - 1) for shape, dtype, _ in self.incoming)
            for tensor, (_, _, needs) in zip(args, self.incoming, strict=True):
                tensor.requires_grad_(needs and with_grad)
        result = self.submod(*args, **kwargs)
        outputs = _as_tuple(result)
        if not all(isinstance(t, torch.Tensor) for t in outputs):
            raise TypeError(f"PipelineStage {self.stage_index}: returns tensors, got {type(result).__name__}")
        if self.is_last:
            self.outputs.append(
                result.detach() if isinstance(result, torch.Tensor) else tuple(t.detach() for t in result)
            )
        else:
            self._tell(outputs)
            for tensor in outputs:
                self._send(tensor, self.stage_index + 1)
        if with_grad:
            self.held[part] = (args, outputs)
        return result

    def backward(self, part: Any, loss: Any) -> None:
        """Gradients of a part, of its loss or of what the next stage sends, and on to the stage before."""
        args, outputs = self.held.pop(part)
        if self.is_last:
            loss.backward()
        else:
            needed = [t for t, (_, _, needs) in zip(outputs, self.outgoing, strict=True) if needs]
            torch.autograd.backward(needed, [self._receive(t.shape, t.dtype, self.stage_index + 1) for t in needed])
        if not self.is_first:
            for tensor, (_, _, needs) in zip(args, self.incoming, strict=True):
                if needs:
                    grad = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
                    self._send(grad, self.stage_index - 1)

    def finish(self) -> None:
        """Wait until all that was sent has gone."""
        for work in self.sends:
            work.wait()
        self.held, self.sends = {}, []

    def scale_grads(self, by: Any) -> None:
        """Divide the gradients of all parameters."""
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(by)


def _said(described):
    return ", ".join(f"{shape} of {dtype}" for shape, dtype, _ in described)
