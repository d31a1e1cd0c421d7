"""Leaves with the path of keys that leads to each."""

from ._nodes import _node
from ._walk import tree_structure


def tree_flatten_with_path(tree, is_leaf=None):
    """Pairs of path and leaf, and the description.

    >>> from torch._pytree import keystr
    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """Pairs of path and leaf."""
    return list(_paths((), tree, is_leaf))


def _paths(path, tree, is_leaf):
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Give it to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


_generate_key_paths = _paths


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """:func:`tree_map` with a function that takes the path before the leaf."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[p for p, _ in pairs], [x for _, x in pairs], *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten([func(*each) for each in zip(*columns, strict=True)])
