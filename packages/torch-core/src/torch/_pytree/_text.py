"""Descriptions as JSON."""

import json

from ._nodes import SUPPORTED_NODES
from ._spec import _LEAF_SPEC, TreeSpec

PROTOCOL = 1


def treespec_dumps(treespec, protocol=None):
    """A description as JSON; NotImplementedError for a class that was registered without a name for it.

    >>> from torch._pytree import tree_structure, treespec_dumps, treespec_loads
    >>> spec = tree_structure([1, {"a": 2}])
    >>> treespec_loads(treespec_dumps(spec)) == spec
    True
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps(treespec, protocol): expected a TreeSpec, got {type(treespec)}.")
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps([PROTOCOL, _to_json(treespec)])


def _to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES.get(spec.type)
    if node is None or node.serialized_type_name is None:
        raise NotImplementedError(
            f"treespec_dumps: {spec.type} has no serialized_type_name; give one to register_pytree_node"
        )
    context = node.to_dumpable_context(spec._context) if node.to_dumpable_context else spec._context
    try:
        text = json.dumps(context)
    except TypeError:
        raise TypeError(
            f"treespec_dumps: the context of {spec.type} cannot be written as JSON; give to_dumpable_context to "
            "register_pytree_node"
        ) from None
    return {
        "type": node.serialized_type_name,
        "context": text,
        "children_spec": [_to_json(child) for child in spec._children],
    }


def treespec_loads(serialized):
    """The description that :func:`treespec_dumps` wrote."""
    protocol, stored = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _from_json(stored, {n.serialized_type_name: t for t, n in SUPPORTED_NODES.items() if n.serialized_type_name})


def _from_json(stored, kinds):
    if stored["type"] is None:
        return _LEAF_SPEC
    if stored["type"] not in kinds:
        raise NotImplementedError(f"treespec_loads: {stored['type']!r} is not registered as a container")
    kind = kinds[stored["type"]]
    context = json.loads(stored["context"])
    if restore := SUPPORTED_NODES[kind].from_dumpable_context:
        context = restore(context)
    return TreeSpec(kind, context, [_from_json(child, kinds) for child in stored["children_spec"]])


def pytree_to_str(treespec):
    """An older name of :func:`treespec_dumps`."""
    return treespec_dumps(treespec)


def str_to_pytree(json):
    """An older name of :func:`treespec_loads`."""
    return treespec_loads(json)
