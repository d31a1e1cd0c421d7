"""Types of arguments in compiled programs, under the names that libraries import."""

from typing import Dict, List, Optional, Tuple, Union  # noqa: F401, UP035

from torch.jit import Final  # noqa: F401


class _Broadcast:
    """``BroadcastingList2[int]``: a list of two, for which one number stands as well."""

    def __class_getitem__(cls, item):
        return List[item]  # noqa: UP006


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = (
    BroadcastingList6
) = _Broadcast
