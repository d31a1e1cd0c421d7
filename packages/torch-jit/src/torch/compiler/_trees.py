"""The functions of ``torch.utils._pytree`` while a program is captured: what they walk over is theirs, and what they call
with each leaf is watched.
"""

from __future__ import annotations

from collections import namedtuple

import torch
from torch import _pytree

from ._tables import DICTS

#: Whose contents are guarded where they come from outside; of other classes nothing is known here.
_CONTAINERS = (list, tuple, namedtuple, dict, *DICTS)


def _taken_apart(observer, tree, is_leaf):
    if is_leaf is not None:
        observer.stop("a tree is walked over with is_leaf=")
    leaves, spec = observer.trust(_pytree.tree_flatten, (tree, is_leaf), {})
    if strange := _strange(spec):
        observer.stop(f"a tree with a {strange.__qualname__} is walked over")
    elif any(isinstance(x, torch.Tensor) and not observer.tracer.has_value(x) for x in leaves):
        observer.stop("a tree has a tensor that is not recorded")
    return leaves, spec


def _strange(spec):
    """The first class of containers in a description whose contents are not guarded."""
    if spec.is_leaf():
        return None
    if spec.type not in _CONTAINERS:
        return spec.type
    return next(filter(None, map(_strange, spec.children())), None)


def _flatten(observer, tree, is_leaf=None):
    return _taken_apart(observer, tree, is_leaf)


def _leaves(observer, tree, is_leaf=None):
    return _taken_apart(observer, tree, is_leaf)[0]


def _unflatten(observer, leaves, treespec):
    return observer.trust(_pytree.tree_unflatten, (leaves, treespec), {})


def _map(observer, func, tree, *rests, is_leaf=None):
    leaves, spec = _taken_apart(observer, tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        _taken_apart(observer, rest, None)
        columns.append(observer.trust(spec.flatten_up_to, (rest,), {}))
    found = [observer.apply(func, *each) for each in zip(*columns, strict=True)]
    return _unflatten(observer, found, spec)


def _map_(observer, func, tree, *rests, is_leaf=None):
    _map(observer, func, tree, *rests, is_leaf=is_leaf)
    return tree


def _map_only(observer, kinds, /, func, tree, is_leaf=None):
    if not isinstance(kinds, (type, tuple)):
        observer.stop("tree_map_only with a predicate is called")
        return _pytree.tree_map_only(kinds, func, tree, is_leaf)
    leaves, spec = _taken_apart(observer, tree, is_leaf)
    found = [observer.apply(func, x) if isinstance(x, kinds) else x for x in leaves]
    return _unflatten(observer, found, spec)


def _special(how):
    return lambda observer, args, kwargs: how(observer, *args, **kwargs)


#: function: how(observer, args, kwargs)
TREES = {
    _pytree.tree_flatten: _special(_flatten), _pytree.tree_leaves: _special(_leaves), _pytree.tree_unflatten: _special(_unflatten),
    _pytree.tree_map: _special(_map), _pytree.tree_map_: _special(_map_), _pytree.tree_map_only: _special(_map_only),
    _pytree.TreeSpec.unflatten: lambda observer, args, kwargs: _unflatten(observer, args[1], args[0]),
}  # fmt: skip
