"""Orders of indices."""

import collections

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def test_a_random_order_is_a_permutation_that_follows_the_seed():
    torch.manual_seed(3)
    first = list(RandomSampler(range(100)))
    second = list(RandomSampler(range(100)))
    torch.manual_seed(3)
    assert list(RandomSampler(range(100))) == first != second
    assert sorted(first) == list(range(100))
    generator = torch.Generator().manual_seed(5)
    sampler = RandomSampler(range(100), generator=generator)
    assert list(sampler) != list(sampler)


def test_more_or_fewer_samples_can_be_drawn():
    drawn = list(RandomSampler(range(3), num_samples=7))
    assert len(drawn) == 7 and collections.Counter(drawn[:6]) == {0: 2, 1: 2, 2: 2}
    assert len(set(RandomSampler(range(10), num_samples=4))) == 4
    again = list(RandomSampler(range(3), replacement=True, num_samples=1000))
    assert len(again) == 1000 and set(again) == {0, 1, 2}
    with pytest.raises(
        ValueError, match="RandomSampler: num_samples should be a positive integer value, but got num_samples=0"
    ):
        RandomSampler(range(3), num_samples=0)
    with pytest.raises(TypeError, match="replacement should be a boolean value, but got replacement=1"):
        RandomSampler(range(3), replacement=1)


def test_there_is_no_random_order_of_nothing():
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        RandomSampler([])
    with pytest.raises(ValueError, match="num_samples=0"):
        DataLoader([], shuffle=True)
    assert list(DataLoader([])) == []


def test_other_samplers():
    assert list(SequentialSampler("abc")) == [0, 1, 2] and len(SequentialSampler("abc")) == 3
    assert sorted(SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    heavy = list(WeightedRandomSampler([0, 1, 0], 20))
    assert heavy == [1] * 20
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="weights must be a sequence of numbers, got list"):
        WeightedRandomSampler([[1.0]], 1)
    with pytest.raises(NotImplementedError, match="needs a method __iter__"):
        iter(Sampler())


def test_batches_of_indices():
    for drop, count in ((False, 4), (True, 3)):
        batches = BatchSampler(range(10), 3, drop)
        assert len(list(batches)) == len(batches) == count
    assert list(BatchSampler(range(4), 2, False)) == [[0, 1], [2, 3]]
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="batch_size must be an? (positive )?int"):
            BatchSampler(range(3), wrong, False)
    with pytest.raises(ValueError, match="drop_last must be a bool"):
        BatchSampler(range(3), 1, None)


def test_parts_of_processes_are_equal_and_cover_everything():
    parts = [list(DistributedSampler(range(10), 3, rank, shuffle=True, seed=1)) for rank in range(3)]
    assert [len(p) for p in parts] == [4, 4, 4]
    assert {i for part in parts for i in part} == set(range(10))
    dropped = [list(DistributedSampler(range(10), 3, rank, shuffle=False, drop_last=True)) for rank in range(3)]
    assert dropped == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    sampler = DistributedSampler(range(10), 2, 0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first
    with pytest.raises(ValueError, match="rank must be from 0 to 1, got 2"):
        DistributedSampler(range(10), 2, 2)
