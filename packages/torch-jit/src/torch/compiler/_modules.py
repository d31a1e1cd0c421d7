"""Calls of modules in a program: with forward hooks, which are followed, with other tensors in place of their own, and those
that are graphs, which are run node by node.
"""

from __future__ import annotations

import operator
import sys

from torch import _pytree as pytree

from ._guards import of_class

#: hooks that stand around more than the call of forward, or catch what it raises
_REFUSED = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks_always_called")


def with_hooks(observer, module, args, kwargs):
    """``forward`` between the forward hooks of a module; others make the observation void."""
    from torch.nn.modules import module as file

    kind, source = type(module).__qualname__, observer.known[id(module)][1]
    if file.running or any(vars(module).get(name) for name in _REFUSED):
        observer.stop(f"{kind} has hooks")
        return file.Module.__call__(module, *args, **kwargs)
    observer.guards.check("len", ("const", file.running), 0)
    for name in _REFUSED:
        if name in vars(module):
            observer.guards.check("len", ("attr", source, name), 0)
    for hook, takes_kwargs in _hooks(observer, module, "_forward_pre_hooks"):
        changed = observer.apply(hook, module, args, kwargs) if takes_kwargs else observer.apply(hook, module, args)
        if changed is not None:
            if takes_kwargs:
                args, kwargs = changed
            else:
                args = changed if isinstance(changed, tuple) else (changed,)
    if is_graph(type(module)):
        output = run_graph(observer, module, args, kwargs)
    else:
        output = observer.apply_all(observer.attr(module, "forward"), args, kwargs)
    for hook, takes_kwargs in _hooks(observer, module, "_forward_hooks"):
        given = (module, args, kwargs, output) if takes_kwargs else (module, args, output)
        changed = observer.apply(hook, *given)
        output = output if changed is None else changed
    return output


def _hooks(observer, module, name):
    """The hooks of a registry, guarded, and whether each takes arguments by name."""
    at = ("attr", observer.known[id(module)][1], name)
    hooks, with_kwargs = vars(module)[name], vars(module)[f"{name}_with_kwargs"]
    observer.guards.check("keys", at, tuple(hooks))
    observer.guards.check("keys", ("attr", at[1], f"{name}_with_kwargs"), tuple(with_kwargs))
    return [(observer.outside_value(hook, ("key", at, i)), i in with_kwargs) for i, hook in hooks.items()]


# --- graphs ---


def is_graph(kind):
    """Whether a class is that of a ``torch.fx.GraphModule``, whose code its graph has written."""
    fx = sys.modules.get("torch.fx.graph_module")
    return fx is not None and isinstance(kind, type) and issubclass(kind, fx.GraphModule)


def run_graph(observer, module, args, kwargs):
    """Call a ``GraphModule``: each node as the code that stands for it."""
    observer.class_has(type(module), "forward")
    if of_class(type(module), "__call__") is not of_class(type(module).__mro__[1], "__call__"):
        observer.class_has(type(module), "__call__")
    exported = None
    before, observer.working = observer.working, True
    try:
        nodes, form = list(map(_Step, module.graph.nodes)), type(module.graph._codegen).__name__
        if form == "_Called" and module._leaves.is_flat():  # its checks ask about sizes, as any program does
            args, kwargs, exported = module._leaves(args, kwargs), {}, module._out_spec
    finally:
        observer.working = before
    names = [n.target for n in nodes if n.op == "placeholder"]
    if exported is None and (form != "CodeGen" or any(name.startswith("*") for name in names)):
        observer.stop(f"the graph of {type(module).__qualname__} takes its arguments in another form")
        return module(*args, **kwargs)
    given = {**dict(zip(names, args)), **kwargs}
    if len(args) + len(kwargs) != len(given) or set(given) - set(names):
        return module(*args, **kwargs)  # for the error
    values = {}
    for step in nodes:
        if step.op == "placeholder":
            if step.target not in given and not step.args:
                return module(*args, **kwargs)  # for the error
            values[step.node] = given[step.target] if step.target in given else step.args[0]
        elif step.op == "output":
            result = _filled(observer, step.args[0], values)
            return result if exported is None else observer.apply(pytree.tree_unflatten, result, exported)
        else:
            values[step.node] = _value(observer, module, step, values)
    return None


class _Step:
    """A node, read once."""

    def __init__(self, node):
        self.node, self.op, self.target, self.args, self.kwargs = node, node.op, node.target, node.args, node.kwargs


def _value(observer, module, step, values):
    if step.op == "get_attr":
        return _path(observer, module, step.target)
    args, kwargs = _filled(observer, step.args, values), _filled(observer, step.kwargs, values)
    if step.op == "call_module":
        return observer.apply_all(_path(observer, module, step.target), args, kwargs)
    if step.op == "call_method":
        return observer.apply_all(observer.attr(args[0], step.target), args[1:], kwargs)
    if step.target is getattr:
        return observer.attr(*args)
    if step.target is operator.getitem:
        return observer.item(*args)
    return observer.apply_all(step.target, args, kwargs)


def _path(observer, module, path):
    for name in path.split("."):
        module = observer.attr(module, name)
    return module


def _filled(observer, value, values):
    """What a node is called with, where other nodes stand for their values."""
    from torch.fx.node import map_arg

    before, observer.working = observer.working, True
    try:
        return map_arg(value, values.__getitem__)
    finally:
        observer.working = before
