"""Small conversions that layers written elsewhere import: numbers to tuples, prefixes of state dicts."""

from __future__ import annotations

import collections.abc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """A function that repeats a number ``n`` times and gives anything iterable as a tuple, of whatever length."""

    def parse(x):
        return tuple(x) if isinstance(x, collections.abc.Iterable) else (x,) * n

    parse.__name__ = parse.__qualname__ = name
    parse.__doc__ = f"``x`` {n} times, or ``tuple(x)``."
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The elements from last to first, each ``n`` times: sizes for each dim in the order of :func:`F.pad`.

    >>> torch.nn.modules.utils._reverse_repeat_tuple((1, 2), 2)
    (2, 2, 1, 1)
    """
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """``out_size`` with the last of ``defaults`` in the place of each None; a single number stays as it is.

    >>> torch.nn.modules.utils._list_with_default([3, None], [1, 4, 5])
    [3, 5]
    """
    if isinstance(out_size, (int, float)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(
            f"Input dimension should be at least {len(out_size) + 1}, got {len(defaults)}: sizes of the batch, the "
            "channels and all spatial dims"
        )
    return [default if size is None else size for size, default in zip(out_size, list(defaults)[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take ``prefix`` off the keys of ``state_dict`` that have it, and off those of its metadata, in place.

    >>> state = {"module.weight": 1, "step": 2}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'step': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        # the module itself has the prefix without its dot, those below it have all of it
        if key and (key == prefix.rstrip(".") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
