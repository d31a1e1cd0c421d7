"""Texts of programs that are wrong in any way: an error, never a crash."""

import pickle
import random
import re

import pytest
import torch
from torch.jit._ir import Function, _native, parse_ir

PROGRAM = """graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %t : bool = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%three, %two)
  %q : (int, Tensor) = prim::TupleConstruct(%one, %x)
  %a : int, %b : Tensor = prim::TupleUnpack(%q)
  %y : Tensor, %s : int = prim::Loop(%n, %t, %b, %one)
    block0(%i : int, %c : Tensor, %d : int):
      %e : Tensor = aten::add(%c, %i, %one)
      %f : bool = aten::lt(%d, %n)
      %g : int = prim::If(%f)
        block0():
          -> (%d)
        block1():
          %h : int = aten::sub(%d, %one)
          -> (%h)
      -> (%t, %e, %g)
  %z : Tensor = aten::reshape(%y, %l)
  %k : int = aten::__getitem__(%l, %one)
  %form : str = prim::Constant[value="a {} b"]()
  %args : (str, int) = prim::TupleConstruct(%form, %k)
  %text : str = prim::format_list(%args)
  %dict : Dict(str, int) = prim::DictConstruct(%text, %k)
  %keys : str[] = aten::keys(%dict)
  %any : Any = prim::unchecked_cast(%keys)
  %item : Tensor = prim::TupleIndex(%q, %one)
  return (%z, %s, %keys, %any, %item)
"""
KINDS = [
    "prim::ListConstruct",
    "prim::TupleConstruct",
    "prim::TupleUnpack",
    "prim::Loop",
    "prim::If",
    "prim::DictConstruct",
    "prim::TupleIndex",
    "prim::GetAttr",
    "prim::SetAttr",
    "prim::unchecked_cast",
    "prim::Print",
    "prim::RaiseException",
    "prim::ListUnpack",
    "prim::CallMethod",
    "prim::CallFunction",
    "prim::isinstance",
    "prim::CreateObject",
    "prim::Uninitialized",
    "prim::fork",
    "prim::PythonOp",
    "prim::TupleSlice",
    "aten::wait",
    "aten::add",
    "aten::__getitem__",
    "aten::append",
    "aten::mul",
    "aten::cat",
    "aten::view",
    "aten::select",
    "aten::slice",
]
TYPES = [
    "int",
    "Tensor",
    "int[]",
    "str",
    "bool",
    "Any",
    "(int, Tensor)",
    "Dict(str, int)",
    "float",
    "Tensor?",
    "NoneType",
]


