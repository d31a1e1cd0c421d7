"""The base class of all layers and models.

A module holds parameters (trained), buffers (not trained) and modules, each under the name of an attribute; assigning
one to an attribute registers it.  The class is put together from four parts: the tree of names (``_tree.py``), casts and
moves (``_cast.py``), checkpoints (``_state.py``) and, here, attributes, the call, hooks and printing.
"""

from __future__ import annotations

from collections import OrderedDict

import torch

from ..parameter import Buffer, Parameter
from . import _hooks
from ._cast import Cast
from ._hooks import everywhere, running
from ._path import name_layer
from ._state import _EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401  (libraries import these three from here)
from ._state import State, _IncompatibleKeys, _WrappedHook  # noqa: F401
from ._tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torch import Tensor
    from torch._seams import RemovableHandle
    from typing_extensions import Self

    class Registered: ...  # what type checkers cannot look into would be anything to them

    from torch._seams import checked
else:
    from torch._seams import Registered, checked


__all__ = ["Module"]

_REGISTRIES = ("_parameters", "_buffers", "_modules")


@checked
class Module(Tree, Cast, State, Registered):
    """A piece of a network: subclass it, make the parts in ``__init__``, compute in ``forward``.

    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = torch.nn.Linear(4, 8)
    ...         self.out = torch.nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.out(torch.relu(self.hidden(x)))
    >>> Net()(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    call_super_init = False
    training = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            given = repr(next(iter(kwargs))) if kwargs else f"{len(args)} positional"
            raise TypeError(f"{type(self).__name__}.__init__() got unexpected arguments: {given}")
        self.__dict__.update(_empty(), training=True)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- attributes -------------------------------------------------------------------------------------------------
    # Reading a parameter, buffer or module is the work of torch._C.Registered, which looks into the dicts.

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            kind = "_parameters"
        elif isinstance(value, Module):
            kind = "_modules"
        elif isinstance(value, Buffer):
            kind = "_buffers"
        else:
            for kind in _REGISTRIES:
                if name in state.get(kind, ()):
                    self._reassign(kind, name, value)
                    return
            super().__setattr__(name, value)
            return
        if kind not in state:
            raise AttributeError(
                f"cannot assign a {type(value).__name__} before Module.__init__() call: "
                f"{type(self).__name__}.__init__ must first call super().__init__()"
            )
        _check_name(name, kind)
        if name not in state[kind]:
            self._drop(name)
        if kind == "_parameters":
            self.register_parameter(name, value)
        elif kind == "_buffers":
            if value.persistent:  # classes of one's own may have the old register_buffer, of two arguments
                self.register_buffer(name, value)
            else:
                self.register_buffer(name, value, False)
        else:
            self._register("_modules", name, value, everywhere.on_module)

    def _drop(self, name):
        """Forget what has been assigned to ``name``, of whatever kind."""
        state = self.__dict__
        state.pop(name, None)
        for kind in _REGISTRIES:
            state[kind].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def _reassign(self, kind, name, value):
        """Assign something that is no Parameter or Module to a name that is registered."""
        if kind == "_buffers" and isinstance(value, torch.Tensor):
            self._register(kind, name, value, everywhere.on_buffer)
        elif value is None:
            self.__dict__[kind][name] = None
        else:
            what, wanted = {
                "_parameters": ("parameter", "torch.nn.Parameter or None"),
                "_buffers": ("buffer", "torch.Tensor, torch.nn.Buffer or None"),
                "_modules": ("child module", "torch.nn.Module or None"),
            }[kind]
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as {what} {name!r} ({wanted} expected); "
                f"to change the values: with torch.no_grad(): module.{name}.copy_(...)"
            )

    def _missing(self, name):
        """Raise the AttributeError of a name that is neither an attribute nor registered."""
        if "_parameters" not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: "
                f"{type(self).__name__}.__init__ has not called super().__init__()"
            )
        raise _MissingAttribute(self, name)

    def __delattr__(self, name: str) -> None:
        for kind in _REGISTRIES:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _register(self, kind, name, value, hooks):
        for hook in hooks.values():
            replaced = hook(self, name, value)
            value = value if replaced is None else replaced
        self.__dict__[kind][name] = value

    def _check_new(self, name, kind):
        if kind not in self.__dict__:
            raise AttributeError(
                f"cannot register {name!r} before Module.__init__() call: "
                f"{type(self).__name__}.__init__ must first call super().__init__()"
            )
        _check_name(name, kind)
        if name not in self.__dict__[kind] and self._has(name):
            raise KeyError(f"attribute {name!r} already exists")

    def _has(self, name):
        """``hasattr(self, name)``, without raising and dropping an error where that is not needed to know."""
        state = self.__dict__
        if name in state or any(name in state[kind] for kind in _REGISTRIES):
            return True
        cls = type(self)
        known = cls.__getattr__ is _getattr and cls.__getattribute__ is object.__getattribute__
        return hasattr(self, name) if not known or hasattr(cls, name) else False

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; ``None`` keeps the name reserved (a layer without bias).

        KeyError for a name that is empty, contains a dot or is taken; TypeError or ValueError for something that is
        not a parameter.

        >>> layer = torch.nn.Module()
        >>> layer.register_parameter("scale", torch.nn.Parameter(torch.ones(1)))
        >>> layer.scale
        Parameter containing:
        tensor([1.], requires_grad=True)
        """
        self._check_new(name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter {name!r} "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"cannot assign a computed tensor to parameter {name!r}: parameters are leaves of the graph. "
                    f"To make {name!r} a function of another parameter, compute it in forward()"
                )
        self._register("_parameters", name, param, everywhere.on_parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves and casts with the module, and with ``persistent`` is part of its state dict.

        >>> module = torch.nn.Module()
        >>> module.register_buffer("mean", torch.zeros(2))
        >>> module.mean
        tensor([0., 0.])
        """
        self._check_new(name, "_buffers")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer {name!r} (torch.Tensor or None required)"
            )
        self._register("_buffers", name, tensor, everywhere.on_buffer)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under ``name``; the same as assigning it, for names made at run time.

        >>> net = torch.nn.Module()
        >>> net.add_module("hidden", torch.nn.Linear(2, 3))
        >>> net.hidden
        Linear(in_features=2, out_features=3, bias=True)
        """
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass{_remedy(self, module)}")
        self._check_new(name, "_modules")
        self._register("_modules", name, module, everywhere.on_module)

    register_module = add_module

    def add_parameter(self, name: str, value: Any) -> None:
        """:meth:`register_parameter` under the name of the 0.4 guide.

        >>> layer = torch.nn.Module()
        >>> layer.add_parameter("scale", torch.nn.Parameter(torch.ones(1)))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
        """
        self.register_parameter(name, value)

    def add_buffer(self, name: str, value: Any) -> None:
        """:meth:`register_buffer` under the name of the 0.4 guide.

        >>> layer = torch.nn.Module()
        >>> layer.add_buffer("count", torch.zeros(1))
        >>> list(layer.state_dict())
        ['count']
        """
        self.register_buffer(name, value)

    # -- the call ---------------------------------------------------------------------------------------------------

    _instead_of_forward = "define forward(self, ...)"  # the end of the error below

    if TYPE_CHECKING:  # any signature overrides this one
        forward: Callable[..., Any]

        def __getattr__(self, name: str) -> Any: ...

    else:

        def forward(self, *input: Any) -> Any:
            """Compute the output; every subclass defines it.

            >>> class Double(torch.nn.Module):
            ...     def forward(self, x):
            ...         return 2 * x
            >>> Double()(torch.ones(2))
            tensor([2., 2.])
            """
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function: {self._instead_of_forward}'
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._hooked or running:
                return _hooks.call(self, args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except Exception as error:
            name_layer(error, self, args, kwargs)
            raise

    _call_impl = _wrapped_call_impl = __call__  # for classes with a __call__ of their own

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it into training mode (dropout drops, batch norm uses the batch). Returns self.

        >>> torch.nn.Dropout().train(False).training
        False
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below it into evaluation mode. Returns self.

        >>> torch.nn.Dropout().eval().training
        False
        """
        return self.train(False)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the calls of this module with ``torch.compile(module, ...)``; the module stays what it is.

        >>> net = torch.nn.Linear(2, 1)
        >>> net.compile()
        >>> net(torch.zeros(3, 2)).shape
        torch.Size([3, 1])
        """
        from torch import compiler

        compiler._compile_in_place(self, *args, **kwargs)

    # -- hooks ------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, args)`` before forward; what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)`` and returns None or ``(args, kwargs)``.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, inputs: inputs[0] - 1)
        >>> layer(torch.tensor([0.5, 3.0]))
        tensor([0., 2.])
        """
        options = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return _hooks.add(self._forward_pre_hooks, hook, prepend, *options)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, args, output)`` after forward; what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it also runs when forward
        raised, with ``None`` for the output.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, inputs, output: output + 1)
        >>> layer(torch.zeros(2))
        tensor([1., 1.])
        """
        options = [self._forward_hooks_with_kwargs] if with_kwargs else []
        options += [self._forward_hooks_always_called] if always_call else []
        return _hooks.add(self._forward_hooks, hook, prepend, *options)

    def register_full_backward_hook(
        self,
        hook: Callable[
            [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
        ],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Run ``hook(module, grad_input, grad_output)`` in backward; a returned tuple replaces ``grad_input``.

        Both are tuples, with None where an input or output is no tensor or needs no gradient.
        """
        return _hooks.add_backward(self, self._backward_hooks, hook, True, prepend)

    def register_full_backward_pre_hook(
        self,
        hook: Callable[[Module, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None],
        prepend: bool = False,
    ) -> RemovableHandle:
        """Run ``hook(module, grad_output)`` before this module's backward; a returned tuple replaces ``grad_output``."""
        return _hooks.add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(
        self,
        hook: Callable[
            [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None
        ],
    ) -> RemovableHandle:
        """Run ``hook(module, grad_input, grad_output)`` with the gradients of the last node of the graph in the module.

        This is the hook of 2018: for a module of one operation ``grad_input`` has its parameters' gradients too, for
        one of several it is not about the module's inputs; :meth:`register_full_backward_hook` is.

        >>> layer = torch.nn.Tanh()
        >>> handle = layer.register_backward_hook(lambda module, taken, given: print("given", given[0]))
        >>> layer(torch.zeros(1, requires_grad=True)).backward()
        given tensor([1.])
        """
        return _hooks.add_backward(self, self._backward_hooks, hook, False)

    # -- copying, printing --------------------------------------------------------------------------------------------

    def __setstate__(self, state: Any) -> None:
        own = self.__dict__
        own.update(state)
        for name, value in _empty().items():  # files of other versions have fewer
            own.setdefault(name, value)

    def _replicate_for_data_parallel(self):
        """A module of the same attributes, hooks and children, whose parameters are yet to be set."""
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica._parameters, replica._buffers, replica._modules = {}, self._buffers.copy(), self._modules.copy()
        replica._is_replica = True
        return replica

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets when the module is printed; override it in a layer.

        >>> torch.nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of :func:`torch.nn.summary`, without shapes."""
        from .._summary import summary

        return summary(self)._repr_html_()

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


_getattr = Module.__getattr__


def _empty():
    """What every module has: the three registries, and hooks by the places where they run."""
    return {
        "_parameters": {},
        "_buffers": {},
        "_modules": {},
        "_non_persistent_buffers_set": set(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": {},
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": {},
        "_forward_hooks_always_called": {},
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_state_dict_pre_hooks": {},
        "_state_dict_hooks": {},
        "_load_state_dict_pre_hooks": {},
        "_load_state_dict_post_hooks": {},
    }


class _MissingAttribute(AttributeError):
    """Looks for the nearest name only when it is read: most of these answer a ``hasattr``."""

    def __init__(self, module: Module, name: str) -> None:
        super().__init__(f"{type(module).__name__!r} object has no attribute {name!r}", name=name)
        self._module = module

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.name.startswith("_") else text + _did_you_mean(self.name, dir(self._module))

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


# As it stands in a traceback.
_MissingAttribute.__name__ = _MissingAttribute.__qualname__ = "AttributeError"
_MissingAttribute.__module__ = "builtins"


def _did_you_mean(name, known):
    import difflib

    if not name.startswith("_"):  # a module's own private names are not what was meant
        known = [k for k in known if not k.startswith("_")]
    close = difflib.get_close_matches(name, known, 1)
    return f". Did you mean: {close[0]!r}?" if close else ""


def _check_name(name, kind):
    what = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}[kind]
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string, got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain ".", got: {name!r}')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def _addindent(text, spaces):
    """All lines of ``text`` but the first, moved to the right."""
    return text.replace("\n", "\n" + " " * spaces)


def _remedy(owner, value):
    """The end of an error about something else in the place of a module."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, Module) for each in value):
        return f": {type(owner).__name__}(*modules) takes those of a {type(value).__name__}"
    if isinstance(value, type) and issubclass(value, Module):
        return f": {value.__name__}(...) makes one"
    if callable(value) and not isinstance(value, type):
        return f": call {getattr(value, '__name__', 'it')} in a forward, or take the class of the function, as ReLU for relu"
    return ""


def _type_name(value):
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


_global_forward_pre_hooks, _global_forward_hooks = everywhere.forward_pre, everywhere.forward
_global_backward_pre_hooks, _global_backward_hooks = everywhere.backward_pre, everywhere.backward
_global_parameter_registration_hooks, _global_buffer_registration_hooks = everywhere.on_parameter, everywhere.on_buffer
_global_module_registration_hooks = everywhere.on_module


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, args)`` before the forward of every module there is."""
    return _hooks.add(everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> Any:
    """Run ``hook(module, args, output)`` after the forward of every module there is."""
    options = [everywhere.with_kwargs] if with_kwargs else []
    options += [everywhere.always_call] if always_call else []
    return _hooks.add(everywhere.forward, hook, False, *options)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, grad_output)`` before the backward of every module there is."""
    return _hooks.add(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, grad_input, grad_output)`` in the backward of every module there is."""
    return _hooks.add_backward(everywhere, everywhere.backward, hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, grad_input, grad_output)`` in backward with the gradients of every module's last node."""
    return _hooks.add_backward(everywhere, everywhere.backward, hook, False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, name, parameter)`` when any module gets a parameter; what it returns replaces it."""
    return _hooks.add(everywhere.on_parameter, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, name, buffer)`` when any module gets a buffer; what it returns replaces it."""
    return _hooks.add(everywhere.on_buffer, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> Any:
    """Run ``hook(module, name, submodule)`` when any module gets a submodule; what it returns replaces it."""
    return _hooks.add(everywhere.on_module, hook)
