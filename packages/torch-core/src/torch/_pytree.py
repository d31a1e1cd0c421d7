"""Trees of containers: taken apart into their leaves and a description, and put together again.

A container is a class that is registered here with two functions: one gives its children and a context, the other
makes it of them. Everything else is a leaf, None included. torch-utils shows this module as ``torch.utils._pytree``.

>>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
([1, 2, 3], {'a': [10, 20], 'b': (30,)})
"""

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ._C import Size

T, S, U, R = TypeVar("T"), TypeVar("S"), TypeVar("U"), TypeVar("R")
Context = Any
PyTree = Any

# --- keys: the way from a container to a child ---


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


# --- kinds of containers ---


class NodeDef(NamedTuple):
    """How the containers of one class are taken apart and made."""

    type: type
    flatten_fn: Callable  # container -> children, context
    unflatten_fn: Callable  # children, context -> container
    flatten_with_keys_fn: Callable | None = None  # container -> (key, child) pairs, context
    serialized_type_name: str | None = None
    to_dumpable_context: Callable | None = None
    from_dumpable_context: Callable | None = None


SUPPORTED_NODES: dict = {}


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Make a class a container.

    ``flatten_fn(container)`` returns its children and a context, ``unflatten_fn(children, context)`` makes it again.
    The other functions serve :func:`treespec_dumps` and paths of keys. ValueError for a class that is one already.
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node: expected a class, got {cls!r}")
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be given, or neither of them"
        )
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **options):
    """The name of :func:`register_pytree_node` before 2.2; the functions of strings are not used."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    """Make a class a leaf again."""
    del SUPPORTED_NODES[cls]


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Make a dataclass a container of its fields; fields in ``drop_field_names`` take their default again."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass: {cls} is not a dataclass")
    dropped = set(drop_field_names or ())
    known = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in known if n not in dropped] if field_names is None else list(field_names)
    if unknown := sorted((set(names) | dropped) - set(known)):
        raise ValueError(
            f"register_dataclass: {cls.__name__} has no field {', '.join(unknown)}; it has {', '.join(known)}"
        )
    if left := sorted(set(known) - set(names) - dropped):
        raise ValueError(f"register_dataclass: {cls.__name__}: neither kept nor dropped: {', '.join(left)}")

    # Fields that hold None stay in the context, as what is absent.
    def flatten(obj):
        there = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in there], (there, [n for n in names if n not in there])

    def unflatten(children, context):
        there, absent = context
        return cls(**dict(zip(there, children, strict=True)), **dict.fromkeys(absent))

    def with_keys(obj):
        children, context = flatten(obj)
        return [(GetAttrKey(n), c) for n, c in zip(context[0], children, strict=True)], context

    register_pytree_node(
        cls, flatten, unflatten, flatten_with_keys_fn=with_keys, serialized_type_name=serialized_type_name
    )


class ConstantNode(NamedTuple):
    """The context of an object that is registered as a constant."""

    value: Any


def register_constant(cls):
    """Make a class a container without children: its objects are part of the description, compared by ``==``."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"register_constant: {cls} must implement `__eq__`")
    if cls.__hash__ is None:
        raise TypeError(f"register_constant: {cls} must implement `__hash__`")
    register_pytree_node(
        cls, _constant_flatten, lambda _, context: context.value, flatten_with_keys_fn=_constant_flatten
    )


def _constant_flatten(x):
    return [], ConstantNode(x)


def is_constant_class(cls):
    """Whether a class is registered as a constant."""
    return isinstance(cls, type) and cls in SUPPORTED_NODES and SUPPORTED_NODES[cls].flatten_fn is _constant_flatten


def is_namedtuple_class(cls):
    """Whether a class was made by ``namedtuple`` or ``NamedTuple``."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls):
    """Whether a class is one of C's named sequences, as ``torch.return_types`` has them."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )


def is_structseq_instance(obj):
    """Whether an object is one of C's named sequences."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether an object, or a class, is one of C's named sequences."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple_class(kind):
        return namedtuple
    return kind


def _node(tree):
    """How this object is taken apart, or None for a leaf."""
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return SUPPORTED_NODES[namedtuple]
        if is_structseq_class(kind):
            return STRUCTSEQ
    return node


def _by_index(children):
    return [(SequenceKey(i), child) for i, child in enumerate(children)]


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
            lambda text: _namedtuple_class(text),
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
STRUCTSEQ = NodeDef(
    tuple, lambda d: (list(d), type(d)), lambda values, cls: cls(values), lambda d: (_by_index(d), type(d))
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


# --- descriptions ---


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

    def unflatten(self, leaves):
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


# --- taking apart and putting together ---


def _take_apart(tree, leaves, is_leaf):
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    specs = [_take_apart(child, leaves, is_leaf) for child in children]
    return TreeSpec(_get_node_type(tree), context, specs)


def tree_flatten(tree, is_leaf=None):
    """The leaves of a tree from left to right, and its description."""
    leaves = []
    spec = _take_apart(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
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


def tree_iter(tree, is_leaf=None):
    """Iterate over the leaves of a tree."""
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield tree
        return
    for child in node.flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree from left to right."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The description of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
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


def tree_map(func, tree, *rests, is_leaf=None):
    """A tree of what the function makes of each leaf, and of what stands in its place in the other trees.

    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)})
    {'x': 11, 'y': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten([func(*each) for each in zip(*columns, strict=True)])


def tree_map_(func, tree, *rests, is_leaf=None):
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


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """:func:`tree_map` over the leaves of some types only."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """:func:`tree_map_` over the leaves of some types only."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether all leaves meet the predicate."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a leaf meets the predicate."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether all leaves of some types meet the predicate."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a leaf of some types meets the predicate."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_flatten_with_path(tree, is_leaf=None):
    """Pairs of path and leaf, and the description.

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


# --- descriptions as text ---

PROTOCOL = 1


def treespec_dumps(treespec, protocol=None):
    """A description as JSON; NotImplementedError for a class that was registered without a name for it.

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


def _namedtuple_class(text):
    """A named tuple's class by its name, among the modules that are loaded: reading a description imports nothing."""
    import sys

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


def pytree_to_str(treespec):
    """An older name of :func:`treespec_dumps`."""
    return treespec_dumps(treespec)


def str_to_pytree(json):
    """An older name of :func:`treespec_loads`."""
    return treespec_loads(json)


__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "PyTreeSpec", "SequenceKey",
    "TreeSpec", "arg_tree_leaves", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "register_constant", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict", "treespec_dumps",
    "treespec_leaf", "treespec_loads", "treespec_pprint", "treespec_tuple",
]  # fmt: skip
