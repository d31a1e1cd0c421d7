"""A graph: a list of nodes in the order in which they run, and the program text that it stands for."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings

import torch

from ._codegen import CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo  # noqa: F401, names that programs import
from ._names import Namespace, snake_case
from ._writer import _Builtin, _custom_builtins, inplace_methods, magic_methods, reflectable_magic_methods  # noqa: F401
from .node import Argument, Node, _legal_ops, map_arg  # noqa: F401, a name that libraries import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


__all__ = ["PythonCode", "CodeGen", "Graph"]

_Namespace = Namespace


class _node_list:
    """The nodes of a graph, in order; follows changes of the graph while it is walked."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise ValueError(f"direction must be '_next' or '_prev', got {direction!r}")
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)  # an erased node still knows where it stood

    def __reversed__(self) -> _node_list:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class _InsertPoint:
    """Where new nodes go; as a context manager it puts the former place back."""

    def __init__(self, graph, new_insert):
        self.graph, self._before = graph, graph._insert
        graph._insert = new_insert

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.graph._insert = self._before


class Graph:
    """A program as a list of nodes.

    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._root.graph = self
        self._insert = self._root.prepend
        self._len = 0
        self._ordered = True
        self._graph_namespace = Namespace()
        self._graph_namespace.reserve({name: builtin.obj for name, builtin in _custom_builtins.items()})
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict = {}

    @property
    def owning_module(self) -> Any:
        """The GraphModule that runs this graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        """The nodes in order; ``len``, iteration and ``reversed`` work, also while nodes are erased or inserted."""
        return _node_list(self)

    def _number(self):
        if not self._ordered:
            for position, node in enumerate(self.nodes):
                node._position = position
            self._root._position = self._len
            self._ordered = True

    # --- making nodes ---

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Make a node at the insert point (at first the end). ``name`` is a wish: a free name near it is taken."""
        if op not in _legal_ops or op == "root":
            raise AssertionError(f"op '{op}' is not in _legal_ops: {', '.join(_legal_ops[:-1])}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args).__name__}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs).__name__}")
        node = Node(self, name or "", op, target, args, kwargs, type_expr)
        node.name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, node)
        self._insert(node)
        self._len += 1
        self._ordered = False
        for hook in getattr(self._owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    def _target_to_str(self, target):
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if len(name) > 4 and name[:2] == "__" == name[-2:]:
            name = name[2:-2]
        return snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """An argument of the function; ``*args`` and ``**kwargs`` carry their stars in the name."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or constant of the module, by its dotted path."""
        if self._owning_module is not None and not _has_path(self._owning_module, qualified_name):
            warnings.warn(
                f"Attempted to insert a get_attr Node for {qualified_name!r}, which the owning GraphModule does not have: "
                "set the attribute before the graph runs",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of the submodule at a dotted path."""
        if self._owning_module is not None and not _has_path(self._owning_module, module_name):
            warnings.warn(
                f"Attempted to insert a call_module Node for {module_name!r}, which the owning GraphModule does not have: "
                "call GraphModule.add_submodule first",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the function returns: a node, or containers of nodes and constants."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Any = lambda x: x) -> Node:
        """Copy a node of another graph; ``arg_transform`` maps that graph's nodes to ones of this graph."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g: Any, val_map: Any, return_output_node: bool = False) -> Any:
        """Append a copy of all nodes of ``g``. ``val_map`` (node -> node) says which need no copy, and is completed.

        Returns the value that ``g`` would return, in nodes of this graph (with ``return_output_node``, and its output
        node), or None.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def create_size_node(self, tensor_node: Any, dim: Any) -> Any:
        """The size of a tensor in one dim."""
        return self.call_method("size", (tensor_node, dim))

    def create_stride_node(self, tensor_node: Any, dim: Any) -> Any:
        """The stride of a tensor in one dim."""
        return self.call_method("stride", (tensor_node, dim))

    def create_storage_offset_node(self, tensor_node: Any) -> Any:
        """Where a tensor starts in its storage."""
        return self.call_method("storage_offset", (tensor_node,))

    def materialize_symint(self, value: Any) -> Any:
        """An int stands for itself; NotImplementedError for symbolic sizes, which this stack has not."""
        if isinstance(value, (int, Node)):
            return value
        raise NotImplementedError(f"symbolic sizes are not part of this stack: {value!r}")

    def materialize_symints(self, values: Any) -> Any:
        """:meth:`materialize_symint` of each."""
        return tuple(map(self.materialize_symint, values))

    # --- changing the graph ---

    def inserting_before(self, n: Node | None = None) -> Any:
        """New nodes go before ``n`` (None: to the beginning), within a ``with`` or until the next such call."""
        if n is None:
            return _InsertPoint(self, self._root.append)
        self._own(n, "inserting_before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """New nodes go behind ``n`` (None: to the end), within a ``with`` or until the next such call."""
        if n is None:
            return _InsertPoint(self, self._root.prepend)
        self._own(n, "inserting_after")
        return _InsertPoint(self, n.append)

    def _own(self, node, what):
        if node.graph is not self:
            raise AssertionError(f"{what}: node {node.name!r} is not in this graph")

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nothing uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}! Call replace_all_uses_with first"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        before, behind = to_erase._prev, to_erase._next
        to_erase._unlink()
        to_erase._prev, to_erase._next = before, behind  # an iteration that stands here goes on
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what is unused and what changes nothing else; returns whether something went.

        ``is_impure_node(node)`` replaces :meth:`Node.is_impure`. Writes in place stay.
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes with this op and, where one is given, this target, in order."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The output node."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError(f"the last node of the graph must be its output, found {node.op!r}")
        return node

    # --- checks ---

    def lint(self) -> None:
        """Raise RuntimeError where the graph is not a program: arguments that come later or from elsewhere, names used
        twice, targets that do not exist."""
        names: set = set()
        seen: set = set()
        for node in self.nodes:
            if node.op not in _legal_ops or node.op == "root":
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                        "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap "
                        f"values\n{self}"
                    )
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")  # fmt: skip
                if node not in used.users:
                    raise RuntimeError(f"Node '{node}' uses '{used}', which does not count it among its users")
            names.add(node.name)
            seen.add(node)
        root = self._owning_module
        if root is None:
            return
        for node in self.nodes:
            if node.op in ("get_attr", "call_module"):
                if not _has_path(root, node.target):
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute of {type(root).__name__}"
                    )
                if node.op == "call_module" and not isinstance(_at_path(root, node.target), torch.nn.Module):
                    raise RuntimeError(f"Node {node} target {node.target} references an attribute that is no Module")

    # --- program text ---

    def python_code(self, root_module: Any, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False, colored: bool = False,
                    expanded_def: bool = False, record_func: bool = False, additional_meta: Any = None) -> Any:  # fmt: skip
        """The program text, in which ``root_module`` is the name of the module; returns :class:`PythonCode`."""
        namespace = Namespace()
        for node in self.nodes:
            namespace._used_names.add(node.name)
        return self._codegen._gen_python_code(
            self.nodes,
            root_module,
            namespace,
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
        )

    def on_generate_code(self, make_transformer: Any) -> Any:
        """Let ``make_transformer(current)`` give the function that changes the lines of the body (a list of str) whenever
        program text is made. In a ``with`` the change ends with it."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restore():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restore()

    def set_codegen(self, codegen: Any) -> None:
        """Make program text in another way from now on."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The function's result for the argument of the output node."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    # --- copies ---

    def __deepcopy__(self, memo: Any = None) -> Graph:
        memo = {} if memo is None else memo
        copied = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        nodes: dict = {}
        for node in self.nodes:
            new = nodes[node] = copied.node_copy(node, nodes.__getitem__)
            new.name = node.name
            copied._graph_namespace._rename_object(new, node.name)
        copied._codegen = copy.deepcopy(self._codegen, memo) if type(self._codegen) is not CodeGen else CodeGen()
        copied._codegen._body_transformer = self._codegen._body_transformer
        memo[id(self)] = copied
        return copied


def _has_path(root, path):
    found = root
    for name in path.split("."):
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def _at_path(root, path):
    for name in path.split("."):
        root = getattr(root, name)
    return root
