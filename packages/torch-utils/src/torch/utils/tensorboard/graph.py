"""The graph of a module as TensorBoard draws it: the operations that autograd records in one run, grouped by module.

While the module runs, a hook behind each submodule claims the nodes that its outputs' history has gained. Submodules end
before the modules around them, so each node goes to the innermost module that made it.
"""

from __future__ import annotations

import torch

from . import proto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def graph(model: Any, inputs: Any, verbose: bool = False) -> bytes:
    """GraphDef of one run of `model(*inputs)`: node 1, versions 4."""
    from torch.autograd.graph import Node  # noqa: F401  (or the error that names torch-autograd)

    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    names = {id(p): name for name, p in [*model.named_parameters(), *model.named_buffers()]}
    given = {}
    fresh = []
    for i, x in enumerate(inputs):
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            x = x.detach().clone().requires_grad_()  # so that its edges are recorded
            given[id(x)] = f"input/{i}"
        fresh.append(x)
    scope: dict = {}  # node: path of the module that made it

    def claim(path):
        def hook(module, args, output):
            stack = [t.grad_fn for t in tensors_in(output) if t.grad_fn is not None]
            while stack:
                node = stack.pop()
                if node is not None and node not in scope:
                    scope[node] = path
                    stack += [edge for edge, _ in node.next_functions]

        return hook

    root = type(model).__name__
    handles = [
        module.register_forward_hook(claim(f"{root}/{path.replace('.', '/')}" if path else root))
        for path, module in model.named_modules()
    ]
    try:
        with torch.enable_grad():
            output = model(*fresh)
    finally:
        for handle in handles:
            handle.remove()
    nodes = _nodes(scope, names, given, fresh, tensors_in(output), root)
    if verbose:
        for label, op, before, _ in nodes:
            print(f"{label}: {op}({', '.join(before)})")
    return b"".join(_encoded(*node) for node in nodes) + proto.data(4, proto.integer(1, 22))


def tensors_in(x: Any) -> list:
    """The tensors in a value of nested lists, tuples and dicts."""
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for item in x for t in tensors_in(item)] if isinstance(x, (list, tuple)) else []


def _nodes(scope, names, given, fresh, outputs, root) -> list[tuple]:
    """(name, operation, inputs, shape) of each node."""
    called, used = {}, {}
    for node in reversed(scope):  # the order of computation, nearly
        variable = getattr(node, "variable", None)
        if variable is not None:
            label = given.get(id(variable)) or f"{root}/{names.get(id(variable), 'leaf').replace('.', '/')}"
        else:
            label = f"{scope[node]}/{_operation(node)}"
        used[label] = used.get(label, -1) + 1
        called[node] = f"{label}_{used[label]}" if used[label] else label
    nodes = []
    present = set()
    for node, label in called.items():
        variable = getattr(node, "variable", None)
        before = [called[edge] for edge, _ in node.next_functions if edge in called]
        kind = "Parameter" if variable is not None else _operation(node)
        if variable is not None and id(variable) in given:
            kind = "Input"
            present.add(id(variable))
        nodes.append((label, kind, before, tuple(variable.shape) if variable is not None else None))
    for i, x in enumerate(fresh):  # those that no gradient reaches, such as indices
        if isinstance(x, torch.Tensor) and id(x) not in present:
            nodes.append((f"input/{i}", "Input", [], tuple(x.shape)))
    for i, x in enumerate(outputs):
        nodes.append((f"output/{i}", "Output", [called[x.grad_fn]] if x.grad_fn in called else [], tuple(x.shape)))
    return nodes


def _operation(node) -> str:
    return node.name().removesuffix("0").removesuffix("Backward") or node.name()


def _encoded(name: str, op: str, inputs: list[str], shape: tuple[int, ...] | None) -> bytes:
    """NodeDef: name 1, op 2, input 3, device 4, attr 5."""
    content = proto.data(1, name) + proto.data(2, op) + b"".join(proto.data(3, i) for i in inputs)
    attr = {}
    if shape is not None:  # AttrValue: list 1 {shape 7 {dim 2 {size 1}}}
        dims = b"".join(proto.data(2, proto.integer(1, n)) for n in shape)
        attr["_output_shapes"] = proto.data(1, proto.data(7, dims))
    return proto.data(1, content + proto.entries(5, attr))
