"""A Proxy stands for a value while a program is traced: whatever is done to it becomes a node of the graph."""

from __future__ import annotations

import collections
import copy
import dataclasses
import dis
import enum
import linecache
import operator
import os
import sys
import traceback as _stack
from collections import OrderedDict
from typing import Any, NamedTuple

import torch
from torch import _seams

from . import traceback as fx_traceback
from ._names import Operator
from ._patches import contains_proxy
from .graph import Graph, magic_methods, reflectable_magic_methods
from .node import Argument, Node, base_types, map_aggregate  # noqa: F401, a name that libraries import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = [
    "TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "Attribute", "ParameterProxy", "Scope",
    "ScopeContextManager",
]  # fmt: skip

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class TraceError(ValueError):
    """The program asks a Proxy for what only a value could answer."""


class Scope(NamedTuple):
    """The module whose forward is being traced: its path and its class."""

    module_path: str
    module_type: Any


class ScopeContextManager:
    """Within it a tracer's scope is another one."""

    def __init__(self, scope: Any, current_scope: Any) -> None:
        self._scope_of, self._before, self._within = scope, copy.copy(scope), current_scope
        self._tracer = None

    def bind(self, tracer: Any) -> Any:
        self._tracer = tracer
        return self

    def __enter__(self) -> Any:
        if self._tracer is not None:
            self._tracer.scope = self._within
        return self._within

    def __exit__(self, *exc: Any) -> None:
        if self._tracer is not None:
            self._tracer.scope = self._before


def _is_ours(filename):
    return filename.startswith((_HERE, "<frozen"))


def _user_frame():
    """The innermost frame that is not of torch.fx."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _traced_stack() -> str:
    """The frames of the traced program that lead here, as tracebacks print them."""
    frames = _stack.extract_stack()
    start = max((i for i, f in enumerate(frames) if f.name == "trace" and _is_ours(f.filename)), default=-1)
    frames = [f for f in frames[start + 1 :] if not _is_ours(f.filename)]
    return "".join(_stack.StackSummary.from_list(frames).format()).strip()


def _whereabouts(frame) -> str:
    """``file:line in function`` and the line itself."""
    if frame is None:
        return ""
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line, frame.f_globals).strip()
    place = f'\n  File "{file}", line {line}, in {frame.f_code.co_name}'
    return f"{place}\n    {text}" if text else place


def _instructions(frame):
    """The instruction at which a frame stands, and those behind it."""
    code = iter(dis.get_instructions(frame.f_code))
    for instruction in code:
        if instruction.offset >= frame.f_lasti:
            return instruction, code
    return None, code


class TracerBase:
    """What every tracer can do: make nodes from calls, and arguments of nodes from values."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: OrderedDict
    node_name_to_scope: dict

    def create_node(
        self,
        kind: Any,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Any:
        """Append a node to the graph and note where it comes from."""
        if kind == "call_function" and self.check_mutable_operations:
            _refuse_writes(target, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = getattr(self, "scope", None)
        if scope is not None:
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        if getattr(self, "module_stack", None):
            node.meta.setdefault("nn_module_stack", copy.copy(self.module_stack))
        return node

    def proxy(self, node: Node) -> Any:
        """The Proxy of a node; override it to trace with proxies of your own."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: Any,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        """Append a node whose arguments may hold proxies, and return its Proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise TypeError(f"create_proxy: args must be a tuple and kwargs a dict, got {args!r} and {kwargs!r}")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces and node.stack_trace is None:
            node.stack_trace = _traced_stack()
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """The argument of a node for a value: proxies become their nodes, containers are walked.

        An object with ``__fx_create_arg__(tracer)`` is asked. NotImplementedError for a value that no program text
        could hold.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            inner = tuple(self.create_arg(each) for each in a)
            # A named tuple is made where the program makes it, so that what reads the graph sees its class.
            return self.create_node("call_function", type(a), inner, {}) if hasattr(a, "_fields") else inner
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._constant_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum, Node, Operator)):
            return a
        if isinstance(a, (torch.Generator, bytes, type)):
            return a
        raise NotImplementedError(
            f"argument of type: {type(a)}: a node takes numbers, strings, dtypes, tensors, devices, other nodes, and "
            f"tuples, lists, dicts and slices of them, not {type(a).__name__}{_whereabouts(_user_frame())}"
        )

    def _constant_key(self, key):
        if contains_proxy((key,)):
            raise RuntimeError(
                f"Cannot use a Proxy as the key of a dict in a traced program: {key!r}{_whereabouts(_user_frame())}"
            )
        return key

    def to_bool(self, obj: Any) -> Any:
        """Called where a program needs to know whether a Proxy is true; override it to decide."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow: the result of "
            f"{_described(obj)} is not known while tracing{_whereabouts(_user_frame())}\n"
            "Give the argument that decides as concrete_args, make its module a leaf (Tracer.is_leaf_module), put the branch "
            "into a function marked by torch.fx.wrap, or use torch.where"
        )

    def iter(self, obj: Any) -> Any:
        """Called where a program iterates over a Proxy of unknown length; override it to decide."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            f"**kwargs function argument: the length of {_described(obj)} is not known while tracing"
            f"{_whereabouts(_user_frame())}\n"
            "Unpack into a fixed number of names (a, b = x.shape), give the argument as concrete_args, or put the loop "
            "into a function marked by torch.fx.wrap"
        )

    def keys(self, obj: Any) -> Any:
        """Called for ``**proxy`` and ``proxy.keys()``; override it to give the keys."""
        return Attribute(obj, "keys")()


def _described(proxy):
    node = getattr(proxy, "node", None)
    if node is None:
        return repr(proxy)
    if node.op == "placeholder":
        return f"argument {node.target!r}"
    return f"{node.name!r} ({node.op} of {node._pretty_print_target(node.target)})"


def _refuse_writes(target, kwargs):
    name = getattr(target, "__name__", "")
    if (name.endswith("_") and not name.startswith("_") and hasattr(torch.Tensor, name)) or kwargs.get(
        "out"
    ) is not None:
        raise RuntimeError(
            f"check_mutable_operations: {name} changes a tensor in place, which this tracer refuses; use the form without "
            f"{'out=' if kwargs.get('out') is not None else 'the trailing underscore'}{_whereabouts(_user_frame())}"
        )


class GraphAppendingTracer(TracerBase):
    """A tracer that appends to a graph which exists already.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    >>> (x + 1).node
    add
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """The stand-in for a value in a traced program. Operators, attributes, methods and functions of torch make nodes.

    What needs the value itself (``if``, ``for``, ``len``, ``int``) raises an error that names the line.

    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + x.shape[0]).graph
    >>> [node.name for node in graph.nodes]
    ['x', 'relu', 'getattr_1', 'getitem', 'add', 'output']
    """

    def __init__(self, node: Node, tracer: Any = None) -> None:
        _seams.stands_in(Proxy)
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: Any) -> Any:
        special = k[:2] == "__" == k[-2:] and (k.startswith("__array") or not hasattr(torch.Tensor, k))
        if special or k in ("node", "tracer"):
            raise AttributeError(f"a Proxy has no attribute {k!r}")
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction, _ = _instructions(frame)
        if instruction is not None and instruction.opname.startswith("UNPACK_SEQUENCE"):
            return (self[i] for i in range(instruction.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            found, message = _asserted(sys._getframe(1))
            if found:
                self.tracer.create_proxy("call_function", torch._assert, (self, message), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            f"'len' is not supported in symbolic tracing by default: the length of {_described(self)} is not known. If you "
            "want this call to be recorded, please call torch.fx.wrap('len') at module scope"
            f"{_whereabouts(_user_frame())}"
        )

    def __deepcopy__(self, memo: Any) -> Any:
        copied = type(self).__new__(type(self))
        copied.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return copied

    def __getstate__(self) -> Any:
        return self.__dict__

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    @classmethod
    def _record(cls, kind, target, args, kwargs):
        """Append a call to the graph of the proxies among its arguments, which must be of one trace."""
        tracers: dict = {}

        def note(leaf):
            if isinstance(leaf, Proxy):
                tracers[id(leaf.tracer)] = leaf.tracer
            return leaf

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers.values())} while trying to trace the operation {target}: the "
                "proxies among its arguments come from different traces"
            )
        (tracer,) = tracers.values()
        return tracer.create_proxy(kind, target, args, kwargs)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        if _is_method_of_tensor(orig_method):
            return cls._record("call_method", orig_method.__name__, args, kwargs)
        return cls._record("call_function", orig_method, args, kwargs)


