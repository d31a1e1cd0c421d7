"""Layers on nested tensors do to each row what they do to a tensor."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

LAYOUTS = pytest.mark.parametrize("layout", [torch.jagged, torch.strided], ids=["jagged", "strided"])


def rows():
    return [torch.randn(2, 8), torch.randn(5, 8)]


@LAYOUTS
@pytest.mark.parametrize(
    "layer", [nn.Linear(8, 3), nn.LayerNorm(8), nn.GELU(), nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Softmax(-1))]
)
def test_layers_go_row_by_row(layer, layout):
    items = rows()
    for made, item in zip(layer(torch.nested.nested_tensor(items, layout=layout)).unbind(), items, strict=True):
        assert torch.allclose(made, layer(item), atol=1e-6)


def test_an_embedding_of_nested_indices():
    table = nn.Embedding(5, 2)
    words = torch.nested.nested_tensor([[1, 2, 3], [4]], layout=torch.jagged)
    found = table(words)
    assert found.shape == (2, words.size(1), 2) and torch.equal(found[1], table.weight[4:])


@LAYOUTS
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_of_each_row_to_itself_with_gradients(layout, is_causal):
    items = rows()
    leaves = [t.clone().requires_grad_() for t in items]
    x = torch.nested.as_nested_tensor(leaves, layout=layout)
    q = x.unflatten(-1, (2, 4)).transpose(1, 2)
    made = F.scaled_dot_product_attention(q, q, q, is_causal=is_causal).transpose(1, 2)
    made.to_padded_tensor(0.0).square().sum().backward()
    for got, leaf, item in zip(made.unbind(), leaves, items, strict=True):
        alone = item.clone().requires_grad_()
        q = alone.unflatten(-1, (2, 4)).transpose(0, 1)
        expected = F.scaled_dot_product_attention(q, q, q, is_causal=is_causal).transpose(0, 1)
        expected.square().sum().backward()
        assert torch.allclose(got, expected, atol=1e-6) and torch.allclose(leaf.grad, alone.grad, atol=1e-5)


def test_weights_learn_from_nested_inputs():
    layer, x = nn.Linear(8, 1), torch.nested.nested_tensor(rows(), layout=torch.jagged)
    layer(x).mean(1).sum().backward()
    expected = sum(t.mean(0) for t in x.unbind())
    assert torch.allclose(layer.weight.grad[0], expected, atol=1e-6)


def test_a_nested_tensor_is_no_weight():
    with pytest.raises(NotImplementedError, match="not weights"):
        nn.Parameter(torch.nested.nested_tensor(rows()))


def test_attention_refuses_a_mask():
    q = torch.nested.nested_tensor([torch.ones(1, 2, 4)], layout=torch.jagged).transpose(1, 2)
    with pytest.raises(RuntimeError, match="attn_mask"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(2, 2))
