"""Tracing: a function or module runs once with proxies for its arguments, and what it did is its graph."""

from __future__ import annotations

import functools
import inspect
import math
import types
import warnings
from collections import OrderedDict, defaultdict

import torch
from torch import _pytree as pytree

from ._compatibility import compatibility
from ._lazy_graph_module import _make_graph_module
from ._patcher import _patch_wrapped_functions, _Patcher  # noqa: F401, names that programs import
from ._patches import operators
from ._tracing import _autowrap_check, _Tracing  # noqa: F401, names that programs import
from ._wrap import (  # noqa: F401
    _current_tracer,
    _find_proxy,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    is_fx_symbolic_tracing,
    is_fx_tracing,
    wrap,
)
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, TracerBase, _user_frame, _whereabouts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import nn

    from .graph_module import GraphModule


__all__ = ["Tracer", "symbolic_trace", "wrap", "PH", "ProxyableClassMeta", "is_fx_tracing"]

#: what a trace of a library's own calls in place of what it replaces
_orig_module_call, _orig_module_getattr = torch.nn.Module.__call__, torch.nn.Module.__getattr__
FunctionType = types.FunctionType  # which those traces take from here

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


# --- placeholders in concrete arguments ---


class PHBase:
    """Stands for a leaf of a concrete argument that remains an argument."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder that knows more about its value: attributes that its node takes over into ``meta``."""

    def __init__(self, ph_key: Any = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr, to):
    for name, value in vars(fr).items():
        if not name.startswith("__"):
            setattr(to, name, value)


