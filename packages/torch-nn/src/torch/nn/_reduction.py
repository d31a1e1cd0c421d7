"""Names of reductions as numbers, and what ``size_average`` and ``reduce`` of 2018 spelt, for layers written elsewhere."""

from .functional._reduction import _codes, legacy


def get_enum(reduction):
    """The number that operators take: 0 for 'none', 1 for 'mean', 2 for 'sum'; ValueError for any other name.

    >>> torch.nn._reduction.get_enum("sum")
    2
    """
    return _codes[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The ``reduction`` that the two booleans of 2018 mean; None is True.

    >>> torch.nn._reduction.legacy_get_string(False, None, emit_warning=False)
    'sum'
    """
    return legacy(size_average, reduce, 3, emit_warning)


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """:func:`get_enum` of :func:`legacy_get_string`."""
    return get_enum(legacy(size_average, reduce, 3, emit_warning))
