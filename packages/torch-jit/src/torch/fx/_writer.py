"""Program text of single nodes: names, types, values and statements."""

import builtins
import enum
import json
import types
import typing
from typing import Any, NamedTuple

import torch
from torch import _pytree as pytree

from . import _pytree as fx_pytree
from ._names import is_path, qualified_name, resolve
from .node import Node, _type_repr

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
        if type(a).__module__ == "numpy" and hasattr(
            a, "item"
        ):  # its own text, np.float64(0.5), needs NumPy under that name
            return repr(a.item())
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
            _check_name(node, node.target)
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
        bare = node.target.lstrip("*")
        _check_name(node, bare)
        annotation = f" : {self.type(node.type)}" if node.type is not None else ""
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{annotation}{default}")
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


def _check_name(node, name: str) -> None:
    """ValueError for a target that would be more in a program than the name of an argument or of a method."""
    if not is_path(name):
        raise ValueError(
            f"fx: {node.op} node {node.name!r} has the target {node.target!r}, which is no name in a program"
        )


def _hashable(obj):
    return getattr(type(obj), "__hash__", None) is not None


def _is_of_torch(obj):
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "__objclass__", None), "__module__", None) or ""
    return module.partition(".")[0] == "torch"


def _path(root: str, target: str) -> str:
    """``root.a`` and, where a part is no identifier, ``getattr(root.a, "0")``."""
    for part in target.split("."):
        root = f"{root}.{part}" if is_path(part) else f"getattr({root}, {json.dumps(part)})"
    return root
