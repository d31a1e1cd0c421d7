"""Nested dictionaries and lists as leaves under names with dots, and back."""

import torch

__all__ = ["flatten", "put"]


def _has_more(value) -> bool:
    """Whether a tensor or a dictionary is in it."""
    if isinstance(value, (torch.Tensor, dict)):
        return True
    return isinstance(value, (list, tuple)) and any(map(_has_more, value))


def flatten(tree) -> tuple:
    """The leaves by name, and the path to each by name.

    Lists are gone into where a tensor or a dictionary is in them, as PyTorch does.

    >>> flatten({"a": {"b": 1, 2: [3]}, "e": {}})
    ({'a.b': 1, 'a.2': [3], 'e': {}}, {'a.b': ('a', 'b'), 'a.2': ('a', 2), 'e': ('e',)})
    >>> flatten({"groups": [{"lr": 0.1, "params": ["w", "b"]}]})[0]
    {'groups.0.lr': 0.1, 'groups.0.params': ['w', 'b']}
    """
    leaves, paths = {}, {}

    def go(value, path):
        if isinstance(value, dict) and value and all(isinstance(key, (str, int)) for key in value):
            children = value.items()
        elif isinstance(value, list) and _has_more(value):
            children = enumerate(value)
        else:
            name = ".".join(map(str, path))
            if name in leaves:
                raise ValueError(f"checkpoint: {paths[name]} and {path} are both called {name!r}")
            leaves[name], paths[name] = value, path
            return
        for key, child in children:
            go(child, (*path, key))

    for key, child in tree.items():
        go(child, (key,))
    return leaves, paths


def put(tree, path, value) -> None:
    """Put a leaf in its place; dictionaries and lists on the way are made where there are none.

    >>> tree = {}
    >>> put(tree, ("a", 1, "b"), 5)
    >>> tree
    {'a': [None, {'b': 5}]}
    """
    for key, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(tree, list):
            tree.extend([None] * (key + 1 - len(tree)))
        if following is None:
            tree[key] = value
            return
        held = tree[key] if isinstance(tree, list) else tree.get(key)
        if held is None:
            held = tree[key] = [] if isinstance(following, int) else {}
        tree = held
