"""Layers that round their weight as dynamic quantization will, for training; their input is rounded by its own range."""

from torch.ao.nn import qat

__all__ = ["Linear"]


class Linear(qat.Linear):
    """``x @ rounded(weight)^T + bias`` for inputs that ``prepare_qat`` rounds by the range of each call.

    ValueError for a ``qconfig`` whose activations remember earlier ranges.

    >>> from torch.ao.quantization import QConfig
    >>> from torch.ao.quantization.fake_quantize import default_dynamic_fake_quant, default_weight_fake_quant
    >>> config = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
    >>> torch.ao.nn.qat.dynamic.Linear(3, 2, qconfig=config)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, in_features, out_features, bias=True, qconfig=None, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        from torch.ao.quantization.quantize import _is_memoryless

        if not _is_memoryless(qconfig):
            raise ValueError(
                "Linear: dynamic quantization looks at the range of each input; this qconfig's activations "
                f"({type(qconfig.activation()).__name__}) remember earlier ones: give them averaging_constant=1"
            )


__path__: list[str] = []  # a package, all files of which are this module (torch._parts)
