"""Data sets made of others."""

import pytest
import torch
from torch.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * i


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_a_tensor_dataset_gives_rows_together():
    data = TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3))
    assert len(data) == 3
    row, label = data[1]
    assert row.tolist() == [2, 3] and label.item() == 1
    with pytest.raises(AssertionError, match=r"first sizes are \[3, 4\]"):
        TensorDataset(torch.zeros(3), torch.zeros(4))


def test_concatenated_datasets_are_indexed_through():
    data = Squares(3) + Squares(2) + Squares(1)
    assert [data[i] for i in range(len(data))] == [0, 1, 4, 0, 1, 0]
    assert data[-1] == 0 and data[-6] == 0 and data[-4] == 4
    with pytest.raises(IndexError, match="index 6 is out of range for a data set of 6"):
        data[6]
    with pytest.raises(ValueError, match="index -7"):
        data[-7]
    with pytest.raises(AssertionError, match="at least one"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ChainDataset"):
        ConcatDataset([Count(3)])


def test_chained_streams_run_one_after_another():
    chain = Count(2) + Count(3)
    assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 0, 1, 2] and len(chain) == 5
    with pytest.raises(AssertionError, match="not an IterableDataset"):
        list(ChainDataset([[1]]))


def test_stacked_datasets_join_their_samples():
    assert StackDataset(Squares(3), "abc")[2] == (4, "c")
    named = StackDataset(x=Squares(3), y=Subset("abc", [2, 1, 0]))
    assert named[0] == {"x": 0, "y": "c"} and named.__getitems__([0, 2]) == [{"x": 0, "y": "c"}, {"x": 4, "y": "a"}]
    with pytest.raises(ValueError, match=r"different lengths: \[3, 2\]"):
        StackDataset(Squares(3), Squares(2))
    with pytest.raises(ValueError, match="not both"):
        StackDataset([1], y=[1])
    with pytest.raises(ValueError, match="at least one"):
        StackDataset()


def test_stacked_datasets_notice_a_wrong_number_of_samples():
    class Wrong(Squares):
        def __getitems__(self, indices):
            return [1]

    with pytest.raises(ValueError, match="gave 1 samples for 2 indices"):
        StackDataset(Wrong(3)).__getitems__([0, 1])


def test_a_subset_passes_batches_on():
    class Many(Squares):
        def __getitems__(self, indices):
            return [("many", i) for i in indices]

    assert Subset(Many(5), [4, 3]).__getitems__([0, 1]) == [("many", 4), ("many", 3)]
    assert Subset(Squares(5), [4, 3]).__getitems__([0, 1]) == [16, 9]


def test_a_random_split_covers_everything_once_and_repeats_with_its_generator():
    parts = random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(1))
    again = random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [3, 7]
    assert sorted([*parts[0], *parts[1]]) == list(range(10))
    assert list(parts[0]) == list(again[0])
    assert [len(p) for p in random_split(range(11), [0.5, 0.3, 0.2])] == [6, 3, 2]
    with pytest.raises(ValueError, match=r"lengths \[3, 3\] sum to 6, and the data set has 10"):
        random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="fraction 0 is -0.5"):
        random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="part 2 has no samples"):
        random_split(range(2), [0.5, 0.5, 0.0])


def test_missing_methods_are_named():
    with pytest.raises(NotImplementedError, match=r"Dataset needs a method __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match=r"IterableDataset needs a method __iter__"):
        iter(IterableDataset())


def test_slices_and_lists_of_a_subset_are_asked_of_its_data():
    part = Subset(TensorDataset(torch.arange(10)), [9, 7, 5, 3])
    whole = Subset(part, [3, 2, 1, 0])
    assert part[1:3][0].tolist() == part[[1, 2]][0].tolist() == [7, 5]
    assert whole[:][0].tolist() == [3, 5, 7, 9] and whole[::-2][0].tolist() == [9, 5]
    with pytest.raises(TypeError):
        Subset("abc", [0, 1])[[0, 1]]


def test_one_sample_can_be_split():
    for lengths in ([0.5, 0.5], [1, 0]):
        with pytest.warns(UserWarning, match="part 1 has no samples"):
            assert [len(part) for part in random_split("a", lengths)] == [1, 0]
