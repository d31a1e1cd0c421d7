"""Trees of containers: taken apart into their leaves and a description, and put together again.

A container is a class that is registered here with two functions: one gives its children and a context, the other
makes it of them. Everything else is a leaf, None included. torch-utils shows this module as ``torch.utils._pytree``.

>>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
([1, 2, 3], {'a': [10, 20], 'b': (30,)})
"""

from typing import Any, TypeVar

from ._builtins import (  # noqa: F401
    BUILTIN_TYPES,
    _builtin,
    _by_key,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _name_of,
    _namedtuple_class,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_keys,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
)
from ._keys import GetAttrKey, KeyEntry, KeyPath, MappingKey, SequenceKey, key_get, keystr
from ._nodes import (  # noqa: F401
    STRUCTSEQ,
    SUPPORTED_NODES,
    ConstantNode,
    NodeDef,
    _by_index,
    _constant_flatten,
    _deregister_pytree_node,
    _get_node_type,
    _is_namedtuple_instance,
    _node,
    _register_pytree_node,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from ._paths import _generate_key_paths, _paths, tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path  # noqa: F401
from ._spec import (  # noqa: F401
    _LEAF_SPEC,
    LeafSpec,
    PyTreeSpec,
    TreeSpec,
    _put_together,
    tree_unflatten,
    treespec_dict,
    treespec_leaf,
    treespec_pprint,
    treespec_tuple,
)
from ._text import PROTOCOL, _from_json, _to_json, pytree_to_str, str_to_pytree, treespec_dumps, treespec_loads  # noqa: F401
from ._walk import (  # noqa: F401
    _broadcast_to_and_flatten,
    _chooser,
    _is_leaf,
    _take_apart,
    arg_tree_leaves,
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_structure,
)

T, S, U, R = TypeVar("T"), TypeVar("S"), TypeVar("U"), TypeVar("R")
Context = Any
PyTree = Any

# Private names as well: libraries use those of torch.utils._pytree.
__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "PyTreeSpec", "SequenceKey",
    "TreeSpec", "arg_tree_leaves", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "register_constant", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps",
    "treespec_leaf", "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip
