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
    reason = made._compiled.reason
    reasons = [GraphCompileReason(str(reason), list(reason.frames))] if reason is not None else []
    ops = [[n.target for n in g.graph.nodes if n.op == "call_function"] for g in backend.graphs]
    return ExplainOutput(backend.graphs, len(ops), len(reasons), reasons, sum(map(len, ops)), ops, [])


def eager(gm, example_inputs):
    """Run a graph as torch.fx does."""
    return gm.forward
