"""Tensors of device "meta" like others."""

__all__ = ["MetaConverter"]


class MetaConverter:
    """Gives tensors of device "meta" with the shape, strides and dtype of others; the same one for the same tensor.

    >>> from torch._subclasses.meta_utils import MetaConverter
    >>> MetaConverter()(torch.ones(2, 3)).device
    device(type='meta')
    """

    def __init__(self, *, copy_data=False):
        if copy_data:
            raise NotImplementedError("MetaConverter(copy_data=True): tensors of device 'meta' have no data")
        self._made = {}

    def __call__(self, t, *args, **kwargs):
        """The tensor on device "meta"; what is no tensor, as it is."""
        import torch

        return self.meta_tensor(t) if isinstance(t, torch.Tensor) else t

    def meta_tensor(self, t):
        """The tensor on device "meta", a leaf with the same ``requires_grad``."""
        import weakref

        import torch

        if (found := self._made.get(id(t))) is not None and found[0]() is t:
            return found[1]
        made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
        if t.requires_grad:
            made.requires_grad_()
        self._made[id(t)] = weakref.ref(t), made
        return made
