"""Flattening by a specification: the leaves of a tree that has the shape of an example."""

from collections import OrderedDict, namedtuple

SUPPORTED_NODES: dict = {}
SUPPORTED_NODES_EXACT_MATCH: dict = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Make a class known: ``flatten_fn_spec(container, spec)`` gives the children in the order of ``spec``, and
    ``flatten_fn_exact_match_spec(container, spec)`` whether the container has the shape of ``spec``."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _children(spec):
    children = getattr(spec, "children_specs", None)
    return children() if callable(children) else children


def _is_leaf(spec):
    is_leaf = spec.is_leaf
    return is_leaf() if callable(is_leaf) else is_leaf


def tree_flatten_spec(tree, spec, exact_structural_match=False):
    """The leaves of ``tree`` where ``spec`` has leaves.

    >>> from torch import _pytree as pytree
    >>> leaves, spec = pytree.tree_flatten({"a": 1, "b": [2]})
    >>> tree_flatten_spec({"b": [20], "a": 10}, spec)
    [10, 20]
    """
    if _is_leaf(spec):
        return [tree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{spec.type} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec."
        )
    if exact_structural_match:
        check = SUPPORTED_NODES_EXACT_MATCH.get(spec.type)
        if check is not None and not check(tree, spec):
            raise RuntimeError(f"Cannot flatten pytree {tree!r}, given spec: {spec}")
    try:
        parts = SUPPORTED_NODES[spec.type](tree, spec)
    except (KeyError, IndexError, TypeError) as error:
        raise RuntimeError(f"Cannot flatten pytree {tree!r}, given spec: {spec}") from error
    found = []
    for part, child in zip(parts, _children(spec), strict=True):
        found += tree_flatten_spec(part, child, exact_structural_match)
    return found


def _count(spec):
    return len(_children(spec))


register_pytree_flatten_spec(dict, lambda d, spec: [d[k] for k in spec.context], lambda d, s: len(d) == _count(s))
register_pytree_flatten_spec(
    list, lambda v, spec: [v[i] for i in range(_count(spec))], lambda v, s: len(v) == _count(s)
)
register_pytree_flatten_spec(
    tuple, lambda v, spec: [v[i] for i in range(_count(spec))], lambda v, s: len(v) == _count(s)
)


# What torch.utils._pytree files under one name for a whole family of classes.
for _family, _like in ((namedtuple, tuple), (OrderedDict, dict)):
    register_pytree_flatten_spec(_family, SUPPORTED_NODES[_like], SUPPORTED_NODES_EXACT_MATCH[_like])
