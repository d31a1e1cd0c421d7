"""What is captured of a function, told: ``torch._dynamo.explain``."""

import dataclasses
from typing import Any


@dataclasses.dataclass
class ExplainOutput:
    """The graphs of a function, and why there are no more."""

    graphs: list[Any]
    graph_count: int
    graph_break_count: int
    break_reasons: list[Any]
    op_count: int
    ops_per_graph: list[Any] | None = None
    out_guards: list[Any] | None = None

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
        ]
        lines.append("Break Reasons:")
        lines += [f"  Break Reason {i + 1}:\n    Reason: {each.reason}" for i, each in enumerate(self.break_reasons)]
        return "\n".join(lines)


@dataclasses.dataclass
class GraphCompileReason:
    """Why a function is not captured whole, and the frames of the line."""

    reason: str
    user_stack: list[Any]
    graph_break: bool = True


def explained(function, args, kwargs):
    """Capture a call of a function, and say how that went."""
    from torch._dynamo.testing import EagerAndRecordGraphs
    from torch.compiler import compile

    backend = EagerAndRecordGraphs()
    inner = getattr(function, "_torchdynamo_orig_callable", function)
    made = compile(inner, backend=backend)
    made(*args, **kwargs)
    found = list(_breaks(made._compiled))
    while not all(each.foreseen for each in found):  # each call captures what follows one more place
        made(*args, **kwargs)
        if len(before := found) == len(found := list(_breaks(made._compiled))) and before:
            break
    reasons = [GraphCompileReason(str(each), list(each.frames)) for each in found]
    ops = [[n.target for n in g.graph.nodes if n.op == "call_function"] for g in backend.graphs]
    return ExplainOutput(backend.graphs, len(ops), len(reasons), reasons, sum(map(len, ops)), ops, [])


def _breaks(compiled, seen=None):
    """Why a function, and what follows and is called at each place where it was cut, is not captured."""
    seen = set() if seen is None else seen
    if id(compiled) in seen:
        return
    seen.add(id(compiled))
    if compiled.reason is not None:
        yield compiled.reason
    for each in compiled.parts.compiled if compiled.parts is not None else ():
        yield from _breaks(each, seen)


def eager(gm, example_inputs):
    """Run a graph as torch.fx does."""
    return gm.forward
