"""Operators made of a function: ``torch.library.custom_op`` and what it gives."""

from __future__ import annotations

import functools

from .. import _registered, library
from .._schemas import Schema, infer_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    _F = TypeVar("_F", bound=Callable[..., Any])


class CustomOpDef:
    """An operator made of a function by :func:`custom_op`: callable, and open to further registrations."""

    def __init__(self, namespace: Any, name: str, schema: Any, fn: Callable[..., Any], tags: Any = ()) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._lib = library.Library(namespace, "FRAGMENT")
        old = _registered.find(f"{namespace}::{name}")
        if old is not None:  # a cell of a notebook that runs again
            _registered.forget(old)
        self._lib.define(name + schema, tags=tags)
        self._opoverload = _registered.find(f"{namespace}::{name}")
        self._opoverload.opaque = True
        self.__name__, self.__doc__, self.__module__ = getattr(fn, "__name__", name), fn.__doc__, fn.__module__
        library._kept.append(self._lib)

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """The function for a device, several, or None for all; also a decorator."""

        def register(function):
            types = (
                ("default",)
                if device_types is None
                else (device_types,)
                if isinstance(device_types, str)
                else device_types
            )
            for device in types:
                key = "CompositeExplicitAutograd" if device == "default" else library._device_key(device)
                self._opoverload.kernels[key] = _checked(self._opoverload, function)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: _F, /) -> _F:
        """What the operator makes of tensors on device "meta"; also a decorator."""
        self._opoverload.fake = fn
        return fn

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """The derivative, as :func:`torch.library.register_autograd` takes it."""
        library.register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """A rule for vmap, as :func:`torch.library.register_vmap` takes it; also a decorator."""
        return library.register_vmap(self) if func is None else library.register_vmap(self, func)

    def register_autocast(self, device_type: Any, cast_inputs: Any) -> None:
        """The dtype of floating point arguments under autocast."""
        library.register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """What a class with ``__torch_dispatch__`` makes of the operator; also a decorator."""
        if fn is None:
            return library.register_torch_dispatch(self, torch_dispatch_class)
        return library.register_torch_dispatch(self, torch_dispatch_class, fn)

    def set_kernel_enabled(self, device_type: Any, enabled: bool = True) -> Any:
        """A block in which the function of a device is, or is not, left out in favour of the one for all."""
        from contextlib import contextmanager

        @contextmanager
        def block():
            key, disabled = library._device_key(device_type), self._opoverload.disabled
            before = key in disabled
            disabled.discard(key) if enabled else disabled.add(key)
            try:
                yield
            finally:
                disabled.add(key) if before else disabled.discard(key)

        return block()


def _checked(operator, function):
    """The function, refusing to give back an argument: who writes into the result would write into the argument."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        given = {
            t.untyped_storage().data_ptr() for t in _registered._tensors((*args, *kwargs.values())) if not t.is_meta
        }
        results = result if isinstance(result, (list, tuple)) else (result,)
        for tensor in _registered._tensors(results):
            if tensor.numel() and not tensor.is_meta and tensor.untyped_storage().data_ptr() in given:
                raise RuntimeError(
                    f"{operator.name()}: the output of this custom operator shares memory with one of its inputs: return a clone"
                )
        return result

    return run


if TYPE_CHECKING:

    @overload
    def custom_op(
        name: str,
        fn: Callable[..., Any],
        /,
        *,
        mutates_args: Any,
        device_types: Any = None,
        schema: Any = None,
        tags: Any = None,
    ) -> CustomOpDef: ...
    @overload
    def custom_op(
        name: str,
        fn: None = None,
        /,
        *,
        mutates_args: Any,
        device_types: Any = None,
        schema: Any = None,
        tags: Any = None,
    ) -> Callable[[Callable[..., Any]], CustomOpDef]: ...


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: Any = None,
    tags: Any = None,
) -> Any:
    """Make a function an operator ``namespace::name``; also a decorator.

    ``mutates_args`` names the arguments that it writes to, or is "unknown". ``device_types`` restricts it to devices;
    ``schema`` takes the place of the one that annotations say. Gradients stop at it until ``register_autograd``. Raises
    ValueError when the annotations say no schema.

    >>> @torch.library.custom_op("doc6::negate", mutates_args=())
    ... def negate(x: torch.Tensor) -> torch.Tensor:
    ...     return -x
    >>> negate(torch.ones(2))
    tensor([-1., -1.])
    """

    def make(function):
        namespace, operator = _registered.split(name)
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        if schema is not None and mutates_args != "unknown":
            written = Schema.parse(operator + schema).written
            if set(written) != set(mutates_args):
                raise ValueError(
                    f"custom_op({name!r}): by its schema {schema} it writes to {sorted(written)}, but mutates_args is {mutates_args!r}"
                )
        made = CustomOpDef(namespace, operator, text, function, library._tags(tags or ()))
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: Any = None) -> Any:
    """:func:`custom_op` whose function gradients pass through: it consists of operators and kernels of Triton."""

    def make(function):
        made = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        made._opoverload.opaque = False
        return made

    return make if fn is None else make(fn)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself: no compiler has to see it."""
    return triton_kernel
