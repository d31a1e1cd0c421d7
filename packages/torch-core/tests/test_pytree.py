import collections
import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import _pytree as pytree


class Point(NamedTuple):
    x: object
    y: object


leaves = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.floats(allow_nan=False))


def containers(children):
    lists = st.lists(children, max_size=3)
    dicts = st.dictionaries(st.text(max_size=2), children, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(deque),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda d: defaultdict(list, d)),
        st.tuples(children, children).map(lambda t: Point(*t)),
    )


trees = st.recursive(leaves, containers, max_leaves=12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees)
def test_a_tree_is_put_together_as_it_was(tree):
    found, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(found, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(found) == len(pytree.tree_leaves(tree))
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(again))
    assert pytree.tree_leaves(tree) == [pytree.key_get(tree, path) for path, _ in pytree.tree_leaves_with_path(tree)]
    assert spec.flatten_up_to(tree) == found


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees)
def test_a_description_survives_json(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees)
def test_a_map_visits_every_leaf_once(tree):
    seen = []
    assert pytree.tree_map_(seen.append, tree) is tree
    assert seen == pytree.tree_leaves(tree)
    assert pytree.tree_leaves(pytree.tree_map(lambda x: (x,), tree), is_leaf=lambda x: x in [(s,) for s in seen]) == [
        (s,) for s in seen
    ]


def test_leaves_stop_where_the_caller_says():
    tree = [1, (2, 3)]
    assert pytree.tree_leaves(tree, is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]
    assert pytree.tree_is_leaf((), is_leaf=lambda x: isinstance(x, tuple))


def test_results_of_operators_and_sizes_are_containers():
    values, spec = pytree.tree_flatten(torch.tensor([1.0, 3.0]).max(0))
    assert [v.item() for v in values] == [3.0, 1] and type(spec.unflatten(values)) is type(torch.ones(1).max(0))
    assert pytree.tree_map(lambda n: n + 1, torch.Size([1, 2])) == torch.Size([2, 3])
    assert pytree.is_structseq(torch.ones(1).max(0)) and not pytree.is_structseq((1,))


def test_a_class_becomes_a_container_and_a_leaf_again():
    class Box:
        def __init__(self, held):
            self.held = held

    pytree.register_pytree_node(Box, lambda b: ([b.held], "ctx"), lambda c, _: Box(*c))
    try:
        assert pytree.tree_map(lambda x: x + 1, Box(1)).held == 2
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Box, None, None)
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            pytree.tree_flatten_with_path(Box(1))
        with pytest.raises(NotImplementedError, match="serialized_type_name"):
            pytree.treespec_dumps(pytree.tree_structure(Box(1)))
        spec = pytree.tree_structure(Box(1))
    finally:
        pytree._deregister_pytree_node(Box)
    assert pytree.tree_is_leaf(Box(1))
    with pytest.raises(ValueError, match="no longer registered"):
        spec.unflatten([1])


def test_dataclasses_and_constants_are_containers_when_registered():
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object = None
        note: str = "n"

    @dataclasses.dataclass(frozen=True)
    class Kind:
        name: str

    pytree.register_dataclass(Pair, drop_field_names=["note"])
    pytree.register_constant(Kind)
    try:
        assert pytree.tree_map(lambda x: x * 2, [Pair(1, 2, "lost"), Kind("k")]) == [Pair(2, 4), Kind("k")]
        assert pytree.tree_leaves(Pair(1)) == [1]
        assert pytree.is_constant_class(Kind) and not pytree.is_constant_class(Pair)
        assert [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path(Pair(1, 2))] == [".a", ".b"]
    finally:
        pytree._deregister_pytree_node(Pair)
        pytree._deregister_pytree_node(Kind)
    with pytest.raises(ValueError, match="has no field z"):
        pytree.register_dataclass(Pair, field_names=["a", "z"])
    with pytest.raises(TypeError, match="not a dataclass"):
        pytree.register_dataclass(int)


def test_maps_over_some_types_leave_the_rest():
    tree = {"a": 1, "b": ["x", 2.5]}
    assert pytree.tree_map_only(int, lambda x: -x, tree) == {"a": -1, "b": ["x", 2.5]}
    assert pytree.tree_map_only((int, float), lambda x: -x, tree) == {"a": -1, "b": ["x", -2.5]}
    assert pytree.tree_map_only(int | float, lambda x: -x, tree) == {"a": -1, "b": ["x", -2.5]}
    assert pytree.tree_map_only(lambda x: x == "x", str.upper, tree) == {"a": 1, "b": ["X", 2.5]}
    assert pytree.tree_all_only(int, lambda x: x == 1, tree) and pytree.tree_any(lambda x: x == "x", tree)


def test_a_shallow_tree_spreads_over_a_deep_description():
    spec = pytree.tree_structure([(1, 2), 3])
    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    assert pytree._broadcast_to_and_flatten([0, 1], spec) == [0, 0, 1]
    assert pytree._broadcast_to_and_flatten([0, 1, 2], spec) is None
    assert pytree._broadcast_to_and_flatten((0, 1), spec) is None


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (
            lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])),
            ValueError,
            "has length 1 .* holds 2 items",
        ),
        (lambda: pytree.tree_unflatten([1], [1]), TypeError, "TreeSpec"),
        (lambda: pytree.tree_map(max, [1, 2], [1]), ValueError, "expected 2 children, but got 1"),
        (lambda: pytree.tree_map(max, [1], (1,)), ValueError, "expected <class 'list'>, but got <class 'tuple'>"),
        (lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}), ValueError, "keys mismatch"),
        (lambda: pytree.tree_map_only("int", max, [1]), TypeError, "expected a type"),
        (lambda: pytree.register_pytree_node(3, None, None), TypeError, "expected a class"),
        (lambda: pytree.treespec_dumps([1]), TypeError, "expected a TreeSpec"),
        (lambda: pytree.treespec_dumps(pytree.treespec_leaf(), 7), ValueError, "Unknown protocol 7"),
        (lambda: pytree.treespec_loads(json.dumps([9, {}])), ValueError, "Unknown protocol 9"),
    ],
)
def test_what_does_not_fit_is_said(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


def test_reading_a_description_imports_nothing_and_finds_no_other_class():
    stored = {"type": "collections.namedtuple", "context": json.dumps("os.path"), "children_spec": []}
    with pytest.raises(NotImplementedError, match="not a named tuple"):
        pytree.treespec_loads(json.dumps([1, stored]))


def test_descriptions_are_printed_as_programs_print_them():
    spec = pytree.tree_structure({"b": [1, None], "a": (2, 3)})
    assert repr(spec) == (
        "TreeSpec(dict, ['b', 'a'], [TreeSpec(list, None, [*,\n    *]),\n  TreeSpec(tuple, None, [*,\n    *])])"
    )
    assert pytree.treespec_pprint(spec) == "{'b': [*, *], 'a': (*, *)}"
    assert pytree.treespec_tuple([pytree.treespec_leaf()]) == pytree.tree_structure((1,))
    assert pytree.treespec_dict(a=pytree.treespec_leaf()) == pytree.tree_structure({"a": 1})
    assert pytree._get_node_type(Point(1, 2)) is collections.namedtuple
