"""Running a graph node by node; subclasses change what a node does."""

from __future__ import annotations

import inspect

import torch

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import nn


__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule node by node. Override ``call_function`` and the like, or ``run_node``, to do something else.

    >>> class Counting(torch.fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counting = Counting(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1))
    >>> counting.run(torch.zeros(2)), counting.calls
    (tensor([1., 1.]), 2)

    ``garbage_collect_values`` lets go of a value after its last use.
    """

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, object] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: Any = None, enable_io_processing: bool = True) -> Any:
        """The result for these arguments. ``initial_env`` (node -> value) says what need not run."""
        self.env = {} if initial_env is None else dict(initial_env)
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _tell_where(error, node)
                raise
            if self.garbage_collect_values:
                for done in self.user_to_last_uses.get(node, ()):
                    del self.env[done]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: Any) -> Any:
        """:meth:`run` with the arguments in a list, which is emptied so that they can go when they are used up."""
        args = list(args_list)
        args_list.clear()
        values = iter(args)
        env = {node: next(values) for node in self.graph.find_nodes(op="placeholder")}
        args.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument; what is left of them for ``*args``; the default where they are used up."""
        if target.startswith("**"):
            return {}
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The parameter, buffer or constant at a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``target(*args, **kwargs)``."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The method ``target`` of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The submodule at a path, called."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What stands at a dotted path of the module."""
        found = self.module
        for i, name in enumerate(parts := target.split(".")):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: tuple[Any, ...], n: Any) -> Any:
        """An argument with the values of its nodes in their place."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return _plain(map_arg(args, value))


def _plain(a):
    """Lists and dicts that can be changed: functions may do so with their arguments."""
    if isinstance(a, tuple):
        inner = [_plain(each) for each in a]
        return a if isinstance(a, torch.Size) else type(a)(*inner) if hasattr(a, "_fields") else tuple(inner)
    if isinstance(a, list):
        return [_plain(each) for each in a] if type(a).__name__ == "immutable_list" else a
    if type(a).__name__ == "immutable_dict":
        return {key: _plain(value) for key, value in a.items()}
    return a


def _tell_where(error, node):
    if getattr(error, "_fx_node", None) is not None:
        return
    text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n\n{text}", *error.args[1:])
    elif not error.args:
        error.args = (text,)
    try:
        error._fx_node = node
    except AttributeError:
        pass


class Transformer(Interpreter):
    """An Interpreter whose values are proxies: it makes a new graph, and its methods say what becomes of a node.

    >>> class Negated(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negated(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, module: GraphModule) -> None:
        from ._symbolic_trace import Tracer

        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, module, path):
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An argument of the new function."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same attribute, in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the same submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the same method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of the same function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The GraphModule of the new graph."""
        before = list(self.graph.nodes)
        result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value):
                return value.node if isinstance(value, Proxy) else value

            kind = before[-1].type if before else None
            output = self.new_graph.output(map_aggregate(result, node_of), kind)
            output.meta.update(before[-1].meta if before else {})
        return GraphModule(self.module, self.new_graph)
