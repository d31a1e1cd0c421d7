"""Taking trees apart, and functions over their leaves."""

from __future__ import annotations

from ._nodes import _get_node_type, _node
from ._spec import _LEAF_SPEC, TreeSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def _take_apart(tree, leaves, is_leaf):
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    specs = [_take_apart(child, leaves, is_leaf) for child in children]
    return TreeSpec(_get_node_type(tree), context, specs)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its description."""
    leaves = []
    spec = _take_apart(tree, leaves, is_leaf)
    return leaves, spec


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Iterate over the leaves of a tree."""
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a tree from left to right."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The description of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether an object is a leaf.

    >>> tree_is_leaf(1), tree_is_leaf([]), tree_is_leaf(None)
    (True, False, True)
    """
    return (is_leaf is not None and is_leaf(tree)) or _node(tree) is None


def _is_leaf(tree, is_leaf=None):
    return tree_is_leaf(tree, is_leaf)


def arg_tree_leaves(*args, **kwargs):
    """The leaves among the arguments of a call."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_iter(value)]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree of what the function makes of each leaf, and of what stands in its place in the other trees.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)})
    {'x': 11, 'y': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten([func(*each) for each in zip(*columns, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call the function with each leaf as :func:`tree_map` does, and return the tree as it was given."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    for each in zip(*columns, strict=True):
        func(*each)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function is called with what is of these types, or meets the predicate; the rest stays."""
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def _chooser(which):
    if isinstance(which, (type, tuple)) or type(which).__name__ == "UnionType":
        return lambda x: isinstance(x, which)
    if callable(which):
        return which
    raise TypeError(f"expected a type, types or a predicate, got {which!r}")


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """:func:`tree_map` over the leaves of some types only."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """:func:`tree_map_` over the leaves of some types only."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves meet the predicate."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a leaf meets the predicate."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether all leaves of some types meet the predicate."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether a leaf of some types meets the predicate."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree repeated to fit a description that goes deeper; None when it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or not treespec._fits(tree):
        return None
    children, context = _node(tree).flatten_fn(tree)
    children = list(children)
    if len(children) != treespec.num_children or context != treespec._context:
        return None
    found = []
    for child, spec in zip(children, treespec._children, strict=True):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        found += part
    return found
