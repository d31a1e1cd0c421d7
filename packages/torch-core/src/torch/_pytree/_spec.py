"""Descriptions of trees, and putting trees together by them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict

from ._nodes import STRUCTSEQ, SUPPORTED_NODES, _get_node_type, _node, is_structseq_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class TreeSpec:
    """The shape of a tree: its containers, with leaves left open."""

    __slots__ = ("_children", "_context", "_node", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs=()):
        self.type, self._context, self._children = type, context, list(children_specs)
        self._node = None
        self._count()

    def _count(self):
        self.num_children = len(self._children)
        self.num_leaves = sum(c.num_leaves for c in self._children)
        self.num_nodes = 1 + sum(c.num_nodes for c in self._children)

    @property
    def context(self):
        return self._context

    @property
    def children_specs(self):
        return self._children

    def children(self):
        """The descriptions of the children."""
        return list(self._children)

    def child(self, index):
        """The description of one child."""
        return self._children[index]

    def is_leaf(self):
        """Whether this describes a single leaf."""
        return False

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Make the tree of its leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """Take a tree apart as far as this description goes; what hangs below its leaves stays whole."""
        found = []
        self._up_to(tree, found)
        return found

    def _up_to(self, tree, found):
        node = _node(tree)
        if node is None or not self._fits(tree):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = node.flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch of {self.type!r}; expected {self.num_children} children, but got {len(children)}."
            )
        if self.type in (dict, OrderedDict, defaultdict):
            mine = self._context[1] if self.type is defaultdict else self._context
            if set(mine) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(mine)}, but got {list(tree)}.")
            children = [tree[key] for key in mine]
        elif context != self._context:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}: expected {self._context!r}, got {context!r}."
            )
        for child, spec in zip(children, self._children, strict=True):
            spec._up_to(child, found)

    def _fits(self, tree):
        kind = _get_node_type(tree)
        return kind is self.type or {kind, self.type} <= {dict, OrderedDict, defaultdict}

    def _key(self):
        return self.type, self._context, self._children

    def __eq__(self, other):
        if self is other:
            return True
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self):
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        return hash((self.type, tuple(context) if isinstance(context, list) else context, tuple(self._children)))

    def __repr__(self):
        return self._text(0)

    def _text(self, indent):
        start = f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self._context!r}, ["
        inner = (",\n" + " " * (indent + 2)).join(c._text(indent + 2) for c in self._children)
        return f"{start}{inner}])"


class LeafSpec(TreeSpec):
    """The description of one leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None)

    def _count(self):
        self.num_children, self.num_leaves, self.num_nodes = 0, 1, 1

    def is_leaf(self):
        return True

    def _up_to(self, tree, found):
        found.append(tree)

    def _text(self, indent):
        return "*"


PyTreeSpec = TreeSpec
_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The description of one leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The description of a tuple of trees that are described."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The description of a dict of trees that are described."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), list(items.values()))


def treespec_pprint(treespec):
    """A description as text: the tree with ``*`` for leaves."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self):
        return "*"


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Make the tree that a description describes; ValueError when the number of leaves does not fit."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    if not isinstance(leaves, (list, tuple)):
        leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return _put_together(iter(leaves), treespec)


def _put_together(leaves, spec):
    if spec.is_leaf():
        return next(leaves)
    children = [_put_together(leaves, child) for child in spec._children]
    node = SUPPORTED_NODES.get(spec.type) or (STRUCTSEQ if is_structseq_class(spec.type) else None)
    if node is None:
        raise ValueError(f"tree_unflatten: {spec.type} is no longer registered as a container")
    return node.unflatten_fn(children, spec._context)
