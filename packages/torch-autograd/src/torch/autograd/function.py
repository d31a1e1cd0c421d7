"""Functions with a gradient of their own."""

from __future__ import annotations

from functools import wraps
from inspect import getattr_static
from types import FunctionType

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor

    class Context:
        saved_tensors: tuple[Tensor, ...]
        needs_input_grad: tuple[bool, ...]
        next_functions: tuple[tuple[Any, int], ...]
        metadata: dict[Any, Any]
        materialize_grads: bool

        def save_for_backward(self, *tensors: Tensor | None) -> None: ...
        def mark_dirty(self, *args: Tensor) -> None: ...
        def mark_non_differentiable(self, *args: Tensor) -> None: ...
        def set_materialize_grads(self, value: bool) -> None: ...
        def name(self) -> str: ...
        def register_hook(self, hook: Callable[..., Any]) -> Any: ...
        def register_prehook(self, hook: Callable[..., Any]) -> Any: ...
else:
    Context = _C.Context


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable", "traceable"]


class FunctionCtx(Context):
    """What ``forward`` and ``backward`` of one call share; any attribute may be set on it."""

    def save_for_forward(self, *tensors: Tensor) -> None:
        self.saved_for_forward = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: inputs and outputs that share memory are found.

        >>> torch.autograd.Function.mark_shared_storage(None) is None
        True
        """
        from warnings import warn

        warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
            stacklevel=2,
        )


class FunctionMeta(type):
    """Gives each Function the class of its contexts, ``<name>Backward``, which is also the type of its ``grad_fn``."""

    def __init__(cls, name: str, bases: Any, attributes: Any) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            name + "Backward",
            (FunctionCtx,),
            {"_forward_cls": cls, "_backward_function": staticmethod(cls._run_backward), "__module__": cls.__module__},
        )
        cls._has_setup_context = (
            any(isinstance(b, FunctionMeta) for b in bases) and cls.setup_context is not Function.setup_context
        )

    def _by_position(cls, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """The arguments of a call in the order of ``forward``, with defaults before those that were given by name.

        Beside ``setup_context``, which sees what ``forward`` is called with, all its defaults are there.
        """
        from inspect import Parameter, signature

        first = () if cls._has_setup_context else (None,)  # ctx
        try:
            bound = signature(cls.forward).bind(*first, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.apply: forward {error}") from None
        parameters = bound.signature.parameters
        if names := [
            name for name in bound.kwargs if name not in parameters or parameters[name].kind is Parameter.KEYWORD_ONLY
        ]:
            raise TypeError(
                f"{cls.__name__}.apply: forward takes {', '.join(names)} only by name, and gradients go by position"
            )
        if cls._has_setup_context or bound.kwargs:
            bound.apply_defaults()
        return bound.args[len(first) :]


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation whose gradient you write yourself: subclass it, then call ``apply``.

    >>> import torch
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = torch.zeros(2, requires_grad=True)
    >>> Exp.apply(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    is_traceable = False
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from warnings import warn

        if not _is_static(type(self)):
            return  # of 2016: instances are called
        warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class itself.",
             DeprecationWarning, stacklevel=2)  # fmt: skip

    def __call__(self, *args: Any) -> Any:
        if _is_static(type(self)):
            name = type(self).__name__
            raise RuntimeError(f"{name}: forward is static, so that the class is called: {name}.apply(...)")
        from . import _instances

        return _instances.call(self, args)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs ``forward`` and, when an argument requires a gradient, records the call.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * g
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
        """
        if not _is_static(cls):
            raise RuntimeError(_LEGACY)
        if kwargs or (cls._has_setup_context and getattr(cls.forward, "__defaults__", None)):
            args = cls._by_position(args, kwargs)
        return _C._apply(cls, *args)

    if TYPE_CHECKING:  # any signature overrides these
        forward: Callable[..., Any]
        setup_context: Callable[..., Any]
        backward: Callable[..., Any]
        vjp: Callable[..., Any]
        jvp: Callable[..., Any]
        vmap: Callable[..., Any]
    else:

        @staticmethod
        def forward(*args, **kwargs):
            """``forward(ctx, *args)``, or ``forward(*args)`` beside ``setup_context``.

            >>> class Add(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x, number):
            ...         return x + number
            ...     @staticmethod
            ...     def backward(ctx, g):
            ...         return g, None
            >>> Add.apply(torch.ones(1), 3)
            tensor([4.])
            """
            raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

        @staticmethod
        def setup_context(ctx, inputs, output):
            """Where a Function saves what backward needs, when ``forward`` takes no ctx."""
            raise NotImplementedError("setup_context is not implemented.")

        @staticmethod
        def backward(ctx, *grad_outputs):
            """The gradient of each argument of ``forward``, given those of its outputs; None where there is none.

            >>> class Flip(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return x.clone()
            ...     @staticmethod
            ...     def backward(ctx, g):
            ...         return -g
            >>> x = torch.ones(1, requires_grad=True)
            >>> Flip.apply(x).backward()
            >>> x.grad
            tensor([-1.])
            """
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
            )

        vjp = backward

        @staticmethod
        def jvp(ctx, *grad_inputs):
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )

        @staticmethod
        def vmap(info, in_dims, *args):
            raise NotImplementedError(
                "You must implement the vmap function for custom autograd.Function to use it with vmap."
            )

    @classmethod
    def _forward_of_wrappers(cls, ctx, inputs):
        """Forward where an input is an example of a batch or a dual number."""
        from torch.func import _function

        return _function.forward(cls, ctx, inputs)

    @classmethod
    def _run_backward(cls, ctx, *grads):
        own_backward, own_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return (cls.vjp if own_vjp else cls.backward)(ctx, *grads)


