"""How many layers a module of several is asked to have."""

import operator
import os

import torch

_OBJECT = 1000  # bytes that a parameter has beside its elements


def layers(owner, name, count, parameters):
    """``count`` as an int, an integer tensor of one element too.

    ``parameters`` are the (elements, bytes of each) of one layer: a count that no memory holds is refused before the
    first is made, for making them one by one would first take all there is.
    """
    try:
        n = operator.index(count)
    except TypeError:
        raise TypeError(f"{owner}: {name} must be an int, got {type(count).__name__} ({count!r})") from None
    here = 4 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # some of it on a disk
    need = n * sum(elements * size + _OBJECT for elements, size in parameters)
    if need > here:
        raise torch.OutOfMemoryError(
            f"{owner}: {name}={n} layers need {need} bytes, more than four times the memory of this machine"
        )
    return n
