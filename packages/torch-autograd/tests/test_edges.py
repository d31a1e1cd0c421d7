"""Edges of the graph in the place of tensors: what they differentiate, and by what."""

import pytest
import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge


def made():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(1))
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(2))
    y = x @ w
    return x, w, y, y.sin()


def test_gradients_are_taken_by_edges_in_place_of_tensors():
    x, w, y, z = made()
    expected = torch.autograd.grad(z.sum(), (x, w, y), retain_graph=True)
    edges = [get_gradient_edge(t) for t in (x, w, y)]
    assert all(map(torch.equal, torch.autograd.grad(z.sum(), edges, retain_graph=True), expected))
    (alone,) = torch.autograd.grad(z.sum(), edges[2], retain_graph=True)
    assert torch.equal(alone, expected[2])
    (pair,) = torch.autograd.grad(z.sum(), [z.grad_fn.next_functions[0]])  # a node and a number are an edge
    assert torch.equal(pair, expected[2])


def test_a_graph_is_run_from_an_edge_without_the_tensor_that_it_belongs_to():
    x, w, y, _ = made()
    g = torch.randn(4, 2, dtype=torch.float64)
    edge = get_gradient_edge(y)
    expected = torch.autograd.grad(y, (x, w), g, retain_graph=True)
    del y
    assert all(map(torch.equal, torch.autograd.grad([edge], (x, w), [g], retain_graph=True), expected))
    torch.autograd.backward(edge, g, inputs=get_gradient_edge(w), retain_graph=True)
    assert x.grad is None
    assert torch.equal(w.grad, expected[1])
    torch.autograd.backward([edge], [g])
    assert torch.equal(x.grad, expected[0])


def test_an_edge_names_one_of_several_outputs():
    x = torch.arange(6.0, requires_grad=True)
    _, second, _ = x.split([1, 2, 3])
    (grad,) = torch.autograd.grad(get_gradient_edge(second), x, torch.tensor([5.0, 7.0]))
    assert grad.tolist() == [0, 5, 7, 0, 0, 0]


def test_of_an_edge_second_derivatives_can_be_taken():
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y = x.sin()
    (first,) = torch.autograd.grad(get_gradient_edge(y), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert torch.allclose(second, -x.sin())


def test_what_is_no_edge_of_the_graph_is_refused():
    x, w, y, z = made()
    edge = get_gradient_edge(y)
    with pytest.raises(IndexError, match=r"grad: the edge names output 3 of MatmulBackward0, which has 1"):
        torch.autograd.grad(z.sum(), [GradientEdge(edge.node, 3)], retain_graph=True)
    with pytest.raises(TypeError, match="expected Tensors or GradientEdges, but element 0 is of type tuple"):
        torch.autograd.grad(z.sum(), [(1, 2)], retain_graph=True)
    with pytest.raises(RuntimeError, match=r"inputs\[0\] is an edge within the graph"):
        torch.autograd.backward(z.sum(), inputs=[edge], retain_graph=True)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(edge, x, torch.ones(3, dtype=torch.float64), retain_graph=True)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        torch.autograd.grad(edge, x, retain_graph=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(x.sum(), edge, materialize_grads=True, retain_graph=True)
    assert torch.autograd.grad(z.sum(), edge, materialize_grads=True, retain_graph=True)[0] is not None
    with pytest.raises(TypeError, match="expected Tensors or None"):
        torch.autograd.grad(z, x, [edge], retain_graph=True)
    assert w.grad is None
