"""Operators of one's own: a name, a schema, functions by device, a derivative.

>>> @torch.library.custom_op("doc::scale", mutates_args=())
... def scale(x: torch.Tensor, by: float) -> torch.Tensor:
...     return torch.from_numpy(x.numpy() * by)
>>> scale(torch.ones(2), 3.0), torch.ops.doc.scale(torch.ones(2), by=2.0)
(tensor([3., 3.]), tensor([2., 2.]))

A function runs as it was written (there is no compiler); tensors of device "meta" go to what ``register_fake`` named.
What is registered for an operator may come before its definition.
"""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
import weakref

from . import _C, _registered
from ._lazy import later
from ._registered import DEVICE_KEYS, KEYS, Operator, Packet
from ._schemas import infer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._library.custom_ops import CustomOpDef, custom_op, triton_op, wrap_triton


__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch",
    "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip

RESERVED = {"prim", "aten"}
_DEFINED = weakref.WeakValueDictionary()  # libraries of kind "DEF", by namespace


def fallthrough_kernel() -> Any:
    """Stands for "go on as if nothing was registered for this key" in :meth:`Library.impl`."""
    raise NotImplementedError("fallthrough_kernel stands for a function in Library.impl and is not called")


class Library:
    """Registrations under one namespace, which last as long as this object.

    ``kind``: "DEF" for the one that defines the namespace, "FRAGMENT" for more definitions, "IMPL" for only functions.
    Raises ValueError for other kinds and for the namespaces of torch itself with kind "DEF".

    >>> lib = torch.library.Library("doc2", "DEF")
    >>> lib.define("twice(Tensor x, *, int times=1) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x, *, times: 2 * times * x, "CompositeImplicitAutograd")
    >>> torch.ops.doc2.twice(torch.ones(1), times=2)
    tensor([4.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}; a Library is of kind 'IMPL', 'DEF' or 'FRAGMENT'")
        if ns in RESERVED and kind == "DEF":
            raise ValueError(f"{ns} is a reserved namespace: operators of torch itself are not defined by programs")
        if kind == "DEF" and _DEFINED.setdefault(ns, self) is not self:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}: there is a Library of kind 'DEF' for "
                "it; add to that one, or use kind 'FRAGMENT' for more definitions and 'IMPL' for functions"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, _key(dispatch_key) if dispatch_key else ""
        self._defined, self._implemented = [], []
        self._end = weakref.finalize(self, _forget, self._defined, self._implemented)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> Any:
        """A new operator by its schema; gives its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(f"Library.define: {self!r} is of kind 'IMPL'; definitions need 'DEF' or 'FRAGMENT'")
        operator = _registered.define(self.ns, schema, _tags(tags))
        self._defined.append(operator)
        return operator._schema.full_name

    def impl(
        self,
        op_name: str,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """The function of an operator for a key: a device ("CPU", "CUDA", "Meta"), all of them
        ("CompositeExplicitAutograd", "CompositeImplicitAutograd") or tensors that require gradients ("Autograd"). It
        takes the place of an earlier one, with a warning unless ``allow_override`` says that it may.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = _key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True): functions here are not told the keys of a call")
        name = op_name.name() if isinstance(op_name, Operator) else str(op_name)
        name = name.partition("::")[2] or name
        if isinstance(op_name, Packet):
            name = op_name.__name__
        if fn is fallthrough_kernel:
            return
        if self.ns in RESERVED:
            raise NotImplementedError(
                f"Library.impl({self.ns}::{name}): functions of operators of torch itself are not replaced by programs"
            )
        qualified = f"{self.ns}::{name.removesuffix('.default')}"
        if not allow_override and (known := _registered.find(qualified)) and known.kernels.get(key, fn) is not fn:
            warnings.warn(
                f"Overriding a previously registered kernel for the same operator and the same dispatch key: {qualified}, {key}; "
                "allow_override=True says that this is meant",
                stacklevel=2,
            )
        _registered.note(qualified, kernels={key: fn})
        self._implemented.append((qualified, key, fn))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> Any:
        """Raises NotImplementedError: a function for all operators at once does not exist here."""
        raise NotImplementedError("Library.fallback: one function for all operators is not part of this stack")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _registered.note(f"{self.ns}::{op_name}", fake=fn)

    def register_symm_mem_args(self, op_name: str, arg_names: Any) -> None:
        """Names the arguments of an operator (its name or an overload of ``torch.ops``) that want memory which other GPUs
        reach. It takes the place of earlier names. Compilers that place tensors read it as ``symm_mem_args`` of the overload;
        eager calls take the tensors as they are, and so does ``torch.compile`` here.

        ValueError when there are no names, or the operator has no argument of that name.
        """
        if not isinstance(op_name, (str, Operator)):
            raise RuntimeError(
                "register_symm_mem_args should be passed either a name or an OpOverload object as the first argument, "
                f"got {type(op_name)}"
            )
        if isinstance(arg_names, str):
            raise TypeError(f"register_symm_mem_args: arg_names must be a list of names, got the str {arg_names!r}")
        name = _qualified(op_name if isinstance(op_name, Operator) or "::" in op_name else f"{self.ns}::{op_name}")
        if not arg_names:
            raise ValueError(f"Cannot register empty arg_names list for {name}")
        operator = _registered.find(name)
        if operator is not None:
            known = {argument.name for argument in operator._schema.arguments}
            if wrong := [n for n in arg_names if n not in known]:
                raise ValueError(f"register_symm_mem_args: {name} has no argument {wrong[0]!r}: {operator._schema}")
        _registered.note(name, symm_mem_args=frozenset(arg_names))

    def _destroy(self):
        """Take everything back that was registered here."""
        self._end()
        if _DEFINED.get(self.ns) is self:
            del _DEFINED[self.ns]


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A library for a block, at whose end everything is taken back that was registered in it.

    >>> with torch.library._scoped_library("doc3", "DEF") as lib:
    ...     _ = lib.define("same(Tensor x) -> Tensor")
    >>> hasattr(torch.ops.doc3, "same")
    False
    """
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


def _forget(defined, implemented):
    for qualified, key, fn in implemented:
        operator = _registered.find(qualified)
        if operator is not None and operator.kernels.get(key) is fn:
            del operator.kernels[key]
    for operator in defined:
        _registered.forget(operator)


def _key(name):
    name = getattr(name, "name", name)
    if name not in KEYS:
        raise ValueError(f"no such dispatch key: {name!r}; there are {', '.join(sorted(KEYS))}")
    return name


def _tags(tags):
    return tuple(tags) if isinstance(tags, (list, tuple, set)) else (tags,)


def _device_key(device):
    if device in KEYS:
        return device
    if device not in DEVICE_KEYS:
        raise ValueError(f"unknown device {device!r}: expected one of {', '.join(DEVICE_KEYS)}")
    return DEVICE_KEYS[device]


def _qualified(op):
    """``namespace::name`` of what names an operator."""
    if isinstance(op, str):
        namespace, name = _registered.split(op)
        return f"{namespace}::{name}"
    if isinstance(op, Operator):
        return op.name()
    if isinstance(op, Packet):
        return op._qualified_op_name
    if name := getattr(op, "_qualname", None):  # what custom_op gives
        return name
    raise ValueError(
        f"expected 'namespace::name', an operator of torch.ops or what custom_op gives, got {type(op).__name__}"
    )


def _decorates(register):
    """``register(op, ..., func)`` as a decorator where no function is given."""

    @functools.wraps(register)
    def wrapped(op, *arguments, **named):
        wants = wrapped.arguments
        func = named.pop("func", None)
        if len(arguments) > wants:
            *arguments, func = arguments
        if func is not None:
            register(op, *arguments, func, **named)
            return func

        def decorate(function):
            register(op, *arguments, function, **named)
            return function

        return decorate

    wrapped.arguments = register.__code__.co_argcount - 2
    return wrapped


# --- functions that do what the methods of Library do ---

_kept = []  # libraries whose registrations last as long as the process


def define(qualname: str, schema: Any = None, *, lib: Any = None, tags: Any = ()) -> Any:
    """A new operator ``namespace::name`` with the schema ``(type argument, ...) -> type``; also a decorator of its function.

    >>> torch.library.define("doc3::add_one", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("doc3::add_one", "default")
    ... def add_one(x):
    ...     return x + 1
    >>> torch.ops.doc3.add_one(torch.zeros(1))
    tensor([1.])
    """
    if isinstance(qualname, Library):  # @define(lib, "name(...) -> ...")
        name = qualname.define(schema, tags=tags)

        def decorate(function):
            qualname.impl(name, function)
            return function

        return decorate
    if not isinstance(qualname, str):
        raise ValueError(f"define: expected the name of an operator as a str, got {type(qualname).__name__}")
    namespace, name = _registered.split(qualname)
    if not re.match(r"\s*\(.*\)\s*->", schema, re.DOTALL):
        raise ValueError(f"define: expected a schema such as '(Tensor x) -> Tensor' without a name, got {schema!r}")
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    lib.define(name + schema, alias_analysis="", tags=tags)
    return None


def impl(qualname: str, types: Any, func: Callable[..., Any] | None = None, *, lib: Any = None) -> Any:
    """The function of an operator for some devices: a name such as "cpu", several, "default" for all, or a dispatch key."""
    if isinstance(qualname, Library):  # @impl(lib, "name", "CPU")
        library, name, key = qualname, types, func

        def decorate(function):
            library.impl(name, function, key or "")
            return function

        return decorate
    qualified = _qualified(qualname)
    types = (types,) if isinstance(types, str) else types
    keys = {"CompositeExplicitAutograd" if t == "default" else _device_key(t) for t in types}

    def register(function):
        namespace, name = _registered.split(qualified)
        library = lib
        if library is None:
            library = Library(namespace, "FRAGMENT")
            _kept.append(library)
        for key in sorted(keys):
            library.impl(name, function, key)
        return function

    return register if func is None else register(func) and None


@_decorates
def register_fake(
    op: str, func: Callable[..., Any], /, *, lib: Any = None, _stacklevel: int = 1, allow_override: bool = True
) -> None:
    """What the operator makes of tensors on device "meta": shapes and dtypes without values. Also a decorator.

    >>> @torch.library.custom_op("doc4::rows", mutates_args=())
    ... def rows(x: torch.Tensor) -> torch.Tensor:
    ...     return x.sum(1)
    >>> @torch.library.register_fake("doc4::rows")
    ... def _(x):
    ...     return x.new_empty(x.shape[0])
    >>> rows(torch.ones(3, 4, device="meta")).shape
    torch.Size([3])
    """
    _registered.note(_qualified(op), fake=func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Any = None, _stacklevel: int = 1
) -> Any:
    """The name that :func:`register_fake` had before; it warns."""
    warnings.warn("impl_abstract was renamed to register_fake", FutureWarning, stacklevel=2)
    return register_fake(qualname, func=func)


@_decorates
def register_kernel(op: str, device_types: Any, func: Callable[..., Any], /, *, lib: Any = None) -> None:
    """The operator's function for a device, several of them, or None for all. Also a decorator."""
    impl(_qualified(op), "default" if device_types is None else device_types, func, lib=lib)


def register_autograd(op: str, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """The operator's derivative.

    ``setup_context(ctx, inputs, output)`` saves what ``backward(ctx, *grads)`` needs, which gives a gradient, or None, for
    each argument. Arguments that only have a name come as a dict between ``inputs`` and ``output``.

    >>> @torch.library.custom_op("doc5::square", mutates_args=())
    ... def square(x: torch.Tensor) -> torch.Tensor:
    ...     return x * x
    >>> torch.library.register_autograd(
    ...     "doc5::square",
    ...     lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad,
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> square(x).backward()
    >>> x.grad
    tensor(6.)
    """
    if not callable(backward) or not (setup_context is None or callable(setup_context)):
        raise TypeError("register_autograd: backward and setup_context must be functions")
    qualified = _qualified(op)
    operator = _registered.find(qualified)
    if operator is not None and operator._schema.is_mutable and operator.opaque:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator} with schema {operator._schema}"
        )
    _registered.note(qualified, backward=backward, setup_context=setup_context)


