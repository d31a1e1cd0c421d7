"""Values that may be absent: a tensor or a sequence, or None."""

from __future__ import annotations

import torch

from . import reader


@reader("Optional")
def optional(x=None, type=None):
    return x


@reader("OptionalGetElement")
def element(x):
    if x is None:
        raise RuntimeError("onnx.load: OptionalGetElement of an absent value")
    return x


@reader("OptionalHasElement")
def has_element(x=None):
    return torch.tensor(x is not None)
