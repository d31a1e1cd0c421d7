"""Layers that ``fuse_modules`` joined: they run one after the other, and are quantized as one."""

from torch import _seams, nn

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "LinearBn1d", "LinearReLU",
]  # fmt: skip


class _FusedModule(nn.Sequential):
    """What the joined layers share."""


def _joined(name, *kinds):
    def __init__(self, *layers):
        if tuple(map(type, layers)) != kinds:
            wanted = ", ".join(k.__name__ for k in kinds)
            raise AssertionError(f"{name}: expected {wanted}, got {', '.join(type(x).__name__ for x in layers)}")
        _FusedModule.__init__(self, *layers)

    doc = f"{', '.join(k.__name__ for k in kinds)} as one layer."
    return type(name, (_FusedModule,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


for _d in ("1d", "2d", "3d"):
    _conv, _norm = getattr(nn, f"Conv{_d}"), getattr(nn, f"BatchNorm{_d}")
    globals()[f"ConvReLU{_d}"] = _joined(f"ConvReLU{_d}", _conv, nn.ReLU)
    globals()[f"ConvBn{_d}"] = _joined(f"ConvBn{_d}", _conv, _norm)
    globals()[f"ConvBnReLU{_d}"] = _joined(f"ConvBnReLU{_d}", _conv, _norm, nn.ReLU)
    if _d != "1d":
        globals()[f"BNReLU{_d}"] = _joined(f"BNReLU{_d}", _norm, nn.ReLU)
LinearBn1d = _joined("LinearBn1d", nn.Linear, nn.BatchNorm1d)
LinearReLU = _joined("LinearReLU", nn.Linear, nn.ReLU)


__getattr__, __dir__ = _seams.later(globals(), modules=("qat", "quantized"))
