"""Weak references by identity: tensors compare element by element, so `weakref`'s own dictionaries cannot hold them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

import torch


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another when both mean one object.

    >>> x = torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(torch.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        if mine is not None and theirs is not None:
            return mine is theirs
        return self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dict whose keys are compared by identity and vanish when nothing else holds them."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        myself = weakref.ref(self)

        def forget(key):
            if (living := myself()) is not None:
                living.data.pop(key, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __iter__(self) -> Iterator:
        for ref in list(self.data):
            if (key := ref()) is not None:
                yield key

    def __len__(self) -> int:
        return sum(ref() is not None for ref in list(self.data))

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what cannot be referred to weakly is not here
            return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} at {id(self):#x}>"

    def copy(self) -> Any:
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def keyrefs(self) -> list:
        """The weak references of the keys."""
        return list(self.data)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, WeakIdKeyDictionary):
            return NotImplemented
        mine, theirs = ({id(k): v for k, v in d.items()} for d in (self, other))
        return mine == theirs

    __hash__ = None


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference of a tensor; called, it gives the tensor or None."""

    def __init__(self, tensor: torch.Tensor) -> None:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"TensorWeakRef: expected a Tensor, got {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
