"""``torch.ao.ns``: how far the numbers of a quantized model are from those of the model in floats."""

from torch import _seams

__all__: list[str] = []

__getattr__, __dir__ = _seams.later(globals(), modules=("_numeric_suite", "_numeric_suite_fx", "fx"))
