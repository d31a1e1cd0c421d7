"""The table of what operators do with jagged tensors, and what a jagged tensor is made of."""

from __future__ import annotations

from .. import _jagged_rules as _jagged_rules
from .._jagged import Jagged as NestedTensor

JAGGED_OPS_TABLE = NestedTensor.handlers


def extract_kwargs(arg):
    """What a jagged tensor is made of, beside its values."""
    return {
        "offsets": arg.offsets(),
        "lengths": arg.lengths(),
        "_metadata_cache": {
            name: value
            for name, value in zip(("min_seqlen", "max_seqlen"), arg._seqlens, strict=True)
            if value is not None
        },
        "_ragged_idx": arg._ragged_idx,
    }
