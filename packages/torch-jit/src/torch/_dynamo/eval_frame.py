"""The module that ``torch.compile`` makes of a module."""

import torch


class OptimizedModule(torch.nn.Module):
    """A module around the one that was given to ``torch.compile``, which is ``_orig_mod``; it computes the same.

    >>> net = torch.nn.Linear(2, 1)
    >>> compiled = torch.compile(net)
    >>> compiled._orig_mod is net, list(compiled.state_dict())
    (True, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    def __init__(self, mod, compiled):
        super().__init__()
        self._orig_mod = mod
        self.training = mod.training
        self.__dict__.update(_compiled=compiled, _run=compiled.door.run)

    def __call__(self, *args, **kwargs):
        return self._run(args, kwargs)

    def forward(self, *args, **kwargs):
        """Compute as the module does."""
        return self._run(args, kwargs)

    def __reduce__(self):
        return torch.compile, (self._orig_mod,)

    def __deepcopy__(self, memo):
        import copy

        return torch.compile(copy.deepcopy(self._orig_mod, memo))

    def __getattr__(self, name):
        if name == "_orig_mod":
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        # What belongs to this wrapper stays here; all else is the module's own.
        if name in ("_orig_mod", "training", "forward") or "_modules" not in self.__dict__ or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def train(self, mode=True):
        """Set training mode here and in the module."""
        self._orig_mod.train(mode)
        return super().train(mode)

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __len__(self):
        return len(self._orig_mod)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
