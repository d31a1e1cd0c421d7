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