class ProxyableClassMeta(type):
    """A metaclass whose classes can be made of proxies while tracing: the call of the class becomes a node.

    >>> class Pair(metaclass=ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from ._patches import contains_proxy

        if contains_proxy((*args, *kwargs.values())):
            return Proxy._record("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Traces functions and modules; subclass it to decide what stays whole and what a node records.

    Functions in ``autowrap_modules`` and ``autowrap_functions`` are kept whole where an argument is a Proxy.
    ``param_shapes_constant`` reads shapes of parameters as numbers.

    >>> class Whole(Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> net = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.target for node in Whole().trace(net).nodes]
    ['input', '0', 'output']
    """

    def __init__(
        self, autowrap_modules: Any = (math,), autowrap_functions: Any = (), param_shapes_constant: bool = False
    ) -> None:
        super().__init__()
        for module in autowrap_modules:
            if not isinstance(module, types.ModuleType):
                raise TypeError(f"Tracer: autowrap_modules must hold modules, got {type(module).__name__}")
        self._autowrap_search = list(autowrap_modules)
        self._autowrapped = {
            id(value): value
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrapped.update({id(function): function for function in autowrap_functions})
        self._autowrap_function_ids = set(self._autowrapped)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict = {}
        self.node_name_to_scope: dict = {}
        self.tensor_attrs: dict = {}
        self._parameter_proxies: dict = {}
        self._parameter_names: dict = {}

    _proxy_count: defaultdict = defaultdict(int)

    # --- decisions that subclasses change ---

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a call of this submodule stays one node; by default for those of torch.nn but Sequential."""
        home = type(m).__module__
        return (home.startswith(("torch.nn", "torch.ao.nn"))) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """The dotted path of a submodule of the root; NameError where it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError(f"module is not installed as a submodule: {_kind(mod)} is called, but no attribute of the root "
                                f"holds it{_whereabouts(_user_frame())}")  # fmt: skip
            if not isinstance(path, str):
                raise AssertionError(f"the path of {_kind(mod)} must be a str, got {path!r}")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError(f"module is not installed as a submodule: {_kind(mod)}")

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule: one node for a leaf, and otherwise ``forward(*args, **kwargs)``, traced."""
        path = self.path_of_module(m)
        before, self.scope = self.scope, Scope(path, type(m))
        calls = self.num_calls.get(path, 0)
        self.num_calls[path] = calls + 1
        key = f"{path}@{calls}" if calls else path
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(key, None)
            self.scope = before

    def getattr(self, attr: Any, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        """What reading a parameter, buffer or submodule of a module gives: a Proxy for a parameter."""
        if isinstance(attr_val, torch.nn.Parameter):
            return self._attribute_proxy(attr_val, parameter_proxy_cache, True)
        if self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            return self._attribute_proxy(attr_val, parameter_proxy_cache, False)
        return attr_val

    _module_getattr = getattr

    def _attribute_proxy(self, value, cache, is_parameter):
        path = self._parameter_names.get(id(value))
        if path is None:
            return value
        if path not in cache:
            factory = None
            if is_parameter and self.param_shapes_constant:
                factory = lambda node: ParameterProxy(self, node, path, value)
            cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=factory)
        return cache[path]

    def create_arg(self, a: Any) -> Any:
        """The argument of a node for a value; tensors become attributes of the root."""
        if isinstance(a, torch.Tensor):
            return self._tensor_arg(a)
        if isinstance(type(a), ProxyableClassMeta):
            if a not in self.tensor_attrs:
                name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        return super().create_arg(a)

    def _tensor_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError(f"parameter is not a member of this module: a Parameter of shape {tuple(a.shape)}"
                            f"{_whereabouts(_user_frame())}")  # fmt: skip
        for name, buffer in self.root.named_buffers():
            if a is buffer:
                return self.create_node("get_attr", name, (), {})
        path = next((path for tensor, path in self.tensor_attrs.items() if tensor is a), None)
        if path is None:
            path = self._constant_name()
            self.tensor_attrs[a] = path
            setattr(self.root, path, a)
        return self.create_node("get_attr", path, (), {})

    def _constant_name(self):
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        return f"_tensor_constant{number}"

    def get_fresh_qualname(self, prefix: str) -> Any:
        """A name that begins with ``prefix`` and that the root does not have."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # --- arguments of the function ---

    def create_args_for_root(self, root_fn: Any, is_module: Any, concrete_args: Any = None) -> Any:
        """The function to call and its arguments: a placeholder for each, but for those that ``concrete_args`` gives."""
        plain = inspect.unwrap(root_fn)
        bound = [self.root] if is_module else []
        if inspect.ismethod(plain):
            bound, plain = [plain.__self__], plain.__func__
            root_fn = plain
        signature = inspect.signature(plain)
        parameters = list(signature.parameters.values())[len(bound) :]
        kinds = inspect.Parameter
        order = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        order += [p for p in parameters if p.kind is kinds.KEYWORD_ONLY]
        order += [p for p in parameters if p.kind is kinds.VAR_POSITIONAL] + [
            p for p in parameters if p.kind is kinds.VAR_KEYWORD
        ]
        notes = _annotations(plain)
        given = self._concrete(order, concrete_args, root_fn)

        values = {p.name: self._argument(p, notes.get(p.name), given) for p in order}
        starred = any(p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in order)
        if starred:
            root_fn = _with_stars_as_arguments(plain)
        by_name = {p.name for p in order if p.kind is kinds.KEYWORD_ONLY} if not starred else set()

        def call(*flat):
            named = dict(zip(values, flat, strict=True))
            keywords = {name: named.pop(name) for name in by_name}
            return root_fn(*bound, *named.values(), **keywords)

        arguments = list(values.values())
        leaves, in_spec = pytree.tree_flatten(tuple(arguments))
        if not given or all(pytree.tree_flatten(a)[1].is_leaf() for a in arguments):
            return call, arguments
        names = [p.name for p in order]
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(["self", *names], in_spec, None))

        def flat_call(*flat):
            result = call(*pytree.tree_unflatten(list(flat), in_spec))
            out, out_spec = pytree.tree_flatten(result)
            self.graph._codegen.pytree_info = self.graph._codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return flat_call, leaves

    def _concrete(self, order, concrete_args, root_fn):
        if concrete_args is None:
            return {}
        if isinstance(concrete_args, tuple):
            if len(order) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(order)} arguments but got {len(concrete_args)} concrete arguments"
                )
            return dict(zip((p.name for p in order), concrete_args, strict=True))
        unknown = set(concrete_args) - {p.name for p in order}
        if unknown:
            raise RuntimeError(
                f"concrete_args names {sorted(unknown)}, but {getattr(root_fn, '__qualname__', root_fn)} has the arguments "
                f"{[p.name for p in order]}"
            )
        return dict(concrete_args)

    def _argument(self, parameter, note, given):
        name = parameter.name
        default = () if parameter.default is parameter.empty else (parameter.default,)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if name not in given:
            return self.create_proxy("placeholder", stars + name, default, {}, type_expr=note)
        count = 0

        def leaf(value):
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                if value is not PH:
                    _transfer_attrs(fr=value, to=proxy.node)
                return proxy
            message = f"{name} has been specialized to have value {value} but got another value"
            if value is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
            elif isinstance(value, base_types) and not isinstance(value, torch.Tensor):
                self.create_proxy("call_function", torch._assert, (proxy == value, message), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the "
                    "user to make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return value

        return pytree.tree_map(leaf, given[name])

    # --- the trace ---

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's ``forward`` or of a function.

        ``concrete_args`` (a dict by name, or a tuple) fixes arguments; :data:`PH` within containers keeps leaves open.
        """
        if isinstance(root, torch.nn.Module):
            function = getattr(type(root), self.traced_func_name, None)
            if function is None:
                raise AssertionError(f"traced_func_name={self.traced_func_name!r} doesn't exist in {_kind(root)}")
            self.root, self.root_module_name = root, root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        elif callable(root):
            self.root, function = torch.nn.Module(), _recording_form(root)
            self.submodule_paths = None
        else:
            raise TypeError(f"trace: expected a Module or a function, got {type(root).__name__}")
        extras = getattr(self, "_tracer_extras", None)
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None), tracer_extras=extras)
        if hasattr(function, "__code__"):
            code = function.__code__
            self.graph._co_fields = {name: getattr(code, name) for name in ("co_name", "co_filename", "co_firstlineno")}
        self.tensor_attrs = _tensors_of(self.root)
        self.num_calls, self.module_stack, self.scope = {}, OrderedDict(), Scope("", None)
        self._parameter_proxies = {}
        self._parameter_names = {id(p): name for name, p in [*self.root.named_buffers(), *self.root.named_parameters()]}

        call, args = self.create_args_for_root(function, isinstance(root, torch.nn.Module), concrete_args)
        with self._tracing(function):
            result = self.create_arg(call(*args))
        notes = _annotations(inspect.unwrap(function))
        self.create_node("output", "output", (result,), {}, type_expr=notes.get("return"))
        self.submodule_paths = None
        return self.graph

    def _tracing(self, function):
        return _Tracing(self, function)


def _with_stars_as_arguments(function):
    """The function with ``*args`` and ``**kwargs`` as plain arguments, for which proxies can be given."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    changed = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~HAS_VARSTUFF
    )
    return types.FunctionType(changed, function.__globals__, function.__name__, None, function.__closure__)


def _recording_form(function):
    """A function to trace; an operator, or a partial of one, as a stand-in that sees proxies."""
    if isinstance(function, functools.partial):
        return functools.partial(_recording_form(function.func), *function.args, **function.keywords)
    return operators().get(id(function), function)


def _annotations(function):
    """The types that a program's author wrote; those of our layers are for type checkers, and may name what is not there."""
    home = getattr(function, "__module__", None) or ""
    return {} if home.startswith("torch.") else getattr(function, "__annotations__", {})


def _tensors_of(root):
    """Tensors that are attributes of modules without being registered, with their paths."""
    found: dict = {}
    for prefix, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
                found[value] = f"{prefix}.{name}" if prefix else name
    return found


def _kind(module):
    return type(module).__name__


@compatibility(is_backward_compatible=True)
def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The GraphModule of a module or function.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> traced(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else getattr(root, "__name__", type(root).__name__)
    return _make_graph_module(tracer.root, graph, name)


def __getattr__(name):
    if name == "ScriptObject":
        return torch.ScriptObject
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
