"""The module that ``torch.compile`` makes of a module."""

import copy

import torch
from torch.jit import _ir as ir
from torch.nn.modules import module
from torch.nn.modules._around import Around


class OptimizedModule(Around):
    """A module around the one that was given to ``torch.compile``, which is ``_orig_mod``; it computes the same.

    >>> net = torch.nn.Linear(2, 1)
    >>> compiled = torch.compile(net)
    >>> compiled._orig_mod is net, list(compiled.state_dict())
    (True, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    def __init__(self, mod, compiled, settings):
        super().__init__(mod)
        compiled.door.of_module(torch.nn.Module.__call__, module.running, module.name_layer)
        self.__dict__.update(_compiled=compiled, _door=compiled.door, _run=compiled.door.run, _settings=settings)

    def forward(self, *args, **kwargs):
        """Compute as the module does."""
        return self._run(args, kwargs)

    def __reduce__(self):
        return _compiled, (self._orig_mod, self._settings)

    def __deepcopy__(self, memo):
        return _compiled(copy.deepcopy(self._orig_mod, memo), self._settings)


def _compiled(module, settings):
    return torch.compile(module, **settings)


ir._native._call_through_door(OptimizedModule)  # no frame of Python


def __getattr__(name):
    if name in ("is_dynamo_supported", "is_inductor_supported"):
        return getattr(torch._dynamo, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