def changed(text, draw):
    """The text with one change: another operator, value or type, a line less, a character off."""
    kind = draw.random()
    if kind < 0.75:
        pattern, words = draw.choice(
            [(r"(prim|aten)::\w+", KINDS), (r"%\w+", re.findall(r"%\w+", text)), (r"(?<= : )[^,=\n)]+", TYPES)]
        )
        found = draw.choice(list(re.finditer(pattern, text)) or [None])
        return text if found is None else text[: found.start()] + draw.choice(words) + text[found.end() :]
    if kind < 0.9:
        lines = text.split("\n")
        del lines[draw.randrange(len(lines))]
        return "\n".join(lines)
    at = draw.randrange(len(text))
    return text[:at] + draw.choice('()%:[],0-"') + text[at + draw.randint(0, 2) :]


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_program_runs_or_raises(seed, capsys):
    draw = random.Random(seed)
    ran = 0
    for _ in range(300):
        text = PROGRAM
        for _ in range(draw.randint(1, 3)):
            text = changed(text, draw)
        try:
            graph = parse_ir(text)
            Function("f", graph)(torch.ones(2, 3), draw.choice([0, 1, 3]))
        except (
            RuntimeError,
            ValueError,
            TypeError,
            IndexError,
            KeyError,
            NotImplementedError,
            OverflowError,
            ArithmeticError,
        ):
            continue
        ran += 1
        _native.fold_constants(graph)
        _native.eliminate_common_subexpressions(graph)
        graph.lint()
    assert 0 < ran < 300


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("= prim::ListConstruct(%x)", "gives 1 outputs, not 0"),
        ("%r : Tensor = prim::TupleIndex(%x)", "takes 2 inputs, not 1"),
        ("%r : Tensor = prim::CallFunction()", "takes what it calls"),
        ("%r : Tensor = prim::unchecked_cast()", "takes 1 inputs, not 0"),
        ("%r : bool = prim::isinstance[types=3](%x)", "must be a tuple of types"),
        ("%r : Tensor = prim::fork(%x)", "without a graph"),
        ("%r : Tensor = prim::Nonsense(%x)", "no operator fits"),
        ('%r : Tensor = prim::GetAttr[name="a"](%x)', "has no attributes"),
        ("%r : Tensor = prim::If(%x)", "must have 2 blocks"),
    ],
)
def test_a_node_that_is_not_as_its_kind_is_named(node, message):
    f = Function("f", parse_ir(f"graph(%x : Tensor):\n  {node}\n  return (%x)"))
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        f(torch.ones(1))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_object_of_a_program_is_pickled_by_any_protocol(protocol):
    graph = parse_ir(PROGRAM)
    node = next(iter(graph.nodes()))
    for each in (graph, node, graph.block(), node.output(), node.output().type()):
        with pytest.raises(TypeError, match="cannot pickle 'torch.jit._native"):
            pickle.dumps(each, protocol)


def test_a_graph_made_by_new_alone_has_nothing_that_a_method_could_read():
    graph = type(parse_ir(PROGRAM)).__new__(type(parse_ir(PROGRAM)))
    for method in (graph.nodes, graph.copy, graph.block, graph.lint, graph.__str__):
        with pytest.raises((TypeError, RuntimeError), match="made by __new__ alone|non-held"):
            method()


def test_none_is_no_node_value_or_type():
    graph = parse_ir(PROGRAM)
    node = next(iter(graph.nodes()))
    value = node.output()
    calls = [
        lambda: value.replaceAllUsesWith(None),
        lambda: value.setType(None),
        lambda: node.replaceInputWith(value, None),
        lambda: graph.prependNode(None),
        lambda: graph.block().appendNode(None),
        lambda: graph.inlineCall(graph, [None]),
        lambda: _native.list_type(None),
        lambda: _native.dict_type(None, None),
    ]
    before = str(graph)
    for call in calls:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()
    assert str(graph) == before


def test_a_node_that_ends_a_block_stays_and_none_goes_into_its_own_block():
    graph = parse_ir(PROGRAM)
    before = str(graph)
    first, loop = next(iter(graph.nodes())), graph.findNode("prim::Loop")
    inner = next(iter(next(iter(loop.blocks())).nodes()))
    for end in (graph.param_node(), graph.return_node()):
        with pytest.raises(RuntimeError, match="begins or ends a block"):
            end.moveBefore(first)
        with pytest.raises(RuntimeError, match="begins or ends a block"):
            end.moveAfter(first)
        with pytest.raises(RuntimeError, match="begins or ends a block"):
            end.destroy()
    with pytest.raises(RuntimeError, match="prim::Loop: the node cannot go into a block of its own"):
        loop.moveBefore(inner)
    with pytest.raises(RuntimeError, match="no place after that node"):
        first.moveAfter(graph.return_node())
    with pytest.raises(RuntimeError, match="no place before that node"):
        first.moveBefore(parse_ir(PROGRAM).return_node())
    assert str(graph) == before


def test_a_function_without_a_graph_says_so():
    f = _native.Function("__torch__.f", None)
    for ask in (lambda: f.schema, lambda: f.inlined_graph, lambda: f(torch.ones(2)), lambda: f(x=1), f.describe):
        with pytest.raises(RuntimeError, match=r"f\(\) has no graph"):
            ask()
