"""state_dict and load_state_dict."""

from __future__ import annotations

import collections
import warnings
import weakref

import torch
from torch import _seams

from ..parameter import Parameter, is_lazy
from . import _hooks
from ._cast import exchange, swaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from torch._seams import RemovableHandle


_EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(collections.namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns: keys the module wanted and did not get, keys it got and did not want."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class State:
    """The part of Module that writes and reads checkpoints.

    Subclasses may override ``_save_to_state_dict`` and ``_load_from_state_dict``, which treat one module without its
    children, or the pair ``get_extra_state`` / ``set_extra_state``.  ``_version`` is written into the metadata of the
    state dict; loading code of a newer class may look at it.
    """

    _version = 1
    dump_patches = False

    # -- writing ----------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """An ordered dict of all parameters and persistent buffers, by dotted path.

        The tensors share memory with the module; they are detached unless ``keep_vars``.

        >>> list(torch.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:  # the order of 2018
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = collections.OrderedDict()
            destination._metadata = collections.OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):  # a dict that the caller brings need not have it
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            if replaced is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError(
                        f"state_dict post-hook must return None and edit the dict in place, got {type(replaced).__name__}"
                    )
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Override to put something picklable beside the tensors of this module's state dict."""
        raise RuntimeError(
            f"{type(self).__name__}.get_extra_state is not defined; define it together with set_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to take back what :meth:`get_extra_state` gave."""
        raise RuntimeError(
            f"{type(self).__name__}.set_extra_state is not defined, but the state dict holds extra state for it"
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of ``state_dict`` into this module's parameters and buffers.

        With ``strict`` the keys must match exactly, else RuntimeError lists what is missing, unexpected or of another
        shape, and the module is left as it was, unless hooks or methods of your own came first, which see what is
        loaded.  With ``assign`` the tensors themselves become the parameters and buffers (their dtype and device stay).
        Returns ``(missing_keys, unexpected_keys)``.

        >>> source, target = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
        >>> target.load_state_dict(source.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, collections.abc.Mapping):
            raise TypeError(f"load_state_dict: state_dict must be a dict, got {type(state_dict).__name__}")
        missing, unexpected, errors, copies, extras = [], [], [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = collections.OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        def load(module, state, prefix):
            local = {**(metadata or {}).get(prefix[:-1], {}), "copies": copies, "extras": extras}
            local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
            if module._modules:
                parts = _by_child(state, prefix)
                for name, child in module._modules.items():
                    if child is not None:
                        load(child, parts.get(name, {}), f"{prefix}{name}.")
            keys = _IncompatibleKeys(missing, unexpected)
            if module._load_state_dict_post_hooks and not errors:
                finish()  # a hook may read what was loaded
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise RuntimeError(
                        "load_state_dict post hook: return None; edit the lists of keys in place instead"
                    )

        def finish():
            with torch.no_grad():
                for copy in copies:
                    copy()
            for extra in extras:
                extra()
            copies.clear()
            extras.clear()

        load(self, state_dict, "")
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}.{_hint(unexpected, missing)}")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}.")
        if errors:
            way_out = "\n\tstrict=False loads what matches by name." if strict and (missing or unexpected) else ""
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors) + way_out
            )
        finish()
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Check this module's own entries and queue their copies; the tensors change only after all checks passed."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        copies, extras = local_metadata.get("copies"), local_metadata.get("extras")
        if not type(self)._load_from_state_dict.__module__.startswith("torch."):
            copies = extras = None  # a program's own method may go on with what was loaded
        assign = local_metadata.get("assign_to_params_buffers", False)
        transient = self._non_persistent_buffers_set
        buffers = self._buffers
        if transient:
            buffers = {name: value for name, value in buffers.items() if name not in transient}
        for registry, entries in ((self._parameters, self._parameters), (self._buffers, buffers)):
            for name, current in entries.items():
                if current is None:
                    continue
                key = prefix + name
                if key not in state_dict:
                    if strict:
                        missing_keys.append(key)
                    continue
                given = state_dict[key]
                problem = _mismatch(key, current, given)
                if problem:
                    error_msgs.append(problem)
                    continue
                if current.is_meta and not given.is_meta and not assign:
                    warnings.warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                        "model changes nothing; load_state_dict(state_dict, assign=True) takes the tensors themselves, "
                        "module.to_empty(device=...) makes room for them",
                        stacklevel=3,
                    )
                action = _Copy(registry, name, current, given, assign)
                if copies is not None:
                    copies.append(action)
                    continue
                with torch.no_grad():
                    action()
        extra = prefix + _EXTRA_STATE
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                action = _Extra(self, state_dict[extra])
                action() if extras is None else extras.append(action)
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if not (head in self._modules if dot else head in self._parameters or head in buffers):
                        unexpected_keys.append(key)

    # -- hooks ------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run ``hook(module, prefix, keep_vars)`` before this module's part of a state dict is written."""
        return _hooks.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run ``hook(module, state_dict, prefix, metadata)`` afterwards; it may edit ``state_dict`` in place."""
        hook._from_public_api = True
        return _hooks.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("this hook is already registered by register_state_dict_post_hook")
        return _hooks.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run ``hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        hooks = self._load_state_dict_pre_hooks
        return _hooks.add(hooks, _WrappedHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Run ``hook(module, incompatible_keys)`` after loading; it may edit the two lists in place."""
        return _hooks.add(self._load_state_dict_post_hooks, hook)


