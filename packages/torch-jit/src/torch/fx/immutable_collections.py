"""Lists and dicts that refuse changes: the arguments of a node hold these, so that a node always knows its inputs."""

from torch import _pytree as pytree

__all__ = ["immutable_list", "immutable_dict"]

_WAY_OUT = (
    "arguments of a node cannot be changed in place; assign a changed copy: node.args = (...) or node.kwargs = {...}"
)


def _refusing(base, names):
    def refuse(name):
        def method(self, *args, **kwargs):
            raise TypeError(f"{type(self).__name__} does not support {name}: {_WAY_OUT}")

        method.__name__ = name
        return method

    return {name: refuse(name) for name in names if hasattr(base, name)}


class immutable_list(list):
    """A list that cannot be changed.

    >>> immutable_list([1, 2]) == [1, 2]
    True
    """

    locals().update(
        _refusing(
            list,
            (
                "__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop",
                "remove", "reverse", "sort",
            ),
        )
    )  # fmt: skip

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (list(self),)


class immutable_dict(dict):
    """A dict that cannot be changed."""

    locals().update(
        _refusing(dict, ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"))
    )

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (dict(self),)


pytree.register_pytree_node(
    immutable_list,
    lambda values: (list(values), None),
    lambda values, context: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda values: ([(pytree.SequenceKey(i), v) for i, v in enumerate(values)], None),
)
pytree.register_pytree_node(
    immutable_dict,
    lambda values: (list(values.values()), list(values)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda values: ([(pytree.MappingKey(k), v) for k, v in values.items()], list(values)),
)
