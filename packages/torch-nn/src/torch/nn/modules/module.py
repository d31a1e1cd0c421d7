"""The base class of all layers and models.

A module holds parameters (trained), buffers (not trained) and modules, each under the name of an attribute; assigning
one to an attribute registers it.  The class is put together from four parts: the tree of names (``_tree.py``), casts and
moves (``_cast.py``), checkpoints (``_state.py``) and, here, attributes, the call, hooks and printing.
"""

import types

import torch

from ..parameter import Buffer, Parameter
from . import _hooks
from ._cast import Cast
from ._hooks import HookDict, everywhere, running
from ._registry import Registry
from ._state import State, _WrappedHook  # noqa: F401  (pickles of PyTorch name it here)
from ._tree import Tree

__all__ = ["Module"]

_NOTHING = types.MappingProxyType({})
_REGISTRIES = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


class Module(Tree, Cast, State):
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
    # Options of hooks; a dict of the instance replaces these at the first registration.
    _forward_pre_hooks_with_kwargs = _forward_hooks_with_kwargs = _forward_hooks_always_called = _NOTHING

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            given = repr(next(iter(kwargs))) if kwargs else f"{len(args)} positional"
            raise TypeError(f"{type(self).__name__}.__init__() got unexpected arguments: {given}")
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = Registry(self)
        state["_buffers"] = Registry(self)
        state["_modules"] = Registry(self)
        state["_non_persistent_buffers_set"] = set()
        self._set_hooks({})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- attributes -------------------------------------------------------------------------------------------------
    # Reading a parameter, buffer or module is an ordinary attribute read: see _registry.py.

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, Parameter):
            kind = "_parameters"
        elif isinstance(value, Module):
            kind = "_modules"
        elif isinstance(value, Buffer):
            kind = "_buffers"
        elif name in _REGISTRIES:
            state[name] = value if isinstance(value, Registry) and value._owner() is self else Registry(self, value)
            return
        else:
            for kind in _REGISTRIES:
                if name in state.get(kind, ()):
                    self._reassign(kind, name, value)
                    return
            object.__setattr__(self, name, value)
            return
        if kind not in state:
            raise AttributeError(
                f"cannot assign a {type(value).__name__} before Module.__init__() call: "
                f"{type(self).__name__}.__init__ must first call super().__init__()"
            )
        _check_name(name, kind)
        if name in state and name not in state[kind]:
            delattr(self, name)
        if kind == "_parameters":
            self.register_parameter(name, value)
        elif kind == "_buffers":
            self.register_buffer(name, value, value.persistent)
        else:
            self._register("_modules", name, value, everywhere.on_module)

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

    def __getattr__(self, name):
        """Only reached when there is no such attribute."""
        state = self.__dict__
        for kind in _REGISTRIES:
            if name in state.get(kind, ()):
                return state[kind][name]
        if "_parameters" not in state and not name.startswith("__"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: "
                f"{type(self).__name__}.__init__ has not called super().__init__()"
            )
        hint = "" if name.startswith("_") else _did_you_mean(name, dir(self))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __delattr__(self, name):
        for kind in _REGISTRIES:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
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
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name, param):
        """Add a parameter; ``None`` keeps the name reserved (a layer without bias).

        KeyError for a name that is empty, contains a dot or is taken; TypeError or ValueError for something that is
        not a parameter.
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

    def register_buffer(self, name, tensor, persistent=True):
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

    def add_module(self, name, module):
        """Add a submodule under ``name``; the same as assigning it, for names made at run time."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_new(name, "_modules")
        self._register("_modules", name, module, everywhere.on_module)

    register_module = add_module

    def add_parameter(self, name, value):
        """:meth:`register_parameter` under the name of the 0.4 guide."""
        self.register_parameter(name, value)

    def add_buffer(self, name, value):
        """:meth:`register_buffer` under the name of the 0.4 guide."""
        self.register_buffer(name, value)

    # -- the call ---------------------------------------------------------------------------------------------------

    def forward(self, *input):
        """Compute the output; every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function: define forward(self, ...)'
        )

    def __call__(self, *args, **kwargs):
        try:
            if self._hooked or running:
                return _hooks.call(self, args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
        except Exception as error:
            _name_layer(error, self)
            raise

    def train(self, mode=True):
        """Put this module and all below it into training mode (dropout drops, batch norm uses the batch). Returns self."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Put this module and all below it into evaluation mode. Returns self."""
        return self.train(False)

    def compile(self, *args, **kwargs):
        """Not there: this build has no compiler for modules."""
        raise NotImplementedError("Module.compile: there is no compiler in this version; call the module as it is")

    # -- hooks ------------------------------------------------------------------------------------------------------

    def _set_hooks(self, hooks):
        """Make the four dicts of hooks, and the list of all their keys that the call looks at."""
        state = self.__dict__
        state["_hooked"] = []
        for kind in _HOOKS:
            state[kind] = HookDict(state["_hooked"], hooks.get(kind, ()))

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Run ``hook(module, args)`` before forward; what it returns, if not None, replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)`` and returns None or ``(args, kwargs)``.
        """
        options = [self._own_hooks("_forward_pre_hooks_with_kwargs")] if with_kwargs else []
        return _hooks.add(self._forward_pre_hooks, hook, prepend, *options)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Run ``hook(module, args, output)`` after forward; what it returns, if not None, replaces the output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``; with ``always_call`` it also runs when forward
        raised, with ``None`` for the output.
        """
        options = [self._own_hooks("_forward_hooks_with_kwargs")] if with_kwargs else []
        options += [self._own_hooks("_forward_hooks_always_called")] if always_call else []
        return _hooks.add(self._forward_hooks, hook, prepend, *options)

    def register_full_backward_hook(self, hook, prepend=False):
        """Run ``hook(module, grad_input, grad_output)`` in backward; a returned tuple replaces ``grad_input``.

        Both are tuples, with None where an input or output is no tensor or needs no gradient.
        """
        return _hooks.add(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Run ``hook(module, grad_output)`` before this module's backward; a returned tuple replaces ``grad_output``."""
        return _hooks.add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """:meth:`register_full_backward_hook` under its 2018 name; gradients of all inputs are seen, not the last op's."""
        return _hooks.add(self._backward_hooks, hook)

    # -- copying, printing --------------------------------------------------------------------------------------------

    def __getstate__(self):
        state = dict(self.__dict__)
        state.pop("_hooked", None)
        for kind in _HOOKS:
            if kind in state:
                state[kind] = dict(state[kind])
        for kind in _REGISTRIES:
            for name in state.get(kind, ()):
                state.pop(name, None)
            if kind in state:
                state[kind] = dict(state[kind])
        return state

    def __setstate__(self, state):
        registries = {kind: state.get(kind, {}) for kind in _REGISTRIES}
        own = self.__dict__
        own.update((name, value) for name, value in state.items() if name not in _REGISTRIES + _HOOKS)
        self._set_hooks(state)
        own.setdefault("_non_persistent_buffers_set", set())
        for kind, entries in registries.items():
            own[kind] = Registry(self, entries)

    def _replicate_for_data_parallel(self):
        replica = object.__new__(type(self))
        replica.__setstate__(self.__getstate__())
        replica._is_replica = True
        return replica

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the brackets when the module is printed; override it in a layer."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _did_you_mean(name, known):
    import difflib

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


def _type_name(value):
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _name_layer(error, module):
    """Note on the error which layer it came out of, as the path from the outermost module that was called."""
    inner = getattr(error, "_layer", None)
    if inner is None:
        described = f"{module._get_name()}({module.extra_repr()})" if not module._modules else module._get_name()
        path, note = "", f"while running {described}"
        place = len(getattr(error, "__notes__", ()))
    else:
        module_below, path, described, place = inner
        name = next((name for name, child in module._modules.items() if child is module_below), None)
        if name is None:  # the module that failed hangs elsewhere, for instance in a plain list
            return
        path = f"{name}.{path}" if path else name
        note = f"while running layer {path!r} of {module._get_name()}: {described}"
    try:
        error._layer = (module, path, described, place)
        if hasattr(error, "add_note"):
            if inner is None:
                error.add_note(note)
            else:
                error.__notes__[place] = note
    except Exception:  # an exception class that takes no attributes keeps its own text
        pass


def register_module_forward_pre_hook(hook):
    """Run ``hook(module, args)`` before the forward of every module there is."""
    return _hooks.add(everywhere.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Run ``hook(module, args, output)`` after the forward of every module there is."""
    options = [everywhere.with_kwargs] if with_kwargs else []
    options += [everywhere.always_call] if always_call else []
    return _hooks.add(everywhere.forward, hook, False, *options)


def register_module_full_backward_pre_hook(hook):
    """Run ``hook(module, grad_output)`` before the backward of every module there is."""
    return _hooks.add(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook):
    """Run ``hook(module, grad_input, grad_output)`` in the backward of every module there is."""
    return _hooks.add(everywhere.backward, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook):
    """Run ``hook(module, name, parameter)`` when any module gets a parameter; what it returns replaces it."""
    return _hooks.add(everywhere.on_parameter, hook)


def register_module_buffer_registration_hook(hook):
    """Run ``hook(module, name, buffer)`` when any module gets a buffer; what it returns replaces it."""
    return _hooks.add(everywhere.on_buffer, hook)


def register_module_module_registration_hook(hook):
    """Run ``hook(module, name, submodule)`` when any module gets a submodule; what it returns replaces it."""
    return _hooks.add(everywhere.on_module, hook)
