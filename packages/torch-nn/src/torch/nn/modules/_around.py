"""A module around another one, which looks like it from outside: what ``torch.compile`` makes of a module."""

from .module import Module


class Around(Module):
    """The base of wrappers: attributes, items and training mode are those of ``_orig_mod``, the module within.

    A wrapper says what a call does.
    """

    def __init__(self, mod):
        super().__init__()
        del self.__dict__["training"]
        self._orig_mod = mod

    @property
    def training(self):
        """Whether the module within trains."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        self._orig_mod.training = mode

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
        """Set the training mode of the module, as its own ``train`` does."""
        self._orig_mod.train(mode)
        return self

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __len__(self):
        return len(self._orig_mod)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
