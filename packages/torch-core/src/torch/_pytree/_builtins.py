"""Containers of Python and of torch: lists, tuples, mappings, named tuples and sizes."""

import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

from .._C import Size
from ._keys import GetAttrKey, MappingKey
from ._nodes import SUPPORTED_NODES, NodeDef, _by_index, is_namedtuple_class


def _namedtuple_class(text):
    """A named tuple's class by its name, among the modules that are loaded: reading a description imports nothing."""
    module, _, name = text.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    if not is_namedtuple_class(cls):
        raise NotImplementedError(f"treespec_loads: {text} is not a named tuple of a module that is loaded")
    return cls


def _name_of(factory):
    if factory is None:
        return None
    if factory.__module__ != "builtins":
        raise NotImplementedError(f"treespec_dumps: a defaultdict's factory must be a builtin, not {factory!r}")
    return factory.__qualname__


def _builtin(name):
    allowed = {
        "bool": bool,
        "dict": dict,
        "float": float,
        "int": int,
        "list": list,
        "set": set,
        "str": str,
        "tuple": tuple,
    }
    return None if name is None else allowed[name]


def _by_key(mapping):
    return [(MappingKey(k), child) for k, child in mapping.items()]


def _list_flatten(d):
    return d, None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(d):
    return list(d), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values, strict=True))


def _ordereddict_flatten(d):
    return list(d.values()), list(d.keys())


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values, strict=True))


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d.keys())]


def _defaultdict_unflatten(values, context):
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_keys(d):
    return [(GetAttrKey(n), child) for n, child in zip(d._fields, d, strict=True)], type(d)


_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten

SUPPORTED_NODES.update(
    {
        tuple: NodeDef(tuple, _tuple_flatten, _tuple_unflatten, lambda d: (_by_index(d), None), "builtins.tuple"),
        list: NodeDef(list, _list_flatten, _list_unflatten, lambda d: (_by_index(d), None), "builtins.list"),
        dict: NodeDef(dict, _dict_flatten, _dict_unflatten, lambda d: (_by_key(d), list(d)), "builtins.dict"),
        namedtuple: NodeDef(
            namedtuple,
            _namedtuple_flatten,
            _namedtuple_unflatten,
            _namedtuple_keys,
            "collections.namedtuple",
            lambda cls: f"{cls.__module__}.{cls.__qualname__}",
            _namedtuple_class,
        ),
        OrderedDict: NodeDef(
            OrderedDict,
            _ordereddict_flatten,
            _ordereddict_unflatten,
            lambda d: (_by_key(d), list(d)),
            "collections.OrderedDict",
        ),
        defaultdict: NodeDef(
            defaultdict,
            _defaultdict_flatten,
            _defaultdict_unflatten,
            lambda d: (_by_key(d), [d.default_factory, list(d)]),
            "collections.defaultdict",
            lambda context: [_name_of(context[0]), context[1]],
            lambda dumped: [_builtin(dumped[0]), dumped[1]],
        ),
        deque: NodeDef(
            deque, _deque_flatten, _deque_unflatten, lambda d: (_by_index(d), d.maxlen), "collections.deque"
        ),
    }
)
SUPPORTED_NODES[Size] = NodeDef(
    Size, _tuple_flatten, lambda values, _: Size(values), lambda d: (_by_index(d), None), "torch.Size"
)
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
# The pairs of keys and children that classes of containers derived from these have as well.
_list_flatten_with_keys, _tuple_flatten_with_keys, _dict_flatten_with_keys = (
    SUPPORTED_NODES[kind].flatten_with_keys_fn for kind in (list, tuple, dict)
)
_ordereddict_flatten_with_keys, _defaultdict_flatten_with_keys, _deque_flatten_with_keys = (
    SUPPORTED_NODES[kind].flatten_with_keys_fn for kind in (OrderedDict, defaultdict, deque)
)
_namedtuple_flatten_with_keys = _namedtuple_keys
