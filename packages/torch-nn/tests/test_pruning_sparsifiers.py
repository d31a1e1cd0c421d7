"""torch.ao.pruning: sparsifiers and their schedules."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.ao import pruning


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 6)))


def masked(sparsifier, weight):
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.data.copy_(weight)
    sparsifier.prepare(layer, [{"tensor_fqn": "weight"}])
    sparsifier.step()
    return layer.parametrizations.weight[0].mask


def test_two_of_four_elements_vanish_where_they_are_least():
    weight = torch.randn(4, 8)
    mask = masked(pruning.WeightNormSparsifier(1.0, (1, 4), 2), weight)
    fours, kept = weight.abs().reshape(-1, 4), mask.reshape(-1, 4).bool()
    assert kept.sum(1).tolist() == [2] * 8
    for values, keep in zip(fours, kept, strict=True):
        assert values[keep].min() > values[~keep].max()


@pytest.mark.parametrize("norm", [None, 1, torch.square])
@pytest.mark.parametrize("shape", [(4, 8), (5, 7)])
def test_whole_blocks_vanish_by_their_mean_norm(shape, norm):
    weight = torch.randn(*shape)
    mask = masked(pruning.WeightNormSparsifier(0.5, (2, 3), norm=norm), weight)
    means, kept = [], []
    for top in range(0, shape[0], 2):
        for left in range(0, shape[1], 3):
            block = weight[top : top + 2, left : left + 3]
            means.append((block.abs() if norm == 1 else block**2).mean())
            part = mask[top : top + 2, left : left + 3]
            assert part.unique().numel() == 1
            kept.append(bool(part.all()))
    gone = sorted(range(len(means)), key=lambda i: means[i])[: round(0.5 * len(means))]
    assert kept == [i not in gone for i in range(len(means))]


@pytest.mark.parametrize(
    ("level", "zeros", "expected"), [(0.0, None, 32), (1.0, None, 0), (0.5, 0, 32), (0.5, 2, 24), (0.25, 1, 30)]
)
def test_levels_and_zeros_count(level, zeros, expected):
    assert masked(pruning.WeightNormSparsifier(level, (1, 4), zeros), torch.randn(4, 8)).sum() == expected


def test_bad_options_are_named():
    with pytest.raises(NotImplementedError, match="norm must be 1, 2 or a function, got 3"):
        pruning.WeightNormSparsifier(norm=3)
    with pytest.raises(
        ValueError, match="cannot be more than the total number of elements in that block, got 5 for 1 x 4"
    ):
        masked(pruning.WeightNormSparsifier(zeros_per_block=5), torch.ones(4, 4))
    with pytest.raises(ValueError, match="odd number, got 2"):
        masked(pruning.NearlyDiagonalSparsifier(2), torch.ones(4, 4))
    with pytest.raises(AssertionError, match="the model has no tensor 1.weight"):
        pruning.WeightNormSparsifier().prepare(model(), [{"tensor_fqn": "1.weight"}])
    with pytest.raises(AssertionError, match="tensor_fqn is a required argument"):
        pruning.WeightNormSparsifier().prepare(model(), [{"sparsity_level": 1}])
    with pytest.raises(TypeError, match="not an instance of torch.ao.pruning.BaseSparsifier"):
        pruning.LambdaSL(model(), abs)
    with pytest.raises(NotImplementedError, match="a mapping must say"):
        pruning.WeightNormSparsifier().convert(model())


def test_diagonals_stay():
    mask = masked(pruning.NearlyDiagonalSparsifier(3), torch.ones(4, 4))
    assert mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]


def test_masks_train_are_saved_by_the_sparsifier_and_taken_off():
    pytest.importorskip("torch.serialize")
    net, sparsifier = model(), pruning.WeightNormSparsifier()
    sparsifier.prepare(net, None)
    assert [g["tensor_fqn"] for g in sparsifier.groups] == ["0.weight", "2.0.weight"]
    assert not any("mask" in name for name in net.state_dict())
    sparsifier.step()
    net(torch.randn(3, 8)).sum().backward()
    mask = net[0].parametrizations.weight[0].mask
    assert (net[0].parametrizations.weight.original.grad[mask == 0] == 0).all() and mask.sum() == 16

    file = io.BytesIO()
    torch.save(sparsifier.state_dict(), file)
    file.seek(0)
    other, again = model(), pruning.WeightNormSparsifier(sparsity_level=0.1)
    again.prepare(other, None)
    again.load_state_dict(torch.load(file))
    assert torch.equal(other[0].weight, net[0].weight) and again.groups[1]["module"] is other[2][0]
    assert again.groups[0]["sparsity_level"] == 0.5
    again.model = nn.Sequential()
    with pytest.raises(RuntimeError, match="the model has no 0.weight"):
        again.load_state_dict(sparsifier.state_dict())
    assert copy.deepcopy(sparsifier).groups[0]["tensor_fqn"] == "0.weight"
    assert pickle.loads(pickle.dumps(pruning.WeightNormSparsifier(0.3))).defaults["sparsity_level"] == 0.3

    dense = net[0].weight.detach().clone()
    sparsifier.squash_mask(("sparse_block_shape",), {"2.0": ("sparsity_level",)})
    assert type(net[0]) is nn.Linear and torch.equal(net[0].weight, dense)
    assert net[0].sparse_params == {"sparse_block_shape": (1, 4)}
    assert net[2][0].sparse_params == {"sparse_block_shape": (1, 4), "sparsity_level": 0.5}


def test_layers_with_masks_become_others_by_a_mapping():
    class Sparse(nn.Module):
        @classmethod
        def from_dense(cls, layer):
            made = cls()
            made.nonzero = int((layer.weight != 0).sum())
            return made

    net, sparsifier = model(), pruning.WeightNormSparsifier()
    sparsifier.prepare(net, [{"tensor_fqn": "2.0.weight"}])
    sparsifier.step()
    converted = sparsifier.convert(net, {nn.Linear: Sparse})
    assert converted[2][0].nonzero == 12 and type(converted[0]) is nn.Linear and not isinstance(net[2][0], Sparse)


def test_schedules_follow_their_formulas():
    net, sparsifier = model(), pruning.WeightNormSparsifier(sparsity_level=0.8)
    sparsifier.prepare(net, [{"tensor_fqn": "0.weight"}, {"tensor_fqn": "2.0.weight", "sparsity_level": 0.4}])
    schedule = pruning.LambdaSL(sparsifier, [lambda t: t / 4, lambda t: 1])
    seen = []
    for _ in range(4):
        seen.append(schedule.get_last_sl())
        sparsifier.step()
        schedule.step()
    assert seen == [pytest.approx([0.8 * t / 4, 0.4]) for t in range(4)]
    assert schedule.state_dict()["last_epoch"] == 4

    cubic = pruning.CubicSL(
        sparsifier, init_sl=[0.1, 0.0], init_t=2, delta_t=2, total_t=3, initially_zero=[True, False]
    )
    seen = []
    for _ in range(10):
        seen.append(cubic.get_last_sl())
        sparsifier.step()
        cubic.step()
    left = [(1 - min(max((t - 2) / 6, 0), 1)) ** 3 for t in range(10)]
    assert [s[0] for s in seen] == pytest.approx([0 if t < 2 else 0.8 - 0.7 * left[t] for t in range(10)])
    assert [s[1] for s in seen] == pytest.approx([0.4 - 0.4 * left[t] for t in range(10)])


def test_a_schedule_that_steps_before_its_sparsifier_warns():
    sparsifier = pruning.WeightNormSparsifier()
    sparsifier.prepare(model(), None)
    schedule = pruning.LambdaSL(sparsifier, lambda t: 1.0)
    with pytest.warns(UserWarning, match="before sparsifier.step"):
        schedule.step()


def test_tensors_are_found_by_name():
    net = model()
    assert pruning.module_to_fqn(net, net[2][0], "net") == "net.2.0" and pruning.module_to_fqn(net, nn.ReLU()) is None
    assert pruning.fqn_to_module(net, "2.0") is net[2][0] and pruning.fqn_to_module(net, "9") is None
    found = pruning.get_arg_info_from_tensor_fqn(net, "2.0.bias")
    assert found == {"module_fqn": "2.0", "module": net[2][0], "tensor_name": "bias", "tensor_fqn": "2.0.bias"}
