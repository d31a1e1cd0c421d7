"""torch.onnx.load of operators on sequences of tensors, as onnxruntime runs them."""

import numpy
import pytest
import torch
from agreement import run
from onnx import helper, numpy_helper

node = helper.make_node


def value(name, shape=None, kind=1):
    return helper.make_tensor_value_info(name, kind, shape)


def sequence(name):
    return helper.make_tensor_sequence_value_info(name, 1, None)


def model(nodes, outputs, numbers=(), lists=()):
    """A model of x, and of numbers as tensors of int64; the outputs in `lists` are sequences."""
    stored = [numpy_helper.from_array(numpy.int64(number), name) for name, number in dict(numbers).items()]
    given = [sequence(o) if o in lists else value(o, kind=7 if o == "n" else 1) for o in outputs]
    graph = helper.make_graph(nodes, "g", [value("x", ["a", "b"])], given, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def same(proto, *args):
    """What the loaded module gives, after it has been compared with onnxruntime."""
    found, wanted = torch.onnx.load(proto)(*args), run(proto, *args)
    for x, y in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        pairs = zip(x, y, strict=True) if isinstance(y, list) else [(x, y)]
        for mine, theirs in pairs:
            torch.testing.assert_close(mine.detach(), torch.as_tensor(theirs))
    return found


X = torch.arange(6.0).reshape(3, 2)


# onnxruntime applies keepdims to sizes too, which the specification excludes, and fails for unequal ones
@pytest.mark.parametrize("sizes, keepdims", [({}, 1), ({}, 0), ({"sizes": 2}, 1), ({"sizes": [1, 2]}, 1)])
def test_split_at_and_length(sizes, keepdims):
    nodes = [
        node("SplitToSequence", ["x", *sizes], ["s"], axis=0, keepdims=keepdims),
        node("SequenceAt", ["s", "last"], ["y"]),
        node("SequenceLength", ["s"], ["n"]),
    ]
    found = same(model(nodes, ["y", "n", "s"], {"last": -1, **sizes}, ["s"]), X)
    assert int(found[1]) == (3 if not sizes else 2)


@pytest.mark.parametrize("place", [None, 0, 1, 2, -1, -2])
def test_insert_before_a_position_and_erase(place):
    where = [] if place is None else ["place"]
    nodes = [
        node("Neg", ["x"], ["m"]),
        node("SequenceConstruct", ["x", "m"], ["s"]),
        node("Exp", ["x"], ["e"]),
        node("SequenceInsert", ["s", "e", *where], ["t"]),
        node("SequenceErase", ["t", *where], ["u"]),
    ]
    found = same(model(nodes, ["s", "t", "u"], {} if place is None else {"place": place}, ["s", "t", "u"]), X)
    assert [len(items) for items in found] == [2, 3, 2]


@pytest.mark.parametrize("new_axis, axis", [(0, 0), (0, 1), (1, 0), (1, 2), (1, -1)])
def test_sequences_put_together_and_their_gradient(new_axis, axis):
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("SequenceInsert", ["none", "x"], ["one"]),
        node("Mul", ["x", "x"], ["square"]),
        node("SequenceInsert", ["one", "square"], ["two"]),
        node("ConcatFromSequence", ["two"], ["y"], axis=axis, new_axis=new_axis),
    ]
    proto = model(nodes, ["y"])
    same(proto, X)
    x = X.clone().requires_grad_()
    torch.onnx.load(proto)(x).sum().backward()
    torch.testing.assert_close(x.grad, 1 + 2 * X)


def growing():
    """The sequence of x, 2 x, ..., 2 ** turns x, grown in a loop."""
    body = helper.make_graph(
        [node("Add", ["a", "a"], ["b"]), node("SequenceInsert", ["s", "b"], ["t"]), node("Identity", ["goes"], ["going"])],
        "body",
        [value("i", [], 7), value("goes", [], 9), value("a"), sequence("s")],
        [value("going", [], 9), value("b"), sequence("t")],
    )  # fmt: skip
    return [
        node("SequenceConstruct", ["x"], ["first"]),
        node("Loop", ["turns", "", "x", "first"], ["last", "all"], body=body),
        node("ConcatFromSequence", ["all"], ["y"], axis=0),
    ]


def test_a_sequence_grows_in_a_loop_and_gradients_pass():
    proto = model(growing(), ["y", "all"], {"turns": 3}, ["all"])
    y, items = same(proto, X)
    assert len(items) == 4
    torch.testing.assert_close(y, torch.cat([X, 2 * X, 4 * X, 8 * X]))
    x = X.clone().requires_grad_()
    torch.onnx.load(proto)(x)[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(X, 15))


@pytest.mark.parametrize(
    "kind, inputs, text",
    [("SequenceAt", ["s", "two"], "SequenceAt: position 2 in a sequence of 2"),
     ("SequenceErase", ["s", "two"], "SequenceErase: position 2 in a sequence of 2"),
     ("SequenceInsert", ["s", "x", "far"], "SequenceInsert: position -3 in a sequence of 2"),
     ("SequenceErase", ["none"], "SequenceErase: the sequence is empty"),
     ("ConcatFromSequence", ["none"], "ConcatFromSequence: the sequence is empty")],
)  # fmt: skip
def test_positions_outside_of_a_sequence(kind, inputs, text):
    options = {"axis": 0} if kind == "ConcatFromSequence" else {}
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("SequenceConstruct", ["x", "x"], ["s"]),
        node(kind, inputs, ["y"], **options),
    ]
    module = torch.onnx.load(model(nodes, ["y"], {"two": 2, "far": -3}))
    with pytest.raises((IndexError, RuntimeError), match=text):
        module(X)


def test_a_sequence_may_not_stand_where_a_tensor_is_needed():
    nodes = [node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["x", "zero"], ["y"])]
    with pytest.raises(TypeError, match="SequenceAt: expected a sequence, got Tensor"):
        torch.onnx.load(model(nodes, ["y"], {"zero": 0}))(X)
