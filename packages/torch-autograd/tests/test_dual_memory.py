"""Where tangents lie: views of places in memory, changes in place under a recorded graph, and overlaps."""

import pytest
import torch
from torch.autograd import forward_ad as fwd
from torch.func import grad, jacfwd, jvp, vmap


@pytest.mark.parametrize("held", [torch.full((10,), 100.0), torch.full((6,), 100.0)])
def test_a_view_of_places_beyond_the_tensor_has_a_tangent_of_zeros_there(held):
    base, given = torch.arange(6.0), held[1:3]
    with fwd.dual_level():
        dual = fwd.make_dual(base[2:4], given)
        assert fwd.unpack_dual(dual.as_strided((4,), (1,), 0)).tangent.tolist() == [0, 0, 100, 100]
        dual.as_strided((3,), (1,), 0).zero_()
        assert fwd.unpack_dual(dual).tangent.tolist() == [0, 100]
    assert base.tolist() == [0, 0, 0, 3, 4, 5] and held.tolist() == [100] * len(held)


def test_a_tangent_lies_between_places_as_its_tensor_does():
    base = torch.arange(6.0)
    with fwd.dual_level():
        dual = fwd.make_dual(base[::2], torch.ones(3))
        all_places = dual.as_strided((6,), (1,), 0)
        assert fwd.unpack_dual(all_places).tangent.tolist() == [1, 0, 1, 0, 1, 0]
        all_places[:3].zero_()
        assert fwd.unpack_dual(dual).tangent.tolist() == [0, 0, 1]


def test_a_tangent_that_is_part_of_another_tensor_is_copied():
    rows = torch.ones(3, 4)
    with fwd.dual_level():
        fwd.make_dual(torch.zeros(4), rows[1]).mul_(5)
    assert torch.equal(rows, torch.ones(3, 4))


def test_a_tangent_reaches_from_a_view_to_the_rest_of_its_base():
    with fwd.dual_level():
        dual = fwd.make_dual(torch.zeros(4), torch.arange(4.0))
        assert fwd.unpack_dual(dual[2:].as_strided((2,), (1,), 1)).tangent.tolist() == [1, 2]


def test_places_beyond_a_tensor_have_no_slope_of_many_tangents():
    base, tangents = torch.arange(6.0), torch.ones(3, 5)

    def places(x):
        return x.as_strided((4,), (1,), 0) * 2

    for given in tangents[:, 2:4], tangents[:, 2:4].clone():
        pushed = vmap(lambda v: jvp(places, (base[2:4],), (v,))[1])(given)
        assert pushed.tolist() == [[0, 0, 2, 2]] * 3
    assert jacfwd(places)(base[2:4]).tolist() == [[0, 0], [0, 0], [2, 0], [0, 2]]


def _twice(x):
    return x.mul_(2).sin_()


@pytest.mark.parametrize(
    "change",
    [
        torch.Tensor.sin_,
        torch.Tensor.exp_,
        torch.Tensor.tanh_,
        lambda x: x.pow_(3),
        lambda x: x.div_(x + 1),
        lambda x: x.mul_(x + 2),
        lambda x: x.cumprod_(0),
        lambda x: x[1:].sin_(),
        _twice,
    ],
)
def test_what_is_changed_in_place_has_gradients_of_its_tangent(change):
    matrix = torch.arange(1.0, 10.0, dtype=torch.float64).view(3, 3) / 9
    x, v = (torch.tensor(n, dtype=torch.float64) for n in ([0.1, 0.2, 0.3], [1.0, -2.0, 3.0]))

    def along(x, v):
        def function(z):
            y = matrix @ z
            change(y)
            return y.sum()

        return jvp(function, (x,), (v,))[1]

    for which, given in enumerate((x, v)):
        found, steps = grad(along, which)(x, v), []
        for step in torch.eye(3, dtype=torch.float64) * 1e-6:
            further = [t + step if t is given else t for t in (x, v)]
            nearer = [t - step if t is given else t for t in (x, v)]
            steps.append((along(*further) - along(*nearer)) / 2e-6)
        torch.testing.assert_close(found, torch.stack(steps), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "change",
    [
        lambda y, z: y[1:].add_(y[:-1]),
        lambda y, z: y[1:].mul_(y.detach()[:-1]),
        lambda y, z: y[1:].addcmul_(y[:-1], z[1:]),
        lambda y, z: y[1:].lerp_(z[1:], y[:-1]),
        lambda y, z: y[1:].atan2_(y[:-1]),
        lambda y, z: y[1:].copy_(y[:-1]),
        lambda y, z: y[:1].expand(3).add_(z),
    ],
)
def test_what_is_written_while_it_is_read_is_refused_with_tangents_too(change):
    x, v = torch.tensor([0.1, 0.2, 0.3]), torch.ones(3)

    def function(z):
        y = z.clone()
        try:
            change(y, z)
        finally:
            assert torch.equal(y, z)  # nothing is written

    for call in (
        lambda: function(x),
        lambda: jvp(function, (x,), (v,)),
        lambda: jvp(lambda z: jvp(function, (z,), (v,))[1], (x,), (v,)),
    ):
        with pytest.raises(RuntimeError, match="refers? to a single memory location"):
            call()


def test_overlaps_that_are_safe_are_accepted_with_tangents():
    x, v = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([1.0, 2.0, 3.0, 4.0])

    def function(z):
        y = z.clone()
        y.add_(y)
        y[::2].mul_(y[1::2])
        y[1:3].copy_(y[1:3])
        y[3:].fill_(y[0])
        return y

    value, tangent = jvp(function, (x,), (v,))
    torch.testing.assert_close(value, torch.tensor([0.08, 0.4, 0.48, 0.08]))
    torch.testing.assert_close(tangent, torch.tensor([1.6, 4.0, 9.6, 1.6]))
