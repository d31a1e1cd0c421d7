"""The module that ``torch.compile`` makes of a module."""

from torch.nn.modules._around import Around


class OptimizedModule(Around):
    """A module around the one that was given to ``torch.compile``, which is ``_orig_mod``; it computes the same.

    >>> net = torch.nn.Linear(2, 1)
    >>> compiled = torch.compile(net)
    >>> compiled._orig_mod is net, list(compiled.state_dict())
    (True, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__(mod)

    def __call__(self, *args, **kwargs):
        return self._orig_mod(*args, **kwargs)

    def forward(self, *args, **kwargs):
        """Compute as the module does."""
        return self._orig_mod(*args, **kwargs)
