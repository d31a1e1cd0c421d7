"""What a loader gives: here, with processes and with threads it is the same; and the arguments that it takes."""

import collections
import itertools
import warnings

import numpy as np
import pytest
import torch
from loaders import HERE, KINDS, PROCESSES, WORKERS, Numbers, Restarting, Share, Squares
from torch import _cold
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    TensorDataset,
    get_worker_info,
)


@KINDS
def test_batches_come_in_order_and_whole(how):
    loader = DataLoader(Numbers(23), batch_size=4, **how)
    assert len(loader) == 6
    for _ in range(2):
        batches = list(loader)
        assert [b[0].tolist() for b in batches] == [list(range(i, min(i + 4, 23))) for i in range(0, 23, 4)]
        assert all(b[1].tolist() == [[float(i)] * 5 for i in b[0].tolist()] for b in batches)
    assert len(list(DataLoader(Numbers(23), batch_size=4, drop_last=True, **how))) == 5


@KINDS
def test_without_batches_samples_come_converted(how):
    loader = DataLoader(Numbers(5), batch_size=None, **how)
    assert [(i, t.tolist()) for i, t in loader] == [(i, [float(i)] * 5) for i in range(5)]


SAMPLES = {
    "tensors": lambda i: torch.full((2, 3), i),
    "numbers": lambda i: i * 0.5,
    "arrays": lambda i: np.full(2, i, np.float32),
    "texts": lambda i: f"text {i}",
    "bytes": lambda i: bytes([i]),
    "dicts": lambda i: {"x": torch.tensor(i), "y": {"z": i}, "t": "abc"},
    "pairs": lambda i: (i, [torch.ones(i % 1 + 1), str(i)]),
    "booleans": lambda i: i % 2 == 0,
    "half": lambda i: torch.full((2,), i, dtype=torch.float16),
    "complex": lambda i: torch.full((2,), complex(i, 1)),
    "empty": lambda i: torch.zeros(0, 3),
    "scalars": lambda i: torch.tensor(float(i)),
}


class Made(Dataset):
    def __init__(self, make, n=11):
        self.make, self.n = make, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.make(i)


