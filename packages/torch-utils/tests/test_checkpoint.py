"""Parts that run again for their backward pass."""

import pytest
import torch

pytest.importorskip("torch.autograd", exc_type=ImportError)

from torch.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

WAYS = [{"use_reentrant": False}, {"use_reentrant": True}]


def leaf():
    return torch.tensor([0.5, 1.5, -2.0], requires_grad=True)


def gradient(f, **kwargs):
    x = leaf()
    f(x, **kwargs).sum().backward()
    return x.grad.tolist()


def deep(x):
    return (x.exp() * x.sin()).tanh() * x


@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_those_of_the_part_itself(way):
    assert gradient(lambda x: checkpoint(deep, x, **way)) == pytest.approx(gradient(deep))


def test_intermediate_results_are_not_kept_and_made_once_more():
    runs = []

    def part(x):
        runs.append(torch.is_grad_enabled())
        return deep(x)

    x = leaf()
    y = checkpoint(part, x)
    assert runs == [True]
    y.sum().backward()
    assert runs == [True, True]


def test_a_retained_graph_runs_again_each_time():
    x = leaf()
    y = checkpoint(deep, x).sum()
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    y.backward()
    assert x.grad.tolist() == pytest.approx([2 * g for g in first])


def test_parts_may_lie_in_each_other_and_take_keywords():
    def outer(x, scale):
        return checkpoint(lambda y: deep(y) * scale, x.exp())

    expected = gradient(lambda x: deep(x.exp()) * 3)
    assert gradient(lambda x: checkpoint(outer, x, scale=3)) == pytest.approx(expected)


@pytest.mark.parametrize("way", WAYS)
def test_random_numbers_are_drawn_again(way):
    def part(x):
        return x * torch.rand(3) * x

    torch.manual_seed(5)
    expected = gradient(part)
    after = torch.rand(1).item()
    torch.manual_seed(5)
    assert gradient(lambda x: checkpoint(part, x, **way)) == pytest.approx(expected)
    assert torch.rand(1).item() == after


def test_captured_tensors_get_their_gradients():
    weight = torch.tensor(2.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0])
    checkpoint(lambda x: (x * weight).exp(), x).sum().backward()
    assert weight.grad.item() == pytest.approx((torch.tensor([1.0, 2.0]) * (x * 2).exp()).sum().item())


def test_a_part_that_does_something_else_is_an_error():
    runs = []

    def changing(x):
        runs.append(0)
        return x.exp().sin() if len(runs) == 1 else x.exp()

    with pytest.raises(CheckpointError, match="at first, and"):
        checkpoint(changing, leaf()).sum().backward()
    runs.clear()

    def reshaping(x):
        runs.append(0)
        return (x if len(runs) == 1 else torch.cat([x, x])).exp().sum()

    with pytest.raises(CheckpointError, match=r"was \(3,\) torch.float32 on cpu at first and is \(6,\)"):
        checkpoint(reshaping, leaf()).backward()


def test_the_second_run_ends_early_unless_told_otherwise():
    seen = []

    def part(x):
        y = x.exp()
        seen.append("behind what is saved")
        return y + 1

    for early, count in ((True, 1), (False, 2)):
        seen.clear()
        with set_checkpoint_early_stop(early):
            checkpoint(part, leaf()).sum().backward()
        assert len(seen) == count


def test_sequences_are_cut_into_segments():
    parts = [torch.exp, torch.sin, torch.tanh, torch.cos]
    expected = gradient(lambda x: x.exp().sin().tanh().cos())
    for segments in (1, 2, 3, 4):
        assert gradient(lambda x, n=segments: checkpoint_sequential(parts, n, x)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="4 modules cannot make 5 segments"):
        checkpoint_sequential(parts, 5, leaf())


def test_without_gradients_it_just_runs():
    with torch.no_grad():
        assert not checkpoint(deep, leaf()).requires_grad


def test_wrong_arguments_are_explained():
    with pytest.raises(ValueError, match="no keyword arguments; got scale"):
        checkpoint(deep, leaf(), use_reentrant=True, scale=1)
    with pytest.raises(ValueError, match="'default' or 'none'"):
        checkpoint(deep, leaf(), determinism_check="maybe")
    with pytest.warns(UserWarning, match="nothing gets a gradient"):
        checkpoint(deep, torch.ones(2), use_reentrant=True)


def selective(policy, function, *args, **options):
    """The gradients, and the products that ran in each of the two runs."""
    from functools import partial

    from torch.utils.checkpoint import create_selective_checkpoint_contexts
    from torch.utils.flop_counter import FlopCounterMode

    leaves = [a.detach().clone().requires_grad_() for a in args]
    contexts = partial(create_selective_checkpoint_contexts, policy, **options)
    result = checkpoint(function, *leaves, use_reentrant=False, context_fn=contexts)
    with FlopCounterMode(display=False) as counter:
        result.sum().backward()
    plain = [a.detach().clone().requires_grad_() for a in args]
    function(*plain).sum().backward()
    for ours, theirs in zip(leaves, plain):
        assert torch.allclose(ours.grad, theirs.grad)
    return counter.get_total_flops()


def two_products(a, b):
    return a.mm(b).sin().mm(b).cos()


