"""Clipping, vectors of parameters, normalised weights, fusion."""

import pytest
import torch
from torch import nn
from torch.nn import utils


def with_gradient(*values):
    p = nn.Parameter(torch.zeros(len(values)))
    p.grad = torch.tensor(values)
    return p


def test_clip_grad_norm_scales_all_gradients_together():
    a, b = with_gradient(3.0), with_gradient(0.0, 4.0)
    assert utils.clip_grad_norm_([a, b, nn.Parameter(torch.zeros(1))], 1.0).item() == pytest.approx(5.0)
    assert torch.allclose(torch.cat([a.grad, b.grad]), torch.tensor([0.6, 0.0, 0.8]), atol=1e-5)
    assert utils.clip_grad_norm_([a, b], 10.0).item() == pytest.approx(1.0, abs=1e-4)
    assert a.grad.item() == pytest.approx(0.6, abs=1e-5)
    assert utils.clip_grad_norm_(with_gradient(1.0, -7.0), 100.0, "inf").item() == 7.0


def test_clip_grad_norm_may_refuse_what_is_not_finite():
    with pytest.raises(RuntimeError, match=r"total norm of order 2.0 .* is non-finite \(inf\)"):
        utils.clip_grad_norm_(with_gradient(float("inf")), 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    with pytest.warns(FutureWarning, match="clip_grad_norm is now deprecated"):
        utils.clip_grad_norm(with_gradient(1.0), 1.0)


def test_clip_grad_value_clamps():
    p = with_gradient(3.0, -0.5, -9.0)
    utils.clip_grad_value_(p, 1)
    assert p.grad.tolist() == [1.0, -0.5, -1.0]


def test_parameters_to_vector_and_back():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = utils.parameters_to_vector(net.parameters())
    assert vector.shape == (13,)
    utils.vector_to_parameters(torch.arange(13.0), net.parameters())
    assert net[0].weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert net[1].bias.tolist() == [12]
    with pytest.raises(RuntimeError, match="vec has 3 elements, the parameters have 13"):
        utils.vector_to_parameters(torch.zeros(3), net.parameters())
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        utils.vector_to_parameters([1.0], net.parameters())


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_keeps_the_function_and_splits_the_weight(dim):
    layer = nn.Linear(3, 4)
    x = torch.randn(2, 3)
    before, weight = layer(x), layer.weight.detach().clone()
    assert utils.weight_norm(layer, dim=dim) is layer
    assert sorted(layer._parameters) == ["bias", "weight_g", "weight_v"]
    assert torch.allclose(layer(x), before, atol=1e-6)
    layer(x).sum().backward()
    assert layer.weight_g.grad is not None
    with torch.no_grad():
        layer.weight_g.mul_(2)
    assert torch.allclose(layer(x) - layer.bias, 2 * (before - layer.bias), atol=1e-5)
    with pytest.raises(RuntimeError, match="two weight_norm hooks on the same parameter weight"):
        utils.weight_norm(layer)
    utils.remove_weight_norm(layer)
    assert torch.allclose(layer.weight, 2 * weight, atol=1e-6)
    assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(layer)


def test_spectral_norm_finds_the_largest_singular_value():
    torch.manual_seed(0)
    layer = nn.Linear(5, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.diag(torch.tensor([5.0, 2.0, 1.0, 0.5])) @ torch.eye(4, 5))
    utils.spectral_norm(layer, n_power_iterations=30)
    layer(torch.zeros(1, 5))
    assert torch.allclose(layer.weight, layer.weight_orig / 5, atol=1e-4)
    layer(torch.ones(1, 5)).sum().backward()
    assert layer.weight_orig.grad is not None
    utils.remove_spectral_norm(layer)
    assert layer.weight[0, 0].item() == pytest.approx(1.0, abs=1e-4)
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_batch_norm_folds_into_the_layer_before():
    torch.manual_seed(0)
    x = torch.randn(8, 3, 6, 6)
    conv, norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
    norm(conv(x))
    conv.eval(), norm.eval()
    assert torch.allclose(utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5)
    linear, norm = nn.Linear(6, 4), nn.BatchNorm1d(4)
    norm(linear(x[:, 0, 0]))
    linear.eval(), norm.eval()
    assert torch.allclose(utils.fuse_linear_bn_eval(linear, norm)(x[:, 0, 0]), norm(linear(x[:, 0, 0])), atol=1e-5)
    with pytest.raises(AssertionError, match="only for eval"):
        utils.fuse_conv_bn_eval(conv.train(), norm)


def test_spectral_norm_reads_checkpoints_that_hold_the_divided_weight():
    torch.manual_seed(0)
    layer = utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=50)
    x = torch.randn(3, 5)
    layer(x)
    layer.eval()
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    old = {name: state[name] for name in ("bias", "weight_orig", "weight_u")} | {"weight": layer.weight.detach()}
    other = utils.spectral_norm(nn.Linear(5, 4)).eval()
    other.load_state_dict(old)
    torch.testing.assert_close(other(x), layer(x), rtol=1e-4, atol=1e-5)
    assert "weight" in old
    utils.remove_spectral_norm(other)
    assert list(other.state_dict()) == ["bias", "weight"] and not other._load_state_dict_pre_hooks


@pytest.mark.parametrize("learns", [False, True])
def test_a_fused_bias_learns_where_the_bias_did(learns):
    for layer, fuse in (nn.Linear(2, 2), utils.fuse_linear_bn_eval), (nn.Conv1d(2, 2, 1), utils.fuse_conv_bn_eval):
        layer.bias.requires_grad_(learns)
        fused = fuse(layer.eval(), nn.BatchNorm1d(2).eval())
        assert fused.weight.requires_grad and fused.bias.requires_grad is learns