class _WrappedHook:
    """A pre-hook that may want the module as its first argument; a class, so that it pickles with the module.

    PyTorch pickles its own in a class of this name, with or without the module. The module has the hook, so the hook
    does not hold the module: a cycle would keep both until the garbage collector comes.
    """

    module = None

    def __init__(self, hook, module):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args):
        if self.module is None:
            return self.hook(*args)
        module = self.module()
        if module is None:
            raise RuntimeError(f"load_state_dict pre-hook {self.hook}: its module is gone")
        return self.hook(module, *args)

    def __getstate__(self):
        return {"hook": self.hook, "module": self.module and self.module()}

    def __setstate__(self, state):
        self.hook = state["hook"]
        if state.get("module") is not None:
            self.module = weakref.ref(state["module"])


def _by_child(state, prefix):
    """The entries below ``prefix`` that are a submodule's, by its name."""
    parts = {}
    for key, value in state.items():
        name, dot, _ = key[len(prefix) :].partition(".")
        if dot and key.startswith(prefix):
            parts.setdefault(name, {})[key] = value
    return parts


class _Copy:
    """One checked assignment of a tensor of the state dict."""

    __slots__ = ("assign", "current", "given", "name", "registry")

    def __init__(self, registry, name, current, given, assign):
        self.registry, self.name, self.current, self.given, self.assign = registry, name, current, given, assign

    def __call__(self):
        current, given = self.current, self.given
        if swaps() and not is_lazy(current):
            made = current.module_load(given, assign=self.assign)
            if made is current or made is given:
                raise RuntimeError(
                    f"{self.name}: module_load of {type(current).__name__} gave one of its arguments back; detach() it, for "
                    "the two change places"
                )
            if isinstance(current, Parameter):
                exchange(current, made, self.name)
            else:
                _seams.swap(current, made)
            return
        if self.assign:
            if isinstance(current, Parameter):
                if not isinstance(given, Parameter):
                    given = Parameter(given, requires_grad=current.requires_grad)
                else:
                    given.requires_grad_(current.requires_grad)
            self.registry[self.name] = given
            return
        if is_lazy(given):
            return  # both wait for their first input
        if is_lazy(current):
            current.materialize(given.shape)
        current.copy_(given if current.dim() else given.reshape(()))


class _Extra:
    def __init__(self, module, state):
        self.module, self.state = module, state

    def __call__(self):
        self.module.set_extra_state(self.state)


def _mismatch(key, current, given):
    """Why ``given`` cannot be loaded into ``current``, or None."""
    if not isinstance(given, torch.Tensor):
        return f"type mismatch for {key}: expected a Tensor, got {type(given).__name__}."
    if is_lazy(current):
        return None
    if is_lazy(given):
        return f"{key} of the checkpoint was never initialised: run its lazy module once."
    if current.shape != given.shape and not (current.dim() == 0 and given.shape == (1,)):
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {current.shape}."
        )
    return None


def _quoted(keys):
    return ", ".join(f'"{key}"' for key in keys)


def _hint(unexpected, missing):
    """A word on the commonest causes: a DataParallel prefix, a renamed layer."""
    if all(key.startswith("module.") for key in unexpected):
        return ' All start with "module.": saved from DataParallel? Load into it, or strip the prefix.'
    import difflib  # only errors need it, and it costs a fifth of the import of torch.nn

    close = difflib.get_close_matches(unexpected[0], missing, 1, 0.8)
    return f' Was "{unexpected[0]}" renamed to "{close[0]}"?' if close else ""
