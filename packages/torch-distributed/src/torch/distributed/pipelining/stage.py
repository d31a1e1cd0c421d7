"""A stage: layers of one rank, between those of the stage before and those of the stage behind."""

from __future__ import annotations

import torch

from .. import _collectives as collectives
from .. import _objects
from .. import _world as world
from ._two_backwards import TwoBackwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["PipelineStage"]


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _described(tensors):
    return [(tuple(t.shape), t.dtype, t.requires_grad) for t in tensors]


class PipelineStage:
    """``submodule``, layers of this rank, as stage ``stage_index`` of ``num_stages``, a multiple of the group's ranks.

    A stage is given what the one before returns, a tensor or a tuple of them, whose shapes it is told in each step. On which
    rank a stage lies is for the schedule to say; of as many stages as ranks, stage i lies on rank i.
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
        if num_stages % group.size() or (group.size() == num_stages and group.rank() != stage_index):
            raise ValueError(
                f"PipelineStage: rank {group.rank()} of {group.size()} has stage {group.rank()} of as many, got stage "
                f"{stage_index} of {num_stages}"
                if num_stages <= group.size()
                else f"PipelineStage: {num_stages} stages do not lie evenly on {group.size()} ranks"
            )
        self.submod, self.stage_index, self.num_stages, self.group = submodule, stage_index, num_stages, group
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.lie(list(range(num_stages)), {stage_index: self})
        self.begin()

    def lie(self, place: list[int], beside: dict[int, PipelineStage]) -> None:
        """The rank of each stage, and the stages of this one by their number."""
        self.place, self.beside = place, beside

    def begin(self) -> None:
        """Forget the step before."""
        self.incoming = self.outgoing = None  # shape, dtype and need of gradients of each tensor
        self.held: dict = {}  # by part: what came, what went
        self.waiting: dict = {}  # by part: a backward pass whose gradients of weights are to come
        self.handed: dict = {}  # by stage and part: tensors from a stage of the same rank
        self.sends: list = []
        self.outputs: list = []

    # ---- between stages

    def _tag(self, what, stage, part):
        """A number for the messages of a part from a stage: stages that share their ranks tell them apart by it."""
        return (part * self.num_stages + stage) * 3 + ("about", "forward", "backward").index(what)

    def _send(self, tensors, what, to, part):
        """Tensors to another stage, which is told of a part's by its number and ours."""
        if to in self.beside:
            self.beside[to].handed[what, part] = tensors
            return
        tag = self._tag(what, self.stage_index, part)
        for tensor in tensors:
            given = tensor.detach().contiguous()
            self.sends.append(collectives.isend(given, group=self.group, group_dst=self.place[to], tag=tag))

    def _receive(self, described, what, source, part):
        if source in self.beside:
            return [tensor.detach() for tensor in self.handed.pop((what, part))]
        tag, made = self._tag(what, source, part), []
        for shape, dtype, _ in described:
            made.append(torch.empty(shape, dtype=dtype))
            collectives.recv(made[-1], group=self.group, group_src=self.place[source], tag=tag)
        return made

    def _tell(self, outputs):
        described = _described(outputs)
        if self.outgoing is None:
            self.outgoing, to = described, self.stage_index + 1
            if to in self.beside:
                self.beside[to].incoming = described
                return
            data, size = _objects._pickle(described)
            tag = self._tag("about", self.stage_index, 0)
            for line in (size, data):
                self.sends.append(collectives.isend(line, group=self.group, group_dst=self.place[to], tag=tag))
        elif described != self.outgoing:
            raise RuntimeError(
                f"PipelineStage {self.stage_index}: its outputs were {_said(self.outgoing)} at first and are {_said(described)} now"
            )

    def _hear(self):
        if self.incoming is None:
            source = self.stage_index - 1
            where = {"group": self.group, "group_src": self.place[source], "tag": self._tag("about", source, 0)}
            size = torch.zeros(1, dtype=torch.int64)
            collectives.recv(size, **where)
            line = torch.empty(int(size), dtype=torch.uint8)
            collectives.recv(line, **where)
            self.incoming = _objects._unpickle(line)

    # ---- one part of the batch

    def forward(self, part: Any, args: tuple[Any, ...], kwargs: dict[str, Any], with_grad: Any) -> Any:
        """The outputs for a part, which also go to the next stage."""
        if not self.is_first:
            self._hear()
            args = tuple(self._receive(self.incoming, "forward", self.stage_index - 1, part))
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
            self._send(outputs, "forward", self.stage_index + 1, part)
        if with_grad:
            self.held[part] = (args, outputs)
        return result

    def _roots(self, part, outputs, loss):
        """What backward begins at: the loss, or the outputs that the next stage has gradients of."""
        if self.is_last:
            return [loss], [None]
        needed = [(t, about) for t, about in zip(outputs, self.outgoing, strict=True) if about[2]]
        gradients = self._receive([about for _, about in needed], "backward", self.stage_index + 1, part)
        return [t for t, _ in needed], gradients

    def _give_back(self, args, part):
        """The gradients of what the stage before has given."""
        if not self.is_first:
            needed = [t for t, (_, _, needs) in zip(args, self.incoming, strict=True) if needs]
            gradients = [torch.zeros_like(t) if t.grad is None else t.grad for t in needed]
            self._send(gradients, "backward", self.stage_index - 1, part)

    def backward(self, part: Any, loss: Any) -> None:
        """Gradients of a part, of its loss or of what the next stage sends, and on to the stage before."""
        args, outputs = self.held.pop(part)
        torch.autograd.backward(*self._roots(part, outputs, loss))
        self._give_back(args, part)

    def backward_to_inputs(self, part: Any, loss: Any) -> None:
        """As ``backward``, but for the gradients of the parameters, which :meth:`backward_to_weights` adds later."""
        args, outputs = self.held.pop(part)
        inputs = [] if self.is_first else [t for t in args if t.requires_grad]
        parameters = [p for p in self.submod.parameters() if p.requires_grad]
        two = self.waiting[part] = TwoBackwards(*self._roots(part, outputs, loss), inputs, parameters)
        two.to_inputs()
        self._give_back(args, part)

    def backward_to_weights(self, part: Any) -> None:
        """The gradients of the parameters of a part."""
        self.waiting.pop(part).to_parameters()

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
