"""Bags of embeddings, and places of triangles."""

import pytest
import torch
from agreement import agree, run
from torch import nn

IDS, OFFSETS = torch.tensor([1, 4, 2, 0, 4, 3, 2]), torch.tensor([0, 2, 2, 5])
OTHERS = torch.tensor([0, 0, 0, 1, 2, 3, 4]), torch.tensor([0, 1, 3, 6])


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 4}, {"include_last_offset": True}], ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_that_begin_at_offsets(mode, options, opset):
    torch.manual_seed(0)
    model = nn.EmbeddingBag(5, 3, mode=mode, **options)
    agree(model, IDS, OFFSETS, others=[OTHERS, (IDS, torch.tensor([0, 0, 7, 7]))], opset_version=opset)


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_a_row_that_is_not_finite_stays_in_its_bag(padding, mode, opset):
    model = nn.EmbeddingBag(5, 3, mode=mode, padding_idx=padding)
    with torch.no_grad():
        model.weight[1] = torch.tensor([float("inf"), 1.0, float("inf" if mode == "max" else "nan")])
    agree(model, IDS, OFFSETS, others=[OTHERS], opset_version=opset)


def test_bags_whose_number_and_length_may_change():
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(5, 3, mode="sum")

        def forward(self, ids, offsets, weights):
            return self.bag(ids, offsets, per_sample_weights=weights)

    more = torch.tensor([3, 1]), torch.tensor([0, 1, 1, 2, 2]), torch.rand(2)
    n, bags = torch.export.Dim("n", max=99), torch.export.Dim("bags", max=99)
    agree(Weighted(), IDS, OFFSETS, torch.rand(7), others=[more], dynamic_shapes=({0: n}, {0: bags}, {0: n}))


def test_a_script_of_bags():
    module = nn.EmbeddingBag(5, 3).eval()
    proto = torch.onnx.export(
        torch.jit.script(module), (IDS, OFFSETS), dynamic_axes={"input": {0: "n"}}, opset_version=18
    ).model_proto
    (found,) = run(proto, *OTHERS)
    assert torch.allclose(torch.tensor(found), module(*OTHERS))


def test_a_trace_takes_the_places_of_a_triangle():
    class Pairs(nn.Module):
        def forward(self, x):
            i, j = torch.triu_indices(3, 3, 1)
            k, n = torch.tril_indices(3, 3)
            return x[:, i, j], x[:, k, n]

    agree(Pairs(), torch.rand(2, 3, 3), others=[(torch.rand(2, 3, 3),)], dynamo=False)
