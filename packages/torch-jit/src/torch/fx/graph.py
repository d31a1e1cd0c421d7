"""A graph: a list of nodes in the order in which they run, and the program text that it stands for."""

import builtins
import contextlib
import copy
import enum
import inspect
import re
import types
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import _pytree as pytree

from . import _pytree as fx_pytree
from ._names import Namespace, is_path, qualified_name, resolve, snake_case
from .node import Node, _legal_ops, _type_repr, map_arg

__all__ = ["PythonCode", "CodeGen", "Graph"]

_Namespace = Namespace

# What operators of Python look like in a program.
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}",
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}",
    "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
reflectable_magic_methods = {
    name: magic_methods[name]
    for name in (
        "add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul",
    )
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


class _Builtin(NamedTuple):
    """A name that every generated program knows, and the statement that brings it."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _Builtin] = {
    "inf": _Builtin("from math import inf", float("inf")),
    "nan": _Builtin("from math import nan", float("nan")),
    "NoneType": _Builtin("NoneType = type(None)", type(None)),
    "torch": _Builtin("import torch", torch),
    "device": _Builtin("from torch import device", torch.device),
    "fx_pytree": _Builtin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _Builtin("import torch.utils._pytree as pytree", pytree),
}


@dataclass
class PythonCode:
    """The program text of a graph, and the objects that its global names stand for."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = field(default=None)
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """How a function's arguments and result were taken apart while it was traced."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


_ABBREVIATED = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8",
}  # fmt: skip


def tensor_annotation(tensor, include_stride=False, include_device=False) -> str:
    """
    >>> tensor_annotation(torch.ones(2, 3), include_stride=True)
    'f32[2, 3][3, 1]'
    """
    kind = str(tensor.dtype).removeprefix("torch.")
    text = f"{_ABBREVIATED.get(kind, kind)}[{', '.join(map(str, tensor.shape))}]"
    if include_stride:
        stride = tensor.stride() if callable(tensor.stride) else tensor.stride
        text += f"[{', '.join(map(str, stride))}]"
    return f"{text}{tensor.device}" if include_device and hasattr(tensor, "device") else text


class _Writer:
    """Writes one program: its lines, and the globals that they mention."""

    def __init__(self, codegen, root, namespace):
        self.codegen, self.root, self.namespace = codegen, root, namespace
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.returns = ""
        for name, builtin in {**_custom_builtins, **codegen.additional_builtins()}.items():
            self.globals[name] = builtin.obj
            namespace.associate_name_with_obj(name, builtin.obj) if _hashable(builtin.obj) else None

    def known(self, hint: str, obj) -> str:
        """The name under which the program finds an object."""
        if _is_of_torch(obj) and obj is not torch.device:
            path = qualified_name(obj)
            if resolve(path) is obj and all(map(is_path, path.split("."))):
                return path
        if obj is type(None):
            return "NoneType"
        for name in ("device", "torch"):
            if obj is self.globals.get(name):
                return name
        hint = hint.replace(".", "_")
        if hint in self.globals and self.globals[hint] is obj:
            return hint
        if getattr(builtins, hint, None) is obj:
            name = hint
        else:
            name = self.namespace.create_name(hint, _Identity(obj))
        self.globals[name] = obj
        return name

    def type(self, kind) -> str:
        """The annotation for a type."""
        if kind == ():
            return "()"
        if kind is ...:
            return "..."
        if isinstance(kind, str):
            return repr(kind)
        if isinstance(kind, typing.ForwardRef):
            return repr(kind.__forward_arg__)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.type, kind.__args__))
        origin = getattr(kind, "__origin__", None)
        if origin is None or not getattr(kind, "__args__", ()):
            return self.known(_type_repr(kind), kind)
        if isinstance(kind, types.GenericAlias):
            base = self.known(_type_repr(origin), origin)
        else:
            name = getattr(kind, "_name", None) or getattr(origin, "_name", None) or _type_repr(origin)
            if origin is typing.Union:
                name = "Union"
            base = (
                self.known(f"typing.{name}", getattr(typing, name))
                if hasattr(typing, name)
                else self.known(name, origin)
            )
        return f"{base}[{','.join(map(self.type, kind.__args__))}]"

    def value(self, a) -> str:
        """The expression for an argument."""
        if isinstance(a, Node):
            return repr(a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return f"{self.known(_type_repr(type(a)), type(a))}{self._items(a)}"
        if isinstance(a, tuple):
            return self._items(a)
        if isinstance(a, list):
            return "[" + ", ".join(map(self.value, a)) + "]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{self.value(key)}: {self.value(value)}" for key, value in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.value(a.start)}, {self.value(a.stop)}, {self.value(a.step)})"
        if isinstance(a, range):
            step = f", {a.step}" if a.step != 1 else ""
            return f"range({a.start}, {a.stop}{step})"
        if isinstance(a, enum.Enum):
            return f"{self.known(_type_repr(type(a)), type(a))}.{a.name}"
        if isinstance(a, (type, types.GenericAlias)) or (callable(a) and hasattr(a, "__name__")):
            return self.known(qualified_name(a), a)
        if isinstance(a, torch.Tensor):
            raise TypeError(
                "a tensor among the arguments of a node has no program text: register it as a buffer and use Graph.get_attr"
            )
        return repr(a)

    def _items(self, values):
        return "(" + ", ".join(map(self.value, values)) + ("," if len(values) == 1 else "") + ")"

    def operand(self, a) -> str:
        """The expression for what an operator of Python works on."""
        text = self.value(a)
        return f"({text})" if isinstance(a, (int, float)) and not isinstance(a, bool) and text.startswith("-") else text

    def arguments(self, args, kwargs) -> str:
        parts = list(map(self.value, args))
        parts += [f"{key} = {self.value(value)}" for key, value in kwargs.items() if is_path(key)]
        if odd := {key: value for key, value in kwargs.items() if not is_path(key)}:
            parts.append(f"**{self.value(odd)}")
        return ", ".join(parts)

    def statement(self, node) -> str | None:
        """The line of a node; None for an argument of the function."""
        result = f"{node!r}{f' : {self.type(node.type)}' if node.type is not None else ''}"
        if node.op == "placeholder":
            return self._parameter(node)
        if node.op == "call_method":
            text = f"{self.operand(node.args[0])}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        elif node.op == "call_module":
            text = f"{_path(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        elif node.op == "get_attr":
            text = _path(self.root, node.target)
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type(node.type)}"
            return self.codegen.generate_output(node.args[0], self.value)
        else:
            return self._call(node, result)
        return f"{result} = {text}"

    def _parameter(self, node):
        annotation = f" : {self.type(node.type)}" if node.type is not None else ""
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{annotation}{default}")
        bare = node.target.replace("*", "")
        return None if bare == node.name else f"{node!r} = {bare}"

    def _call(self, node, result):
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if name in magic_methods and len(args) == magic_methods[name].count("{}"):
                operands = [self.operand(args[0]), *map(self.value if name == "getitem" else self.operand, args[1:])]
                return f"{result} = {magic_methods[name].format(*operands)}"
            if name in inplace_methods and len(args) == inplace_methods[name].count("{}") and isinstance(args[0], Node):
                return f"{inplace_methods[name].format(*map(self.value, args))};  {result} = {args[0]!r}"
        if (
            target is getattr
            and len(args) == 2
            and isinstance(args[0], Node)
            and isinstance(args[1], str)
            and is_path(args[1])
        ):
            return f"{result} = {args[0]!r}.{args[1]}"
        known = self.known(qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(known)
        return f"{result} = {known}({self.arguments(args, node.kwargs)})"


class _Identity:
    """Equal to one for the same object: names belong to objects, whatever their own equality says."""

    def __init__(self, obj):
        self.obj = obj

    def __eq__(self, other):
        return isinstance(other, _Identity) and self.obj is other.obj

    def __hash__(self):
        return id(self.obj)


def _hashable(obj):
    return getattr(type(obj), "__hash__", None) is not None


def _is_of_torch(obj):
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "__objclass__", None), "__module__", None) or ""
    return module.partition(".")[0] == "torch"


def _path(root: str, target: str) -> str:
    """``root.a`` and, where a part is no identifier, ``getattr(root.a, "0")``."""
    for part in target.split("."):
        root = f"{root}.{part}" if is_path(part) else f'getattr({root}, "{part}")'
    return root


class CodeGen:
    """Turns a graph into program text; subclasses change how arguments come in and results go out."""

    def __init__(self):
        self._body_transformer: Callable | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line with ``def``, and what must stand below it."""
        parameters = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args, value=repr) -> str:
        """The return statement."""
        return f"return {value(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders for these arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """What the function returns for the argument of the output node."""
        return outputs

    def additional_globals(self):
        """Names beyond those of the nodes that the text needs: pairs of name and object."""
        return []

    def additional_builtins(self):
        return {}

    def _gen_python_code(
        self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False
    ):
        writer = _Writer(self, root_module, namespace)
        for name, obj in self.additional_globals():
            writer.globals[name] = obj
        nodes = list(nodes)
        last_uses = _last_uses(nodes)
        body, lines = [], {}
        trace = None
        for index, node in enumerate(nodes):
            if verbose and node.op not in ("placeholder", "output"):
                comment = _origin(node)
                if comment != trace:
                    body.append(f"{comment}\n")
                    trace = comment
            statement = writer.statement(node)
            if statement is None:
                if verbose:
                    _annotate_parameter(writer, node, include_stride, include_device)
                continue
            if (
                verbose
                and node.op not in ("placeholder", "output")
                and (note := _note(node, include_stride, include_device))
            ):
                statement = statement.replace(f"{node!r} = ", f'{node!r}: "{note}" = ', 1)
            done = last_uses.get(node, []) if node.op not in ("placeholder", "output") else []
            body.append(statement + (f";  {' = '.join(map(repr, done))} = None" if done else "") + "\n")
            lines[len(body)] = index
        if not body:
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        definition = self.gen_fn_def(writer.parameters, writer.returns)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        text = "\n".join(f"    {line}" for line in "".join(body).lstrip("\n").split("\n"))
        start = wraps.count("\n") + 4
        offset = start + definition.count("\n")
        return PythonCode(
            f"\n{wraps}\n\n{definition}\n{text}", writer.globals, {n + offset: i for n, i in lines.items()}, start
        )


def _last_uses(nodes):
    """For each node, what no later node uses: its arguments in order, and itself when nobody uses it."""
    seen: set = set()
    found: dict = {}
    for node in reversed(nodes):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
        if not node.users and node.op not in ("placeholder", "output"):
            found.setdefault(node, []).append(node)
    return found


def _origin(node):
    """The comment that tells where a node comes from."""
    trace = node.stack_trace
    if not trace:
        return "# No stacktrace found for following nodes"
    places = re.findall(r'File "(.+)", line (\d+), in (.+)\n\s*(.*)', trace)
    if not places:
        return "# No stacktrace found for following nodes"
    file, line, function, code = places[-1]
    return f"# File: {file}:{line} in {function}, code: {code.strip()}"


def _note(node, include_stride, include_device):
    meta = node.meta.get("val", node.meta.get("tensor_meta"))
    return (
        tensor_annotation(meta, include_stride, include_device)
        if hasattr(meta, "dtype") and hasattr(meta, "shape")
        else ""
    )


def _annotate_parameter(writer, node, include_stride, include_device):
    if node.type is None and (note := _note(node, include_stride, include_device)):
        name, equals, default = writer.parameters[-1].partition(" = ")
        writer.parameters[-1] = f'{name}: "{note}"{equals}{default}'


class _PyTreeCodeGen(CodeGen):
    """A function whose arguments and results are trees of containers: placeholders stand for their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        if not isinstance(out, (list, tuple)) or self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        names = self.pytree_info.orig_args
        definition = super().gen_fn_def(names, maybe_return_annotation)
        if not free_vars:
            return definition
        own = [name for name in names if name != "self"]
        bare = [re.split(r"\s*[:=]", v)[0].strip() for v in free_vars]
        typed = "".join(f"\n    {v.partition(' = ')[0]}" for v in free_vars if " : " in v)
        flat = f"fx_pytree.tree_flatten_spec([{', '.join(own)}], self._in_spec)"
        return f"{definition}{typed}\n    {', '.join(bare)}, = {flat}"

    def generate_output(self, output_args, value=repr):
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, value)
        return f"return pytree.tree_unflatten({value(output_args)}, self._out_spec)"


