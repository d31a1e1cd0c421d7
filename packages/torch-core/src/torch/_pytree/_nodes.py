"""Kinds of containers: how each is taken apart and made, and the classes that users register."""

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from ._keys import GetAttrKey, SequenceKey


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

    # Fields that hold None stay in the context, as what is absent; the context is a list, as it is read from a file.
    def flatten(obj):
        there = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in there], [there, [n for n in names if n not in there]]

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


def _by_index(children):
    return [(SequenceKey(i), child) for i, child in enumerate(children)]


STRUCTSEQ = NodeDef(
    tuple, lambda d: (list(d), type(d)), lambda values, cls: cls(values), lambda d: (_by_index(d), type(d))
)


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