def test_results_that_a_policy_keeps_are_not_computed_again():
    from torch.utils.checkpoint import CheckpointPolicy

    a, b = torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    one = 2 * 3**3
    backward = 4 * one
    assert selective([], two_products, a, b) == backward + 2 * one
    assert selective([torch.mm], two_products, a, b) == backward
    assert selective(["bmm"], two_products, a, b) == backward + 2 * one
    seen = []

    def policy(ctx, op, *args):
        seen.append((ctx.is_recompute, op, len(args)))
        return CheckpointPolicy.MUST_SAVE if len(seen) % 2 else CheckpointPolicy.PREFER_RECOMPUTE

    assert selective(policy, two_products, a, b) == backward + one
    assert seen == [(False, torch.mm, 2)] * 2 + [(True, torch.mm, 2)] * 2


def test_selective_checkpoints_work_in_modules():
    nn = pytest.importorskip("torch.nn")
    net = nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 4, 2))
    x = torch.randn(2, 2, 6)
    backward = selective(["linear", "convolution"], net, x)
    conv = 2 * 2 * 4 * 3 * 2 * 3
    assert selective([], net, x) == backward + conv  # the last product is not needed: the second run ends before it


def test_a_kept_result_that_was_changed_is_refused():
    def part(a, b):
        product = a.mm(b)
        result = product.sin()
        with torch.no_grad():
            product.add_(1)
        return result * 2

    a, b = torch.randn(2, 2), torch.randn(2, 2)
    with pytest.raises(CheckpointError, match="the kept result of mm was changed in place"):
        selective([torch.mm], part, a, b)


def test_a_policy_that_changes_its_mind_is_told():
    with pytest.raises(CheckpointError, match="keeps mm when the part runs again, where at first it kept none"):
        selective(lambda ctx, op, *args: ctx.is_recompute, two_products, torch.randn(2, 2), torch.randn(2, 2))
    with pytest.raises(TypeError, match="a policy gives a CheckpointPolicy or a bool, got str for mm"):
        selective(lambda ctx, op, *args: "yes", two_products, torch.randn(2, 2), torch.randn(2, 2))
    with pytest.raises(TypeError, match="expected a function or a list, got int"):
        selective(3, two_products, torch.randn(2, 2), torch.randn(2, 2))


def test_a_list_of_what_is_kept_holds_functions():
    from torch.utils.checkpoint import create_selective_checkpoint_contexts

    with pytest.raises(TypeError, match=r"a list holds functions of torch or their names, got \[3\]"):
        create_selective_checkpoint_contexts([3])


def test_states_of_devices_are_those_of_the_arguments():
    from torch.utils.checkpoint import DefaultDeviceType, get_device_states, set_device_states

    assert get_device_states(torch.ones(1), [3, {"x": torch.ones(2)}], "s") == ([], [])
    set_device_states([], [])
    with pytest.raises(ValueError, match="set_device_states: 1 devices and 0 states"):
        set_device_states([0], [])
    DefaultDeviceType.set_device_type("cpu")
    assert DefaultDeviceType.get_device_type() == "cpu"
    with pytest.raises(NotImplementedError, match="'cuda' waits for torch-core-cuda"):
        DefaultDeviceType.set_device_type("cuda")


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("parts", [2, 3])
def test_parts_one_after_the_other_give_gradients_to_all(way, parts):
    weights = [torch.linspace(0.5, 1, 9).view(3, 3).requires_grad_() for _ in range(parts)]
    start = torch.tensor([[0.5, 1, 2]], requires_grad=True)
    x = plain = start
    for w in weights:
        x = checkpoint(lambda t, w=w: (t @ w).sin(), x, **way)
        plain = (plain @ w).sin()
    leaves = [start, *weights]
    expected = torch.autograd.grad(plain.sum(), leaves)
    x.sum().backward()
    for leaf, grad in zip(leaves, expected):
        torch.testing.assert_close(leaf.grad, grad)


def test_the_reentrant_way_refuses_passes_for_chosen_inputs():
    layer, x = torch.nn.Linear(2, 2), torch.ones(2, requires_grad=True)
    part = checkpoint(layer, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        torch.autograd.grad(part, x, retain_graph=True)
    with pytest.raises(RuntimeError, match="give it use_reentrant=False"):
        part.backward(inputs=[x], retain_graph=True)
    assert layer.weight.grad is None
    part.backward()
    assert layer.weight.grad is not None


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("forward, backward", [(True, False), (False, True), (True, True)])
def test_the_second_run_is_under_the_autocast_of_the_first(use_reentrant, forward, backward):
    seen = []

    def part(x):
        y = x @ weight
        seen.append(y.dtype)
        return y.tanh()

    x, weight = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    with torch.autocast("cpu", torch.float16, enabled=forward):
        wanted = part(x).float().sum()
        y = checkpoint(part, x, use_reentrant=use_reentrant)
    wanted = torch.autograd.grad(wanted, (x, weight))
    with torch.autocast("cpu", torch.bfloat16, enabled=backward):
        y.float().sum().backward()
    assert seen == [torch.float16 if forward else torch.float32] * 3
    assert torch.equal(x.grad, wanted[0]) and torch.equal(weight.grad, wanted[1])
