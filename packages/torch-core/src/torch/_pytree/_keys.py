"""Keys: the way from a container to a child."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SequenceKey:
    """The child of a sequence at an index.

    >>> str(SequenceKey(2)), SequenceKey(1).get("abc")
    ('[2]', 'b')
    """

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The child of a mapping at a key."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The child of an object at an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple


def keystr(kp):
    """A path of keys as Python spells it.

    >>> keystr((MappingKey("a"), SequenceKey(0), GetAttrKey("weight")))
    "['a'][0].weight"
    """
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What lies at the end of a path of keys."""
    for key in kp:
        obj = key.get(obj)
    return obj
