"""Names of PyTorch's breakdown of memory by what it is for, which is not made here."""

import enum

from torch import _seams

Category = enum.Enum(
    "Category",
    ["INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "PARAMETER", "OPTIMIZER_STATE"],
    module=__name__,
)

#: in the order in which areas lie on each other; None is memory of an unknown kind
_CATEGORY_TO_COLORS = {
    Category.PARAMETER: "darkgreen",
    Category.OPTIMIZER_STATE: "goldenrod",
    Category.INPUT: "black",
    Category.TEMPORARY: "mediumpurple",
    Category.ACTIVATION: "red",
    Category.GRADIENT: "mediumblue",
    Category.AUTOGRAD_DETAIL: "royalblue",
    None: "grey",
}
_CATEGORY_TO_INDEX = {category: i for i, category in enumerate(_CATEGORY_TO_COLORS)}

MemoryProfileTimeline = _seams.absent_class(
    __name__,
    "MemoryProfileTimeline",
    "profiles do not tell what memory is for; profile(profile_memory=True) has the bytes of each operator",
)
