"""Functions of Python that are operators of PyTorch's programs: in a trace one node stands for what they call."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from torch import Tensor

from . import _ir as ir
from ._script.types import type_of_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Number", "is_plain", "name_sums", "operator", "unseen"]


class Number:
    """An argument that is a number to the operator, and was computed as a tensor: ``Number("Int", tensor)``."""

    def __init__(self, kind: str, tensor: Tensor) -> None:
        self.kind, self.tensor = kind, tensor


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """A block whose calls are not recorded."""
    recording = ir._native.Recording(None)
    try:
        yield
    finally:
        recording.end()


def is_plain(tracer: Any, *tensors: Tensor) -> bool:
    """Whether a trace is recorded that may have one node for a call with these tensors: not in lower precision, nor for
    one example of many, which the program does not know when it runs.
    """
    from torch import _seams

    if tracer is None or not ir._native._tracing() or _seams.is_casting():
        return False
    return not any(_seams.is_batched(each) for each in tensors)


def operator(
    tracer: Any, kind: str, given: Sequence[Any], compute: Callable[[], Any], called: Callable[..., Any] | None = None, named: Sequence[str] = ()
) -> Any:  # fmt: skip
    """What ``compute`` gives, a tensor or a tuple of tensors, as the result of one node of this kind; of one that calls
    Python where ``called`` is given, for arguments of which the last have names.
    """
    with unseen():
        tracer.locate()  # before the call: what it changes in place was another value then
        node = tracer.graph.create("prim::PythonOp" if called else kind, [_value(tracer, each) for each in given], 0)
        if called is not None:
            node.ival_("pyobj", called)
            node.s_("name", kind.removeprefix("aten::"))
            node.s_("operator", ",".join([kind.removeprefix("aten::"), *named]))
        found = compute()
        tracer.graph.insertNode(node)
        for each in found if isinstance(found, tuple) else (found,):
            output = node.addOutput()
            output.inferTypeFrom(each)
            tracer.set_value(each, output)
    return found


def name_sums(graph: Any) -> None:
    """Give the sums of ``torch.einsum`` the name and arguments that PyTorch's have."""
    for node in graph.findAllNodes("aten::_einsum"):
        graph.setLocation(node.location())
        with graph.insert_point_guard(node):
            made = graph.insertNode(graph.create("aten::einsum", [*node.inputs(), graph.insertConstant(None)], 1))
        made.setScope(node.scopeName())
        made.output().setType(node.output().type())
        node.output().replaceAllUsesWith(made.output())
        node.destroy()
    graph.setLocation(None)


def _value(tracer: Any, item: Any) -> Any:
    graph = tracer.graph
    if isinstance(item, Tensor):
        return tracer.value_of(item)
    if isinstance(item, Number):
        above = tracer.value_of(item.tensor)
        of_number = above.node().kind() == "prim::NumToTensor" and item.kind == "Int"
        return above.node().input() if of_number else graph.call(item.kind, [above])
    if not isinstance(item, (list, tuple)):
        return graph.insertConstant(item, type_of_packed(item))
    values = [_value(tracer, each) for each in item]
    node = graph.insertNode(graph.create("prim::ListConstruct", values, 1))
    node.output().setType(ir.ListType(ir.TensorType.get() if isinstance(item[0], Tensor) else values[0].type()))
    return node.output()
