"""Data sets, samplers and loaders say which argument is of another type, and what it takes."""

import pytest
import torch
from torch._seams import typed_arguments
from torch.utils.data import BatchSampler, ChainDataset, ConcatDataset, DataLoader, RandomSampler, Subset, TensorDataset

WRONG = {
    "dataset": (object(), "a data set"),
    "batch_size": ("2", "an int"),
    "sampler": (object(), "an iterable"),
    "batch_sampler": (3, "an iterable"),
    "collate_fn": ([1], "a callable"),
    "worker_init_fn": ("fork", "a callable"),
    "generator": (7, "a Generator"),
    "timeout": ("1", "a number"),
    "shuffle": ("yes", "a bool"),
    "pin_memory_device": (object(), "a str"),
    "persistent_workers": ({}, "a bool"),
}


@pytest.mark.parametrize("argument", WRONG)
def test_a_loader_names_the_argument(argument):
    value, wanted = WRONG[argument]
    given = {"dataset": [1, 2], argument: value}
    with pytest.raises(TypeError, match=rf"^DataLoader: {argument} must be {wanted}.*, got {type(value).__name__}"):
        DataLoader(**given)


def test_a_loader_looks_at_nearly_all_that_it_is_given():
    assert set(WRONG) | {"num_workers", "drop_last", "in_order", "worker_kind"} <= set(typed_arguments(DataLoader))


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: RandomSampler(3), "RandomSampler: data_source must be a thing with a length, got int"),
        (lambda: RandomSampler([1], generator=1), "RandomSampler: generator must be a Generator or None, got int"),
        (lambda: BatchSampler(3, 2, False), "BatchSampler: sampler must be an iterable, got int"),
    ],
)
def test_samplers_name_the_argument(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: Subset(3, [0]), "Subset: dataset must be a data set, got int"),
        (lambda: Subset([1], 0), "Subset: indices must be a sequence of ints, got int"),
        (lambda: Subset([1], ["a"]), "Subset: indices must be a sequence of ints, got list"),
        (lambda: ConcatDataset(3), "ConcatDataset: datasets must be an iterable, got int"),
        (lambda: ChainDataset(None), "ChainDataset: datasets must be an iterable, got NoneType"),
        (lambda: TensorDataset(torch.ones(1), [1]), "TensorDataset: element 1 of tensors must be a tensor, got list"),
    ],
)
def test_data_sets_name_the_argument(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_what_serves_as_data_is_taken():
    numpy = pytest.importorskip("numpy")
    assert len(DataLoader({0: 1, 1: 2})) == 2
    assert len(DataLoader(numpy.arange(4), batch_size=2)) == 2
    assert len(DataLoader(torch.ones(3, 2), sampler=range(3), batch_size=3)) == 1
    assert Subset("abc", numpy.array([2, 0]))[0] == "c"
    assert Subset([5, 6], torch.tensor([1]))[0] == 6
    assert Subset([5, 6], range(2))[1] == 6