def _is_method_of_tensor(function):
    return getattr(function, "__objclass__", None) is torch.Tensor


def _asserted(frame):
    """Whether a frame stands in the condition of an assert, and its message when that is a constant."""
    instruction, rest = _instructions(frame)
    passing = ("TO_BOOL", "NOT_TAKEN", "CACHE", "COPY", "EXTENDED_ARG")
    while instruction is not None and instruction.opname in passing:
        instruction = next(rest, None)
    if (
        instruction is None
        or not instruction.opname.startswith(("POP_JUMP", "JUMP_IF_TRUE"))
        or "TRUE" not in instruction.opname
    ):
        return False, None
    raising = next(rest, None)
    while raising is not None and raising.opname in passing:
        raising = next(rest, None)
    if raising is None or not (
        raising.opname == "LOAD_ASSERTION_ERROR"
        or (raising.opname == "LOAD_COMMON_CONSTANT" and raising.argval is AssertionError)
    ):
        return False, None
    message = next(rest, None)
    return True, message.argval if message is not None and message.opname == "LOAD_CONST" else None


class Attribute(Proxy):
    """An attribute of a Proxy: a method when it is called, a value when it is used otherwise."""

    def __init__(self, root: Any, attr: Any) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self) -> Any:
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The Proxy of a parameter whose shape counts as known (``Tracer(param_shapes_constant=True)``)."""

    def __init__(self, tracer: Any, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise TypeError(f"ParameterProxy: expected a Parameter, got {type(param).__name__}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self, *dim: Any) -> Any:
        return self.param.size(*dim)

    def dim(self) -> Any:
        return self.param.dim()

    @property
    def ndim(self) -> Any:
        return self.param.ndim

    def numel(self) -> Any:
        return self.param.numel()

    def nelement(self) -> Any:
        return self.param.nelement()


# --- operators ---

# Reflected operators on a tensor: what PyTorch's tensor calls the method that did not know the Proxy.
_METHODS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "matmul": "matmul", "pow": "pow", "mod": "remainder",
    "floordiv": "__floordiv__", "and_": "__and__", "or_": "__or__", "xor": "__xor__", "lshift": "__lshift__",
    "rshift": "__rshift__",
}  # fmt: skip


def _operator_method(name):
    target = getattr(operator, name)

    def method(self, *args):
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    method.__name__ = f"__{name.strip('_')}__"
    return method


def _reflected_method(name):
    target = getattr(operator, name)

    def method(self, left):
        if isinstance(left, torch.Tensor):
            return self.tracer.create_proxy("call_method", _METHODS[name], (left, self), {})
        return self.tracer.create_proxy("call_function", target, (left, self), {})

    method.__name__ = f"__r{name.strip('_')}__"
    return method


for _name in magic_methods:
    if _name not in ("abs",):
        setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(_name))
