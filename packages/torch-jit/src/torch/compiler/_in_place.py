"""``Module.compile``: a module whose calls are compiled, and which stays what it is: its class, its names, its state."""

from __future__ import annotations

import functools


class Forward:
    """What stands for ``forward`` of one module; its hooks run around it, as Python."""

    def __init__(self, module, settings):
        from . import compile

        self.settings = settings
        self.plain = functools.partial(type(module).forward, module)
        self.compiled = compile(self.plain, **settings)
        self._torchdynamo_orig_callable = self.plain

    def __call__(self, *args, **kwargs):
        return self.compiled(*args, **kwargs)

    def __deepcopy__(self, memo):
        module = self.plain.args[0]
        other = memo.get(id(module))
        return self if other is None else Forward(other, self.settings)

    def __reduce__(self):  # a module that is saved is not compiled when it is loaded
        return functools.partial, (self.plain.func, *self.plain.args)


def compile_in_place(module, **settings):
    """Compile the calls of a module; once more with other settings if it was compiled before."""
    module.__dict__["forward"] = Forward(module, settings)
