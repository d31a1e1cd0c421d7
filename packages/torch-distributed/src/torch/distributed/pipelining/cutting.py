"""A model cut into stages at named modules, by its graph: each stage is given and gives what the later ones need."""

from __future__ import annotations

import enum

import torch

from .stage import PipelineStage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Pipe", "PipeInfo", "SplitPoint", "build_stage", "pipe_split", "pipeline"]


class SplitPoint(enum.Enum):
    """Where a stage ends: before a module, or behind it."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """In ``forward`` of a model that :func:`pipeline` cuts: a new stage begins here. Elsewhere it does nothing.

    >>> pipe_split()
    """
    if _traced:
        tracer, marks = _traced[-1]
        marks.append(next(iter(reversed(tracer.graph.nodes)), None))


_traced: list = []  # tracers at work, each with the nodes behind which a new stage begins


class Cut(torch.nn.Module):
    """A stage: the part of a model between two cuts; takes and returns what lies on them, in their order."""

    def __init__(self, part: Any, takes: Any, gives: Any, own: Any, attributes: Any) -> None:
        super().__init__()
        self.part = part
        self._takes, self._gives, self._own = takes, gives, own
        self._attributes_of = list(attributes)
        for name, tensor in attributes.items():  # of the whole model itself
            if isinstance(tensor, torch.nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor)

    def forward(self, *values: Any) -> Any:
        """What the next stage is given, of what this one is."""
        held = dict(zip(self._takes, values, strict=True))
        held |= {name: getattr(self, name) for name in self._attributes_of}
        inputs, outputs = self._own
        found = self.part(*(held[name] for name in inputs))
        held.update(zip(outputs, found if len(outputs) > 1 else (found,), strict=True))
        given = tuple(held[name] for name in self._gives)
        return given[0] if len(given) == 1 else given


class PipeInfo:
    """How many stages there are."""

    def __init__(self, num_stages: int, has_loss_and_backward: bool = False) -> None:
        self.num_stages, self.has_loss_and_backward = num_stages, has_loss_and_backward


class Pipe(torch.nn.Module):
    """The stages of a model, which run one after the other in this process, or each in its own by ``build_stage``."""

    def __init__(self, stages: Any) -> None:
        super().__init__()
        self.stages = torch.nn.ModuleList(stages)

    @property
    def num_stages(self) -> int:
        """How many stages there are."""
        return len(self.stages)

    def info(self) -> PipeInfo:
        """How many stages there are, for ``build_stage``."""
        return PipeInfo(self.num_stages)

    def get_stage_module(self, stage_idx: int) -> torch.nn.Module:
        """The module of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Pipe.get_stage_module: stage {stage_idx} of {self.num_stages}")
        return self.stages[stage_idx]

    def build_stage(self, stage_index: int, device: Any = None, group: Any = None) -> PipelineStage:
        """The stage of this rank, for a schedule."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def forward(self, *args: Any) -> Any:
        """The outputs of the last stage."""
        for stage in self.stages:
            args = stage(*args)
            args = args if isinstance(args, tuple) else (args,)
        return args[0] if len(args) == 1 else args


def build_stage(
    stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any = None, group: Any = None
) -> PipelineStage:
    """A module as a stage of as many as a :class:`Pipe` has."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)


