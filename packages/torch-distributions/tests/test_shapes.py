"""Shapes of every family: samples, densities, expansion, enumeration; dtypes; what is told by repr."""

import pickle

import pytest
import torch
import torch.distributions as D
from families import EVERY, FAMILIES

every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


@every
@pytest.mark.parametrize("sample_shape", [(), (4,), (3, 2)])
def test_samples_have_the_sample_shape_the_batch_and_the_event(make, sample_shape):
    d = make()
    x = d.sample(sample_shape)
    assert x.shape == torch.Size(sample_shape) + d.batch_shape + d.event_shape
    assert not x.requires_grad
    assert d.log_prob(x).shape == torch.Size(sample_shape) + d.batch_shape
    assert d.support.check(x).all()
    if d.has_rsample:
        assert d.rsample(sample_shape).shape == x.shape


@every
def test_an_expanded_distribution_is_the_same_one_more_often(make):
    d = make()
    wide = d.expand((5, *d.batch_shape))
    assert type(wide) is type(d) and wide.event_shape == d.event_shape
    assert wide.batch_shape == torch.Size((5, *d.batch_shape))
    x = wide.sample((2,))
    assert x.shape == (2, 5, *d.batch_shape, *d.event_shape)
    assert torch.allclose(wide.log_prob(x), d.log_prob(x), equal_nan=True)
    assert repr(wide)
    for name in ("mean", "variance", "mode"):
        try:
            value = getattr(d, name)
        except NotImplementedError:
            continue
        assert torch.allclose(
            getattr(wide, name).double(), value.double().expand(wide.batch_shape + d.event_shape), equal_nan=True
        )
    try:
        entropy = d.entropy()
    except NotImplementedError:
        return
    assert entropy.shape == d.batch_shape
    assert torch.allclose(wide.entropy(), entropy.expand(wide.batch_shape))


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_dtype_of_parameters_is_that_of_samples_and_densities(make, dtype):
    d = make(dtype=dtype)
    x = d.sample()
    assert x.dtype == dtype or type(d) is D.Categorical
    assert d.log_prob(x).dtype == dtype


@every
def test_a_distribution_pickles(make):
    d = make()
    again = pickle.loads(pickle.dumps(d))
    assert repr(again) == repr(d)
    x = d.sample()
    assert torch.equal(again.log_prob(x), d.log_prob(x))


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.cls.has_enumerate_support], ids=str)
def test_enumerated_values_have_probabilities_that_sum_to_one(family):
    d = family.make()
    values = d.enumerate_support()
    assert values.shape[1:] == d.batch_shape + d.event_shape
    assert torch.allclose(d.log_prob(values).exp().sum(0), torch.ones(d.batch_shape, dtype=torch.float64))
    narrow = d.enumerate_support(expand=False)
    assert narrow.shape == values.shape[:1] + (1,) * len(d.batch_shape) + d.event_shape
    assert torch.equal(narrow.expand_as(values), values)


def test_every_public_family_is_in_the_table():
    known = {type(make()).__name__ for make in EVERY.values()} | {"Distribution", "ExponentialFamily"}
    relatives = {"LogitRelaxedBernoulli", "ExpRelaxedCategorical"}  # bases of the relaxed ones
    public = {n for n in D.__all__ if isinstance(getattr(D, n), type) and issubclass(getattr(D, n), D.Distribution)}
    assert public - relatives == known


class Boxed:
    """Holds a tensor, and is asked in its place."""

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return [cls(r) for r in func(*(a.held if isinstance(a, Boxed) else a for a in args), **(kwargs or {}))]


@pytest.mark.parametrize("other", [Boxed(torch.tensor(2.0)), torch.tensor(2.0), 2.0])
def test_broadcast_all_asks_classes_that_stand_in_for_tensors(other):
    found = D.utils.broadcast_all(Boxed(torch.ones(2)), other)
    assert [type(f) for f in found] == [Boxed, Boxed] and found[1].held.tolist() == [2.0, 2.0]