def plain(value):
    """A batch as lists, with dtypes and shapes."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


@pytest.mark.parametrize("kind", SAMPLES)
@WORKERS
def test_workers_make_the_batches_that_are_made_here(kind, how):
    data = Made(SAMPLES[kind])
    for more in ({"batch_size": 4}, {"batch_size": None}):
        assert [plain(b) for b in DataLoader(data, **more, **how)] == [plain(b) for b in DataLoader(data, **more)]


@pytest.mark.parametrize("how", [HERE, PROCESSES], ids=["here", "processes"])
def test_rows_of_tensors_are_gathered_as_samples_would_be(how):
    from torch.utils.data import Subset

    class Rows(TensorDataset):
        pass

    tensors = torch.arange(40).reshape(10, 4), torch.arange(10) * 0.5
    order = [3, -1, 0, 7, 7, 2]
    for make in (lambda kind: kind(*tensors), lambda kind: Subset(kind(*tensors), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])):
        gathered = list(DataLoader(make(TensorDataset), batch_size=4, sampler=order, **how))
        collated = list(DataLoader(make(Rows), batch_size=4, sampler=order, **how))
        assert [[t.tolist() for t in b] for b in gathered] == [[t.tolist() for t in b] for b in collated]
        assert all(a.dtype == b.dtype and a.shape == b.shape for x, y in zip(gathered, collated) for a, b in zip(x, y))
    with pytest.raises(IndexError):
        list(DataLoader(TensorDataset(*tensors), sampler=[10], **how))


@KINDS
def test_batches_of_a_given_sampler_and_batch_sampler(how):
    data = Squares(10)
    assert [b.tolist() for b in DataLoader(data, sampler=[7, 2, 5], batch_size=2, **how)] == [[49, 4], [25]]
    assert [b.tolist() for b in DataLoader(data, batch_sampler=[[1], [2, 3, 4], [9]], **how)] == [[1], [4, 9, 16], [81]]
    batches = BatchSampler(SequentialSampler(data), 4, True)
    loader = DataLoader(data, batch_sampler=batches, **how)
    assert len(loader) == 2 and [len(b) for b in loader] == [4, 4] and loader.batch_size is None
    with_generator = DataLoader(data, sampler=(i for i in (3, 1)), **how)
    assert [b.item() for b in with_generator] == [9, 1] and list(with_generator) == []


@KINDS
def test_samplers_that_draw_again_serve(how):
    torch.manual_seed(1)
    loader = DataLoader(
        Squares(5), sampler=RandomSampler(range(5), replacement=True, num_samples=100), batch_size=8, **how
    )
    got = [x for b in loader for x in b.tolist()]
    assert len(loader) == 13 and len(got) == 100 and set(got) == {0, 1, 4, 9, 16}


@KINDS
def test_an_empty_data_set_gives_no_batch(how):
    assert list(DataLoader(Squares(0), **how)) == [] and len(DataLoader(Squares(0), **how)) == 0
    assert list(DataLoader(Squares(3), batch_size=4, drop_last=True, **how)) == []


@KINDS
def test_a_collate_fn_makes_the_batches(how):
    assert list(DataLoader(Squares(5), batch_size=2, collate_fn=sum, **how)) == [1, 13, 16]
    assert list(DataLoader(Squares(3), batch_size=None, collate_fn=lambda x: -x, **how)) == [0, -1, -4]

    def fail(samples):
        raise KeyError("collating")

    with pytest.raises(KeyError, match="collating"):
        list(DataLoader(Squares(5), collate_fn=fail, **how))


@KINDS
def test_data_sets_made_of_others(how):
    joined = ConcatDataset([Squares(3), Subset(Squares(10), [9, 8]), TensorDataset(torch.arange(2))])
    assert [joined[i] for i in range(5)] == [0, 1, 4, 81, 64]
    got = list(DataLoader(ConcatDataset([Squares(3), Subset(Squares(10), [9, 8])]), batch_size=2, **how))
    assert [b.tolist() for b in got] == [[0, 1], [4, 81], [64]]
    stacked = DataLoader(StackDataset(a=Squares(3), b=Subset(Squares(9), [5, 6, 7])), batch_size=3, **how)
    assert [{k: v.tolist() for k, v in b.items()} for b in stacked] == [{"a": [0, 1, 4], "b": [25, 36, 49]}]


@KINDS
def test_getitems_is_asked_once_a_batch(how):
    class Many(Squares):
        def __getitems__(self, indices):
            return [(len(indices), i) for i in indices]

    got = list(DataLoader(Many(5), batch_size=2, **how))
    assert [[c.tolist() for c in b] for b in got] == [[[2, 2], [0, 1]], [[2, 2], [2, 3]], [[1], [4]]]


@KINDS
def test_parts_of_several_trainers_cover_the_data_once(how):
    data = Squares(10)
    seen = []
    for rank in range(3):
        sampler = DistributedSampler(data, num_replicas=3, rank=rank, shuffle=True, seed=5)
        loader = DataLoader(data, sampler=sampler, batch_size=2, **how)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            got = [x for b in loader for x in b.tolist()]
            assert len(got) == len(sampler) == 4
            if epoch == 1:
                seen += got
    assert set(seen) == {i * i for i in range(10)}


@KINDS
def test_a_stream_is_shared_out_by_what_workers_know_of_themselves(how):
    for more in ({"batch_size": 3}, {"batch_size": None}, {"batch_size": 3, "in_order": False}):
        got = [x for b in DataLoader(Share(20), **more, **how) for x in torch.as_tensor(b).reshape(-1).tolist()]
        assert sorted(got) == list(range(20))
    assert get_worker_info() is None


@KINDS
def test_streams_warn_when_they_are_longer_than_they_said(how):
    class Promising(Share):
        def __init__(self, n, promised):
            super().__init__(n)
            self.promised = promised

        def __len__(self):
            return self.promised

    loader = DataLoader(Promising(10, 6), batch_size=2, **how)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="promised 6 samples, and batch 4 is more"):
        assert len(list(loader)) >= 5
    loader = DataLoader(Promising(8, 8), batch_size=2, **how)  # which warns itself where processors are few
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(loader) == 4
        list(loader)
    with pytest.raises(TypeError):
        len(DataLoader(Share(3), **how))


def test_attributes_are_fixed_and_arguments_checked():
    loader = DataLoader(Numbers())
    with pytest.raises(ValueError, match="batch_size cannot be changed"):
        loader.batch_size = 3
    loader.num_workers = 0
    for wrong, text in (
        ({"num_workers": -1}, "num_workers must be 0 or more, got -1"),
        ({"timeout": -1}, "timeout must be 0 or more"),
        ({"prefetch_factor": 2}, "prefetch_factor has a meaning only with num_workers > 0"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor must be 1 or more, got 0"),
        ({"persistent_workers": True}, "persistent_workers has a meaning only"),
        ({"shuffle": True, "sampler": [1]}, "sampler and shuffle exclude each other"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler decides on batch_size"),
        ({"batch_size": None, "drop_last": True}, "no last one to drop"),
        ({"multiprocessing_context": "fork"}, "only with num_workers > 0"),
        ({"multiprocessing_context": "clone", "num_workers": 1}, "must be one of"),
        ({"worker_kind": "robot"}, "'process' or 'thread'"),
        ({"batch_size": 0}, "batch_size must be a positive int"),
    ):
        with pytest.raises(ValueError, match=text):
            DataLoader(Numbers(), **wrong)
    for wrong in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="an IterableDataset gives its samples in its own order"):
            DataLoader(Share(3), **wrong)
    with pytest.raises(TypeError, match="must be a context or a start method"):
        DataLoader(Numbers(), num_workers=1, multiprocessing_context=3)
    with pytest.warns(UserWarning, match="workers on .* processors may be slower"):
        DataLoader(Numbers(), num_workers=1000)


class Pinned:
    def __init__(self, x):
        self.x = x
        self.pinned = False

    def pin_memory(self):
        other = Pinned(self.x)
        other.pinned = True
        return other


def test_pinning_walks_through_a_batch():
    from torch.utils.data import pin_memory_batch

    Pair = collections.namedtuple("Pair", "a b")
    batch = {
        "p": Pinned(1),
        "pair": Pair(Pinned(2), "text"),
        "list": [Pinned(3), (Pinned(4), b"x")],
        "n": 5,
        "none": None,
    }
    got = pin_memory_batch(batch)
    assert got["p"].pinned and got["pair"].a.pinned and got["list"][0].pinned and got["list"][1][0].pinned
    assert isinstance(got["pair"], Pair) and type(got["list"][1]) is tuple and got["n"] == 5 and got["none"] is None
    assert not batch["p"].pinned and got["pair"].b == "text" and got["list"][1][1] == b"x"


def test_pinning_without_a_gpu_warns_and_gives_ordinary_batches():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning, match="no CUDA device"):
        assert len(list(DataLoader(Numbers(2), pin_memory=True))) == 2


@pytest.mark.parametrize(("workers", "kind"), [(0, "SingleProcess"), (1, "MultiProcessing")])
def test_batches_are_ranges_of_a_profile(workers, kind):
    loader = DataLoader(Numbers(4), batch_size=2, num_workers=workers)
    session = _cold.start_profile(False, False, False)
    assert len(list(loader)) == 2
    events = _cold.stop_profile(session)["events"]
    names = [event[0] for event in events if event[8] == -1 and "#" in event[0]]
    assert names == [f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"] * 3  # the third finds the end
    assert any(event[0] == "aten::stack" for event in events) == (workers == 0)


class Forever:
    """Repeats a sampler: what loaders that keep their workers put in place of their own."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class Endless(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._DataLoader__initialized = False
        self.batch_sampler = Forever(self.batch_sampler)
        self._DataLoader__initialized = True
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_that_never_ends_its_pass_takes_another_batch_sampler(workers):
    loader = Endless(range(5), batch_size=2, num_workers=workers)
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="batch_sampler cannot be changed"):
        loader.batch_sampler = None


def test_a_loader_makes_its_iterator_by_a_method_that_classes_override():
    class Noted(DataLoader):
        made = 0

        def _get_iterator(self):
            self.made += 1
            return super()._get_iterator()

    loader = Noted(range(2))
    assert len(list(loader)) == len(list(loader)) == loader.made == 2


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_that_is_its_own_iterator_is_begun_once(workers):
    loader = DataLoader(Restarting(), batch_size=2, num_workers=workers, timeout=20 if workers else 0)
    for _ in range(2):
        assert [batch.tolist() for batch in itertools.islice(loader, 9)] == [[1, 2], [3, 4], [5]]
    dropping = DataLoader(Restarting(), batch_size=2, drop_last=True)
    assert [batch.tolist() for batch in itertools.islice(dropping, 9)] == [[1, 2], [3, 4]]
