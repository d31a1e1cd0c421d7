"""What is patched while a tracer runs: modules, wrapped functions and the tensors of modules."""

import builtins
import functools
import inspect
import sys

import torch

from ._patches import operators, patched
from ._wrap import (
    _MARK,
    _create_wrapped_func,
    _create_wrapped_method,
    _current_tracer,
    _thread,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
)


def _module_call(original):
    @functools.wraps(original)
    def call(module, *args, **kwargs):
        tracer = _current_tracer()
        if tracer is None:
            return original(module, *args, **kwargs)
        return tracer.call_module(module, lambda *a, **k: original(module, *a, **k), args, kwargs)

    return call


class _Watched(dict):
    """The parameters or buffers of a module while it is traced: the tracer says what reading an attribute gives.

    Only a lookup by key asks it, which is what attributes do; iteration gives the tensors.
    """

    def __getitem__(self, name):
        value = super().__getitem__(name)
        tracer = _current_tracer()
        if tracer is None or value is None:
            return value
        return tracer.getattr(name, value, tracer._parameter_proxies)


class _Tracing:
    """While it lasts, calls of this thread that see a Proxy are recorded by one tracer."""

    def __init__(self, tracer, function):
        self.tracer, self.function = tracer, function

    def __enter__(self):
        extra = {key: _stand_in(func) for key, func in self.tracer._autowrapped.items()}
        self._patched = patched(extra)
        patches = self._patched.__enter__()
        try:
            self._patch(patches)
        except BaseException:
            self._patched.__exit__(*sys.exc_info())
            raise
        stack = _thread.__dict__.setdefault("tracers", [])
        stack.append(self.tracer)
        return self

    def _patch(self, patches):
        for module in self.tracer._autowrap_search:
            for name, value in list(vars(module).items()):
                if id(value) in self.tracer._autowrap_function_ids and not name.startswith("_"):
                    patches.item(vars(module), name, _stand_in(value))
        for (_, name), space in list(_wrapped_fns_to_patch.items()):
            _patch_global(patches, space, name)
        for space in self._generated_programs():
            for name in space.get(_MARK, ()):
                _patch_global(patches, space, name)
        for cls, name in _wrapped_methods_to_patch:
            patches.attribute(cls, name, _create_wrapped_method(cls, name))
        module = torch.nn.Module
        patches.attribute(module, "__call__", _module_call(module.__call__))
        for part in self.tracer.root.modules():
            state = vars(part)
            for kind in ("_parameters", "_buffers"):
                patches.watch(state, kind, _Watched)
            for name, value in list(state.items()):  # self.act = F.gelu, or a partial of it
                if isinstance(value, functools.partial) and (stand_in := operators().get(id(value.func))) is not None:
                    patches.item(state, name, functools.partial(stand_in, *value.args, **value.keywords))
                elif (stand_in := operators().get(id(value))) is not None:
                    patches.item(state, name, stand_in)
            for kind in type(part).__mro__:
                for name, value in list(vars(kind).items()):
                    stand_in = operators().get(id(getattr(value, "__func__", value)))
                    if stand_in is not None:
                        patches.attribute(kind, name, staticmethod(stand_in))

    def _generated_programs(self):
        functions = [self.function, *(type(module).forward for module in self.tracer.root.modules())]
        seen = set()
        for function in functions:
            space = getattr(inspect.unwrap(function), "__globals__", None)
            if space is not None and _MARK in space and id(space) not in seen:
                seen.add(id(space))
                yield space

    def __exit__(self, *exc):
        _thread.tracers.pop()
        return self._patched.__exit__(None, None, None)


def _patch_global(patches, space, name):
    original = space.get(name, getattr(builtins, name, None))
    if original is None:
        raise NameError(f"torch.fx.wrap({name!r}): module {space.get('__name__')!r} has no such function")
    original = getattr(original, "_stands_for", original)
    patches.item(space, name, _create_wrapped_func(original))


@functools.lru_cache(maxsize=1024)
def _stand_in(func):
    return _create_wrapped_func(func)


def _autowrap_check(patcher, frame_dict, function_ids):
    """Replace the functions with these ids in the globals of a module, for the trace that ``patcher`` belongs to."""
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.item(frame_dict, name, _create_wrapped_func(value))