class _node_list:
    """The nodes of a graph, in order; follows changes of the graph while it is walked."""

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise ValueError(f"direction must be '_next' or '_prev', got {direction!r}")
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)  # an erased node still knows where it stood

    def __reversed__(self):
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

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
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
    def owning_module(self):
        """The GraphModule that runs this graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        """The nodes in order; ``len``, iteration and ``reversed`` work, also while nodes are erased or inserted."""
        return _node_list(self)

    def _number(self):
        if not self._ordered:
            for position, node in enumerate(self.nodes):
                node._position = position
            self._root._position = self._len
            self._ordered = True

    # --- making nodes ---

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
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

    def placeholder(self, name, type_expr=None, default_value=inspect.Signature.empty):
        """An argument of the function; ``*args`` and ``**kwargs`` carry their stars in the name."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or constant of the module, by its dotted path."""
        if self._owning_module is not None and not _has_path(self._owning_module, qualified_name):
            warnings.warn(
                f"Attempted to insert a get_attr Node for {qualified_name!r}, which the owning GraphModule does not have: "
                "set the attribute before the graph runs",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of the submodule at a dotted path."""
        if self._owning_module is not None and not _has_path(self._owning_module, module_name):
            warnings.warn(
                f"Attempted to insert a call_module Node for {module_name!r}, which the owning GraphModule does not have: "
                "call GraphModule.add_submodule first",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """What the function returns: a node, or containers of nodes and constants."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """Copy a node of another graph; ``arg_transform`` maps that graph's nodes to ones of this graph."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
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

    def create_size_node(self, tensor_node, dim):
        """The size of a tensor in one dim."""
        return self.call_method("size", (tensor_node, dim))

    def create_stride_node(self, tensor_node, dim):
        """The stride of a tensor in one dim."""
        return self.call_method("stride", (tensor_node, dim))

    def create_storage_offset_node(self, tensor_node):
        """Where a tensor starts in its storage."""
        return self.call_method("storage_offset", (tensor_node,))

    def materialize_symint(self, value):
        """An int stands for itself; NotImplementedError for symbolic sizes, which this stack has not."""
        if isinstance(value, (int, Node)):
            return value
        raise NotImplementedError(f"symbolic sizes are not part of this stack: {value!r}")

    def materialize_symints(self, values):
        """:meth:`materialize_symint` of each."""
        return tuple(map(self.materialize_symint, values))

    # --- changing the graph ---

    def inserting_before(self, n=None):
        """New nodes go before ``n`` (None: to the beginning), within a ``with`` or until the next such call."""
        if n is None:
            return _InsertPoint(self, self._root.append)
        self._own(n, "inserting_before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """New nodes go behind ``n`` (None: to the end), within a ``with`` or until the next such call."""
        if n is None:
            return _InsertPoint(self, self._root.prepend)
        self._own(n, "inserting_after")
        return _InsertPoint(self, n.append)

    def _own(self, node, what):
        if node.graph is not self:
            raise AssertionError(f"{what}: node {node.name!r} is not in this graph")

    def erase_node(self, to_erase):
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

    def eliminate_dead_code(self, is_impure_node=None):
        """Erase what nobody uses and what changes nothing else; returns whether something went.

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

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes with this op and, where one is given, this target, in order."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self):
        """The output node."""
        node = self._root._prev
        if node.op != "output":
            raise AssertionError(f"the last node of the graph must be its output, found {node.op!r}")
        return node

    # --- checks ---

    def lint(self):
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

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False,
                    expanded_def=False, record_func=False, additional_meta=None):  # fmt: skip
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

    def on_generate_code(self, make_transformer):
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

    def set_codegen(self, codegen):
        """Make program text in another way from now on."""
        self._codegen = codegen

    def process_inputs(self, *args):
        """The values of the placeholders for arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The function's result for the argument of the output node."""
        return self._codegen.process_outputs(out)

    def __str__(self):
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self):
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    # --- copies ---

    def __deepcopy__(self, memo=None):
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
