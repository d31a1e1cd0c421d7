"""Types of arguments in compiled programs, under the names that libraries import."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

from torch.jit import Final  # noqa: F401


class _Broadcast:
    """``BroadcastingList2[int]``: a list of two, for which one number stands as well."""

    def __class_getitem__(cls, item):
        return List[item]  # noqa: UP006


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = (
    BroadcastingList6
) = _Broadcast


def ann_to_type(ann, loc=None):
    """The type of the script language that an annotation says.

    >>> import typing
    >>> torch.jit.annotations.ann_to_type(typing.Optional[typing.List[int]])
    Optional[List[int]]
    """
    from torch.jit._script.types import from_annotation

    return from_annotation(ann)


def try_ann_to_type(ann, loc=None):
    """The same, and None for what the script language has no type for."""
    from torch.jit._script.errors import ScriptError

    try:
        return ann_to_type(ann, loc)
    except ScriptError:
        return None