def _is_static(cls: type) -> bool:
    """Whether the class is called, and not its instances as in 2016."""
    return not isinstance(
        getattr_static(cls, "forward"), FunctionType
    )  # what tests put in its place is called as it is


_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    "static forward method: @staticmethod def forward(ctx, ...), called as MyFunction.apply(...); one of 2016 is called "
    "by its instances: MyFunction()(...)"
)


class InplaceFunction(Function):
    """A Function that may work in place; kept for old programs.

    >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Functions over nested tuples need no class of their own any more: flatten the arguments before ``apply``.

    >>> issubclass(torch.autograd.function.NestedIOFunction, torch.autograd.Function)
    True
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("NestedIOFunction is no longer supported: flatten nested arguments, and use Function")


def once_differentiable(fn: Callable[..., Any]) -> Any:
    """Decorates a ``backward`` that does not itself record: differentiating its result is an error that says so.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g * ctx.saved_tensors[0]
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    @wraps(fn)
    def wrapper(ctx, *args):
        before = _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            _C._set_grad_enabled(before)
        if not before:
            return outputs
        from torch import Tensor

        if not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = isinstance(outputs, tuple)
        outputs = outputs if several else (outputs,)
        fresh = [o.detach().requires_grad_() if isinstance(o, Tensor) and o.is_floating_point() else o for o in outputs]
        outputs = _Differentiated.apply(*fresh)
        return outputs if several else outputs[0]

    return wrapper


class _OfCpp(Function):
    """What stands for a torch::autograd::Function of C++ (torch/autograd.h): its two functions are arguments."""

    @staticmethod
    def forward(ctx: Any, forward: Any, backward: Any, *tensors: Any) -> Any:
        ctx.backward_of_cpp = backward
        return forward(ctx)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *ctx.backward_of_cpp(ctx, grads)


def _of_cpp(name: str) -> Any:
    return type(name, (_OfCpp,), {})


class _Differentiated(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(t.detach() if hasattr(t, "detach") else t for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def traceable(fn_cls: Any) -> Any:
    """Marks a Function as traceable; kept for old programs, where it has no effect.

    >>> torch.autograd.function.traceable(torch.autograd.Function).is_traceable
    True
    """
    fn_cls.is_traceable = True
    return fn_cls
