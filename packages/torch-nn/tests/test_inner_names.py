"""Names below torch.nn that libraries read: accessors of members, gradients by example, grouped products, masks."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import BlockMask, create_block_mask
from torch.nn.utils._named_member_accessor import NamedMemberAccessor, swap_submodule, swap_tensor
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
from torch.nn.utils.stateless import _reparametrize_module


def test_a_module_has_other_tensors_for_a_block():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = dict(net.named_parameters())
    with pytest.raises(ZeroDivisionError), _reparametrize_module(net, {"0.weight": torch.zeros(2, 2)}):
        assert net[0].weight.tolist() == [[0, 0], [0, 0]]
        1 / 0
    assert all(p is before[name] for name, p in net.named_parameters())


def test_members_are_swapped_by_their_dotted_names():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2)))
    access = NamedMemberAccessor(net)
    old = access.swap_tensor("1.0.running_mean", torch.ones(2))
    assert old.tolist() == [0, 0] and access.get_tensor("1.0.running_mean").tolist() == [1, 1]
    access.set_tensors(["0.weight", "0.bias"], [torch.zeros(2, 2), torch.ones(2)])
    assert net[0](torch.ones(1, 2)).tolist() == [[1, 1]]
    missing, unexpected = access.check_keys(["0.weight", "nowhere"])
    assert "0.bias" in missing and unexpected == {"nowhere"}
    with pytest.raises(RuntimeError, match="Missing key.*'0.nowhere'"):
        access.swap_tensors_dict({"0.weight": torch.ones(2, 2), "0.nowhere": torch.ones(1)})
    assert access.get_tensor("0.weight").tolist() == [[0, 0], [0, 0]]
    access.del_tensor("0.bias")
    with pytest.raises(AttributeError, match="Linear has no attribute `bias`"):
        access.get_tensor("0.bias")
    linear = net[0]
    assert access.swap_submodule("0", nn.Identity()) is linear and isinstance(access.get_submodule("0"), nn.Identity)
    for wrong, kind in (
        (lambda: swap_tensor(net, "a.b", torch.ones(1)), KeyError),
        (lambda: swap_tensor(net, "", torch.ones(1)), KeyError),
        (lambda: swap_tensor(3, "a", torch.ones(1)), TypeError),
        (lambda: swap_tensor(net, "training", torch.ones(1)), TypeError),
        (lambda: swap_submodule(net, "7", nn.Identity()), AttributeError),
        (lambda: access.set_tensors(["a"], []), ValueError),
    ):
        with pytest.raises(kind):
            wrong()


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_gradients_of_each_example_are_those_of_the_example_alone(reduction):
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), torch.randn(5, 3)
    out = call_for_per_sample_grads(net, loss_reduction=reduction)(x)
    torch.testing.assert_close(out, net(x))
    (out.sum() if reduction == "sum" else out.mean()).backward()
    for i in range(5):
        alone = torch.autograd.grad(net(x[i : i + 1]).sum(), list(net.parameters()))
        for p, want in zip(net.parameters(), alone, strict=True):
            torch.testing.assert_close(p.grad_sample[i], want)
    with pytest.raises(RuntimeError, match="non-None grad_sample"):
        call_for_per_sample_grads(net)
    with pytest.raises(RuntimeError, match="to be sum or mean, got max"):
        call_for_per_sample_grads(net, loss_reduction="max")


def test_grouped_products_are_products_of_the_groups():
    torch.manual_seed(0)
    rows, weights, ends = torch.randn(7, 3), torch.randn(2, 3, 4), torch.tensor([2, 6])
    got = F.grouped_mm(rows, weights, offs=ends)
    assert got[:2].allclose(rows[:2] @ weights[0]) and got[2:6].allclose(rows[2:6] @ weights[1]) and not got[6:].any()
    got = F.grouped_mm(weights.mT, rows.T, offs=ends)
    assert got[:, :2].allclose(weights[0].T @ rows[:2].T) and got.shape == (4, 7) and not got[:, 6:].any()
    got = F.grouped_mm(rows.T, rows, offs=ends, out_dtype=torch.float64)
    assert got.dtype == torch.float64 and got[1].float().allclose(rows[2:6].T @ rows[2:6])
    assert F.grouped_mm(weights, weights.mT).allclose(weights @ weights.mT)
    rows.requires_grad_()
    F.grouped_mm(rows, weights, offs=ends).sum().backward()
    assert rows.grad[0].allclose(weights[0].sum(1)) and not rows.grad[6].any()
    for arguments, text in (
        ((rows, weights), "offs must be given"),
        ((rows, weights, torch.tensor([2])), "end of each of the 2 groups"),
        ((rows, weights, torch.tensor([5, 2])), r"offs must rise from 0 to at most 7, got \[5, 2\]"),
        ((rows, weights, torch.tensor([5, 9])), "at most 7"),
        ((rows, weights.mT, ends), r"got \(7, 3\) and \(2, 4, 3\)"),
        ((rows, weights.double(), ends), "one dtype"),
        ((rows[0], weights, ends), "2 or 3 dims"),
    ):
        with pytest.raises(RuntimeError, match=text):
            F.grouped_mm(*arguments[:2], offs=arguments[2] if len(arguments) > 2 else None)
    with pytest.raises(NotImplementedError, match="float8"):
        F.scaled_mm(rows, rows, None, F.ScalingType.TensorWise, None, F.ScalingType.TensorWise)


def test_block_masks_from_their_columns():
    mask = create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 8, 8, device="cpu", BLOCK_SIZE=4)
    again = BlockMask.from_kv_blocks(
        mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices, 4, mask.mask_mod
    )
    assert again.to_dense().equal(mask.to_dense()) and again.shape == (1, 1, 8, 8)
    assert again.q_num_blocks.tolist() == mask.kv_num_blocks.flip(-1).tolist()  # a triangle seen from its other side
    with pytest.raises(AssertionError, match="both given or both None"):
        BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks)


def test_masks_of_attention_become_additive():
    hidden = torch.tensor([True, False])
    assert F._canonical_mask(hidden, "m", None, "o", torch.float64).tolist() == [-float("inf"), 0]
    floats = torch.ones(2)
    assert (
        F._canonical_mask(floats, "m", None, "o", torch.float32) is floats
        and F._canonical_mask(None, "m", None, "o", None) is None
    )
    with pytest.warns(UserWarning, match="mismatched m and o"):
        F._canonical_mask(hidden, "m", torch.float32, "o", torch.float32)
    with pytest.raises(AssertionError, match="only bool and floating types of m"):
        F._canonical_mask(torch.ones(2, dtype=torch.int64), "m", None, "o", torch.float32)
    assert F._none_or_dtype(floats) == torch.float32 and F._none_or_dtype(None) is None
    assert torch._C._nn._parse_to("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)


def test_lazy_tensors_and_hooks_have_their_names():
    from torch.nn.modules import module
    from torch.nn.parameter import UninitializedTensorMixin

    assert isinstance(nn.LazyLinear(2).weight, UninitializedTensorMixin)
    seen = []
    handle = module.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name))
    assert len(module._global_parameter_registration_hooks) == 1
    nn.Linear(1, 1)
    handle.remove()
    assert seen == ["weight", "bias"] and not module._global_parameter_registration_hooks


@pytest.mark.parametrize(
    "make", [lambda: nn.Linear(2, 3), lambda: nn.Conv2d(1, 2, 3), lambda: nn.LayerNorm(2), lambda: nn.GRU(2, 2)]
)
def test_every_parameter_of_a_layer_passes_register_parameter(make, monkeypatch):
    """Programs that make weights elsewhere (on device meta) put a function of their own in its place."""
    seen, register = [], nn.Module.register_parameter

    def watched(self, name, param):
        register(self, name, param)
        seen.append(name)

    monkeypatch.setattr(nn.Module, "register_parameter", watched)
    assert seen == [name for name, _ in make().named_parameters()]


def test_sequences_are_put_in_another_order_with_a_warning():
    from torch.nn.modules.rnn import apply_permutation

    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    with pytest.warns(FutureWarning, match="index_select"):
        assert apply_permutation(x, torch.tensor([2, 0, 1])).tolist() == [[3, 1, 2], [6, 4, 5]]


def test_settings_of_layers_are_found_by_name():
    norm = nn.BatchNorm2d(3, eps=0.5, affine=False)
    same = nn.BatchNorm2d(**{name: getattr(norm, name) for name in norm.__constants__})
    assert str(same) == str(norm) and nn.Linear.__constants__ == ["in_features", "out_features"]
    assert str(nn.LayerNorm(4, **{k: getattr(nn.LayerNorm(4, 0.5), k) for k in nn.LayerNorm.__constants__[1:]})) == str(
        nn.LayerNorm(4, 0.5)
    )


def test_checks_of_batches_and_masks_are_there_for_layers_of_others():
    F = torch.nn.functional
    assert torch.functional.F is F
    F._verify_batch_size([1, 3, 2])
    with pytest.raises(ValueError, match=r"Expected more than 1 value per channel.*\[1, 3, 1\]"):
        F._verify_batch_size([1, 3, 1])
    F._check_key_padding_mask(torch.zeros(2, 4), 4, 2)
    with pytest.raises(AssertionError, match=r"key_padding_mask of shape \(2, 4\), got \(4, 2\)"):
        F._check_key_padding_mask(torch.zeros(4, 2), 4, 2)
