"""A node of a graph: one call, its arguments, and who uses its result.

placeholder    an argument of the function; ``target`` is its name
get_attr       a parameter, buffer or constant; ``target`` is its dotted path
call_function  ``target(*args, **kwargs)``
call_module    the submodule at path ``target``, called
call_method    the method named ``target`` of ``args[0]``
output         ``args[0]`` is what the function returns
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any, Union

import torch
from torch import _seams

from ._names import qualified_name
from .immutable_collections import immutable_dict, immutable_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch.fx import Graph


__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

Target = Union[Callable[..., Any], str]  # noqa: UP007
Argument = Any  # a constant, a Node, or tuples, lists, dicts, slices and ranges of them
BaseArgumentTypes = Union[str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device]  # noqa: UP007
base_types = (
    str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout,
    torch.SymInt, torch.SymBool, torch.SymFloat,
)  # fmt: skip

_legal_ops = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

_side_effectful_functions: set = {torch._assert, operator.setitem, operator.delitem, print, setattr, delattr}
_side_effectful_functions |= {getattr(torch, n) for n in ("_assert_async", "manual_seed")}
_side_effectful_functions |= {torch._C._set_grad_enabled}


@functools.cache
def _random() -> frozenset:
    """The names of operators that draw random numbers."""
    return frozenset(row["schema"].partition("(")[0] for row in _seams.rows() if row["random"])


_IN_PLACE_OPERATORS = {
    getattr(operator, name)
    for name in (
        "iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand", "ior",
        "ixor", "iconcat",
    )
}  # fmt: skip


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function when dead code is removed; usable as a decorator.

    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[..., Any]) -> Any:
    """``fn`` of every leaf of nested tuples, lists, dicts and slices, which come back as immutable ones.

    >>> map_aggregate([1, (2, slice(3, None))], lambda leaf: leaf and 10 * leaf)
    [10, (20, slice(30, None, None))]
    """
    if isinstance(a, tuple):
        inner = [map_aggregate(each, fn) for each in a]
        return type(a)(*inner) if hasattr(a, "_fields") else tuple(inner)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[..., Any]) -> Any:
    """``fn`` of every Node in an argument; everything else stays.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> map_arg((x, 3), lambda node: node.name)
    ('x', 3)
    """
    if not callable(fn):
        raise TypeError(f"map_arg: fn must be callable, got {type(fn).__name__}")
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def _type_repr(obj):
    """How a type is spelt in annotations: ``int``, ``torch.Tensor``, ``typing.List[int]``."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as ``format_node`` prints it: nodes with a percent sign, strings bare."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        items = [_format_arg(each) for i, each in enumerate(arg) if i < max_list_len]
        if len(arg) > max_list_len:
            items.append(f"...[total_len={len(arg)}]")
        comma = "," if isinstance(arg, tuple) and len(arg) == 1 else ""
        left, right = "[]" if isinstance(arg, list) else "()"
        return left + ", ".join(items) + comma + right
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One node of a :class:`Graph`; made by the graph's methods (``call_function``, ``placeholder``, ...).

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> y.format_node(), list(x.users)
    ('%relu : [num_users=0] = call_function[target=torch.relu](args = (%x,), kwargs = {})', [relu])
    """

    graph: Graph
    name: str
    op: str
    target: Any
    type: Any
    users: dict[Node, None]
    meta: dict[str, Any]

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_args",
        "_erased",
        "_input_nodes",
        "_kwargs",
        "_next",
        "_position",
        "_prev",
        "_repr_fn",
        "graph",
        "meta",
        "name",
        "op",
        "target",
        "type",
        "users",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise ValueError(f"Node {name!r}: op must be one of {', '.join(_legal_ops)}, got {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node {name!r}: the target of a call_function must be callable, got {target!r} ({type(target).__name__})"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node {name!r}: the target of a {op} must be a str, got {target!r} ({type(target).__name__})"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._args, self._kwargs = (), {}
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._position = 0
        self._repr_fn = None
        self._update_args_kwargs(tuple(args), dict(kwargs))

    # --- place in the graph ---

    @property
    def next(self) -> Node:
        """The node behind this one; the last node's is the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put ``x`` before this node, taking it from where it was; both must be of one graph."""
        if self.graph is not x.graph:
            raise AssertionError(
                f"cannot move node {x.name!r} into the graph of {self.name!r}: it belongs to another graph"
            )
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._ordered = False

    def append(self, x: Node) -> None:
        """Put ``x`` behind this node, taking it from where it was."""
        if x is not self:
            self._next.prepend(x) if self._next is not x else None

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def _remove_from_list(self):
        self._unlink()

    def __lt__(self, other: Any) -> Any:
        self.graph._number()
        return self._position < other._position

    def __gt__(self, other: Any) -> Any:
        return other < self

    def __le__(self, other: Any) -> Any:
        return self is other or self < other

    def __ge__(self, other: Any) -> Any:
        return self is other or other < self

    # --- arguments ---

    @property
    def args(self) -> Any:
        """The positional arguments: constants, nodes and containers of them. Assign a tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._update_args_kwargs(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> Any:
        """The arguments by name. Assign a dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._update_args_kwargs(self._args, dict(kwargs))

    def _update_args_kwargs(self, args, kwargs):
        inputs: dict[Node, None] = {}
        note = inputs.setdefault
        new_args = map_arg(args, lambda node: note(node) or node)
        new_kwargs = map_arg(kwargs, lambda node: note(node) or node)
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = new_args, new_kwargs, inputs
        for new in inputs:
            new.users.setdefault(self)

    _Node__update_args_kwargs = _update_args_kwargs

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in the order of their first appearance."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace the positional argument ``idx``."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument before position ``idx`` (0 to ``len(args)``)."""
        if not 0 <= idx <= len(self._args):
            raise ValueError(f"insert_arg: idx must be between 0 and {len(self._args)}, got {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace or add the argument named ``key``."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use ``new_input`` wherever this node uses ``old_input``."""
        for hook in _hooks_of(self.graph):
            hook(old=old_input, new=new_input.name, user=self)
        swap = lambda node: new_input if node is old_input else node
        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self, replace_with: Any, delete_user_cb: Any = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let ``replace_with`` stand wherever this node is used, in the users for which ``delete_user_cb`` is true.

        Returns the users that there were. ``propagate_meta`` copies this node's meta to one that has none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    f"replace_all_uses_with: {replace_with.name!r} has meta of its own, which propagate_meta would overwrite"
                )
            replace_with.meta.update(self.meta)
        users = list(self.users)
        for user in users:
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
        return users

    # --- what it is ---

    @property
    def stack_trace(self) -> str | None:
        """Where the call stands in the traced program, when the tracer recorded it (``record_stack_traces``)."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: Any) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether leaving the node out would change more than its result: it writes, asserts, prints, or (with
        ``impure_random``) draws random numbers. What cannot be known counts as impure."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions or self._writes(impure_random)
        if self.op == "call_method":
            return self._writes(impure_random)
        if self.op == "call_module":
            root = self.graph.owning_module
            if root is None:
                return True
            module = root.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False) or getattr(module, "inplace", False))
        return False

    def _writes(self, impure_random):
        name = self.target if isinstance(self.target, str) else getattr(self.target, "__name__", "")
        name = name.partition(".")[0]  # of an overload: add_.Tensor
        if self.op == "call_function" and self.target in _IN_PLACE_OPERATORS:
            return True
        if name.startswith("_assert_"):  # what programs check while they run
            return True
        if name.startswith("__"):
            return name in ("__setitem__", "__delitem__") or (
                name.startswith("__i") and f"__{name[3:]}" in dir(torch.Tensor)
            )
        if name.endswith("_") and (hasattr(torch.Tensor, name) or hasattr(torch.Tensor, name[:-1])):
            return True
        if (
            isinstance(self.target, torch._ops.OpOverload)
            and self.target.namespace != "aten"
            and self.target._schema.is_mutable
        ):
            return True  # of torch.library: what it writes to is no matter of its name
        if self._kwargs.get("inplace") or self._kwargs.get("out") is not None:
            return True
        return impure_random and name in _random()

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments with defaults filled in and, if asked, all by name; None where no signature fits.

        Returns ``ArgsKwargsPair(args, kwargs)``.
        """
        from .operator_schemas import normalize_function, normalize_module

        args, kwargs = self._args, self._kwargs
        if self.op == "call_function":
            return normalize_function(self.target, args, kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, args, kwargs, normalize_to_only_use_kwargs)
        return None

    # --- printing ---

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _pretty_print_target(self, target):
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self, placeholder_names: Any = None, maybe_return_typename: Any = None, *, include_tensor_metadata: bool = False
    ) -> Any:
        """One line that describes the node. With ``placeholder_names`` (a list) arguments are collected there, and with
        ``maybe_return_typename`` (a list) the output's type."""
        kind = f": {_type_repr(self.type)} " if self.type else ": "
        if include_tensor_metadata and (meta := self.meta.get("val", self.meta.get("tensor_meta"))) is not None:
            kind = f": {_tensor_note(meta)}{kind[1:] if self.type else ' '}"
        left = f"%{self.name} {kind}[num_users={len(self.users)}] = {self.op}"
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            if placeholder_names is not None:
                text = f"{target} : {_type_repr(self.type)}" if self.type else target
                placeholder_names.append(text if not self._args else f"{text} = {self._args[0]!r}")
                return None
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{left}[target={target}]{default}"
        if self.op == "get_attr":
            return f"{left}[target={target}]"
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        return f"{left}[target={target}](args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"

    # --- copies ---

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def _tensor_note(meta):
    if isinstance(meta, (tuple, list)) and not hasattr(meta, "shape"):
        return "(" + ", ".join(_tensor_note(each) for each in meta) + ")"
    if hasattr(meta, "shape") and hasattr(meta, "dtype"):
        from .graph import tensor_annotation

        return tensor_annotation(meta)
    return str(meta)


def _hooks_of(graph):
    module = graph.owning_module
    return getattr(module, "_replace_hooks", ()) if module is not None else ()


def _get_qualified_name(func) -> str:
    """The dotted name by which a function is known."""
    return qualified_name(func)