def register_autocast(op: str, device_type: Any, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Floating point arguments of the operator become ``cast_inputs`` where autocast is on for the device."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"register_autocast: the device is 'cpu' or 'cuda', got {device_type!r}")
    if not isinstance(cast_inputs, _C.dtype):
        raise TypeError(f"register_autocast: expected a torch.dtype, got {cast_inputs!r}")
    _registered.note(_qualified(op), autocast={device_type: cast_inputs})


@_decorates
def register_vmap(op: str, func: Callable[..., Any], /, *, lib: Any = None) -> None:
    """A rule for :func:`torch.func.vmap`: ``func(info, in_dims, *args)`` returns the result and its ``out_dims``.

    ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` says of each argument where its batch is, or None. Without a
    rule examples are computed one by one.
    """
    _registered.note(_qualified(op), batch_rule=func)


@_decorates
def register_torch_dispatch(
    op: str, torch_dispatch_class: Any, func: Callable[..., Any], /, *, lib: Any = None
) -> None:
    """What a class with ``__torch_dispatch__``, or a mode of it, makes of the operator: ``func(cls, op, types, args,
    kwargs)``, or with the mode as its first argument. Also a decorator.
    """
    if not isinstance(torch_dispatch_class, type):
        raise ValueError(f"register_torch_dispatch: expected a class, got {torch_dispatch_class!r}")
    _registered.note(_qualified(op), dispatch_rules={torch_dispatch_class: func})


def get_ctx() -> Any:
    """Raises RuntimeError: sizes that are only known from values do not exist here."""
    raise RuntimeError(
        "get_ctx() can only be called inside of a function of register_fake that a compiler runs: there is none"
    )


def get_kernel(op: str, dispatch_key: Any) -> Any:
    """The function that was registered for a key, with ``call_boxed(keys, *args)``; RuntimeError when there is none."""
    operator = _registered.find(_qualified(op))
    key = _key(dispatch_key)
    if operator is None or key not in operator.kernels:
        raise RuntimeError(f"No kernel registered for dispatch key {key} of {_qualified(op)}")
    return _Kernel(operator.kernels[key])


class _Kernel:
    def __init__(self, function):
        self._function = function

    def call_boxed(self, keys, *args, **kwargs):
        return self._function(*args, **kwargs)


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: Any = None,
    raise_exception: bool = True,
    atol: Any = None,
    rtol: Any = None,
) -> Any:
    """Run an operator on examples and say of each check "SUCCESS" or what is wrong.

    "test_schema": arguments that the schema does not mark stay as they are; "test_faketensor": device "meta" gives the
    shapes and dtypes of the result; "test_autograd_registration": gradients arrive where they are asked for;
    "test_aot_dispatch_dynamic": results and gradients are the same under :func:`torch.func.functionalize`. Raises the first
    error unless ``raise_exception`` is False.

    >>> @torch.library.custom_op("doc7::negate", mutates_args=())
    ... def negate(x: torch.Tensor) -> torch.Tensor:
    ...     return -x
    >>> torch.library.opcheck(negate, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    from ._opcheck import CHECKS, FURTHER, check

    names = CHECKS if test_utils is None else (test_utils,) if isinstance(test_utils, str) else test_utils
    if unknown := set(names) - set(CHECKS | FURTHER):
        raise ValueError(f"opcheck: no such check: {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    operator = _registered.find(_qualified(op))
    if operator is None:
        raise ValueError(f"opcheck: there is no operator {_qualified(op)}")
    return check(operator, args, kwargs or {}, names, raise_exception)


__getattr__, __dir__ = later(
    globals(),
    names=dict.fromkeys(("CustomOpDef", "custom_op", "triton_op", "wrap_triton"), "_library.custom_ops"),
    base="torch",
)