def pipeline(
    module: Any, mb_args: Any, mb_kwargs: Any = None, split_spec: Any = None, split_policy: Any = None
) -> Pipe:
    """``module`` cut where ``split_spec`` says, by names of its modules, or where its forward calls ``pipe_split``.

    ``mb_args`` are inputs as one part of a batch has them: the stages are tried with them.

    >>> import torch
    >>> from torch.distributed.pipelining import SplitPoint, pipeline
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    >>> pipe = pipeline(net, (torch.ones(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
    >>> pipe.num_stages, torch.equal(pipe(torch.ones(4, 2)), net(torch.ones(4, 2)))
    (2, True)
    """
    if mb_kwargs:
        raise NotImplementedError(f"pipeline: stages are given positional arguments, got mb_kwargs {list(mb_kwargs)}")
    if split_policy is not None:
        raise NotImplementedError("pipeline: split_policy is not there; split_spec names the modules to cut at")
    spec = dict(split_spec or {})
    known = dict(module.named_modules())
    for name, point in spec.items():
        if name not in known or not name:
            raise ValueError(f"pipeline: split_spec names {name!r}, and the model has no such module")
        if not isinstance(point, SplitPoint):
            raise TypeError(f"pipeline: split_spec[{name!r}] must be a SplitPoint, got {point!r}")
    pipe = Pipe(_stages(module, spec))
    with torch.no_grad():
        pipe(*mb_args)
    return pipe


def _stages(module, spec):
    from torch.fx import GraphModule, Tracer
    from torch.fx.passes.split_module import split_module

    class AtCuts(Tracer):
        def is_leaf_module(self, part, name):
            return name in spec or super().is_leaf_module(part, name)

    tracer, marks = AtCuts(), []
    _traced.append((tracer, marks))
    try:
        graph = tracer.trace(module)
    finally:
        _traced.pop()
    place, number = {}, 0
    for node in graph.nodes:
        point = spec.get(node.target) if node.op == "call_module" else None
        if point is SplitPoint.BEGINNING:
            number += bool(place)
        if node.op not in ("placeholder", "output", "get_attr"):
            place[node] = number
        number += (point is SplitPoint.END) + marks.count(node)
    if not place:
        raise ValueError("pipeline: the model computes nothing")
    # Stages without a node of their own (a cut at the very end) are none.
    dense = {old: new for new, old in enumerate(sorted(set(place.values())))}
    last = max(dense.values())
    whole = split_module(GraphModule(module, graph), module, lambda node: dense[place[node]] if node in place else 0)
    return _with_what_passes(whole, last)


def _with_what_passes(whole, last):
    """The parts, each with the values that it hands on though only later ones use them."""
    import operator

    nodes = list(whole.graph.nodes)
    first = [n.name for n in nodes if n.op == "placeholder"]
    parts, alias, attributes = [], {}, {}
    for node in nodes:
        if node.op == "call_module":
            parts.append((node.target, [alias.get(a, (a.name,))[0] for a in node.args], node))
        elif node.op == "call_function" and node.target is operator.getitem:
            alias[node] = (node.name,)
        elif node.op == "get_attr":
            users = [one.target for one in node.users]
            if len(users) > 1:
                raise NotImplementedError(f"pipeline: {node.target} of the model is used in {' and '.join(users)}")
            owner, _, name = node.target.rpartition(".")
            attributes[node.name] = getattr(whole.get_submodule(owner), name)
        elif node.op not in ("placeholder", "output"):
            raise NotImplementedError(f"pipeline: {node.format_node()} lies between stages")
    outputs = []
    for _, _, node in parts:
        items = sorted((u for u in node.users if u.target is operator.getitem), key=lambda u: u.args[1])
        outputs.append([u.name for u in items] if items else [node.name])
    result = next(n for n in nodes if n.op == "output").args[0]
    wanted = [n.name for n in (result if isinstance(result, (tuple, list)) else (result,))]
    later = [set(wanted)]
    for _, inputs, _ in reversed(parts[1:]):
        later.append((later[-1] | set(inputs)) - set(attributes))
    later.reverse()
    stages, takes = [], first
    for i, ((name, inputs, _), gives) in enumerate(zip(parts, outputs, strict=True)):
        held = list(dict.fromkeys([*takes, *gives]))
        onward = wanted if i == last else [one for one in held if one in later[i]]
        own = {one: attributes[one] for one in inputs if one in attributes}
        stages.append(Cut(whole.get_submodule(name), takes, onward, (inputs, gives), own))
        takes = onward
    return stages
