"""Batches of samples of all kinds."""

import collections

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, default_collate, default_convert
from torch.utils.data._utils.collate import collate, default_collate_fn_map

Pair = collections.namedtuple("Pair", "a b")


def test_tensors_arrays_and_numbers_become_tensors():
    assert default_collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    for batch, dtype in (
        ([1, 2], torch.int64),
        ([1.5, 2], torch.float64),
        ([True, False], torch.bool),
        ([np.float32(1), np.float32(2)], torch.float32),
        ([np.zeros(2, np.int16)] * 2, torch.int16),
        ([np.array(3.0)] * 2, torch.float64),
    ):
        assert default_collate(batch).dtype == dtype, batch


def test_containers_are_collated_item_by_item():
    out = default_collate([{"x": 1, "y": ("a", 2.0)}, {"x": 3, "y": ("b", 4.0)}])
    assert out["x"].tolist() == [1, 3] and out["y"][0] == ("a", "b") and out["y"][1].tolist() == [2, 4]
    pair = default_collate([Pair(1, "x"), Pair(2, "y")])
    assert isinstance(pair, Pair) and pair.a.tolist() == [1, 2] and pair.b == ("x", "y")
    assert isinstance(default_collate([[1, 2], [3, 4]]), list)
    ordered = collections.OrderedDict(a=1)
    assert type(default_collate([ordered, ordered])) is collections.OrderedDict


def test_what_cannot_be_batched_is_explained():
    with pytest.raises(RuntimeError, match=r"sample 0 of the batch has \(2,\) and sample 1 has \(3,\)"):
        default_collate([torch.zeros(2), torch.zeros(3)])
    with pytest.raises(RuntimeError, match="has 2 items and sample 1 has 1"):
        default_collate([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"a sample holds builtins.object"):
        default_collate([object()])
    with pytest.raises(TypeError, match="array of <U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(TypeError, match="builtins.NoneType"):
        default_collate([None, None])


def test_single_samples_are_converted():
    out = default_convert({"a": np.zeros(2), "b": [np.float32(1), "x"], "c": Pair(1, np.ones(1)), "d": b"y", "e": None})
    assert out["a"].dtype == torch.float64 and out["b"][0].item() == 1 and out["b"][1] == "x"
    assert isinstance(out["c"], Pair) and out["c"].b.tolist() == [1] and out["d"] == b"y" and out["e"] is None
    assert default_convert(np.array(["a"])).dtype.kind == "U"


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_collate_function_of_2018_fills_shared_memory(dtype):
    batch = [torch.full((2, 3), i, dtype=dtype) for i in range(4)]
    first = batch[0]
    numel = sum(x.numel() for x in batch)
    for storage in (first.storage()._new_shared(numel), first._typed_storage()._new_shared(numel, device=first.device)):
        out = torch.stack(batch, 0, out=first.new(storage).resize_(4, 2, 3))
        assert out.is_shared() and out.data_ptr() == storage.data_ptr() and out[:, 1, 1].tolist() == [0, 1, 2, 3]
    assert type(first.storage())._new_shared is not None and torch.LongStorage._new_shared(3).is_shared()
    assert torch.UntypedStorage._new_shared(10).nbytes() == 10


class Point:
    def __init__(self, x):
        self.x = x


def points(batch, *, collate_fn_map=None):
    return "points", collate([point.x for point in batch], collate_fn_map=collate_fn_map)


def test_a_map_says_how_other_classes_are_collated():
    batch = [{"p": (Point(1), 2)}, {"p": (Point(3), 4)}]
    with pytest.raises(TypeError, match="a sample holds .*Point"):
        default_collate(batch)
    out = collate(batch, collate_fn_map={**default_collate_fn_map, Point: points})["p"]
    assert out[0][0] == "points" and out[0][1].tolist() == [1, 3] and out[1].tolist() == [2, 4]
    assert collate([1, 2], collate_fn_map={(str, int): lambda batch, **_: "one of two classes"}) == "one of two classes"
    assert collate([[1], [2]], collate_fn_map={list: lambda batch, **_: [x for (x,) in batch]}) == [1, 2]
    for nothing in ([1, 2], [torch.ones(1)], [np.ones(1)]):
        with pytest.raises(TypeError, match="a sample holds"):
            collate(nothing)


def test_programs_may_add_to_what_the_default_knows(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, Point, points)
    assert default_collate([Point(5)])[1].tolist() == [5]
    assert next(iter(DataLoader([Point(5), Point(6)], batch_size=2, num_workers=1)))[1].tolist() == [5, 6]


def test_sequences_of_a_class_of_their_own_keep_it():
    class Own(list):
        pass

    assert type(default_collate([Own([1, 2])] * 2)) is Own and type(default_convert(Own([np.ones(1)]))) is Own
    assert default_convert(range(2)) == [0, 1] and type(default_convert(torch.Size([1]))) is list


def test_a_key_that_one_sample_lacks_is_told():
    with pytest.raises(KeyError, match="sample 0 of the batch has the key 0, and sample 1 has not"):
        default_collate([{0: 1}, {"b": 2}])
