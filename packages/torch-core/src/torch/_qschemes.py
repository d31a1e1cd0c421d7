"""How numbers of quantized tensors are scaled."""

from __future__ import annotations


class qscheme:
    """A way to scale quantized numbers."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


qscheme.__module__ = "torch"
for _name in (
    "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric",
):  # fmt: skip
    globals()[_name] = qscheme(_name)
    globals()[_name].__module__ = "torch"
