"""Data pipes: chains of streams and of samples by index, and loaders over them."""

import pickle

import pytest
import torch
from torch.utils.data import DataLoader, IterDataPipe, MapDataPipe, functional_datapipe
from torch.utils.data.datapipes.iter import FileLister, FileOpener, IterableWrapper
from torch.utils.data.datapipes.map import SequenceWrapper
from torch.utils.data.graph import traverse_dps
from torch.utils.data.graph_settings import (
    apply_random_seed,
    apply_sharding,
    apply_shuffle_settings,
    get_all_graph_pipes,
)


def even(n):
    return n % 2 == 0


def odd(n):
    return n % 2


@pytest.fixture
def ten():
    return IterableWrapper(range(10))


def test_chains(ten):
    assert list(ten.map(lambda n: 2 * n).filter(lambda n: n % 4 == 0).batch(2)) == [[0, 4], [8, 12], [16]]
    assert list(ten.batch(3, drop_last=True)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert list(ten.batch(3).unbatch()) == list(range(10))
    assert list(ten.batch(2).batch(2).unbatch(-1)) == list(range(10))
    assert list(ten.groupby(lambda n: n % 3)) == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    assert list(ten.groupby(odd, group_size=2, keep_key=True))[:2] == [(0, [0, 2]), (1, [1, 3])]
    assert next(iter(ten.batch(2).collate())).tolist() == [0, 1]
    assert len(ten.map(str)) == 10 and len(ten.batch(3)) == 4
    with pytest.raises(TypeError):
        len(ten.filter(even))


def test_columns_of_samples():
    rows = IterableWrapper([(1, 2, 3), (4, 5, 6)])
    assert list(rows.map(lambda a, c: a * c, input_col=[0, 2])) == [(3, 2), (24, 5)]
    assert list(rows.map(str, input_col=1, output_col=-1)) == [(1, 2, 3, "2"), (4, 5, 6, "5")]
    assert list(rows.filter(even, input_col=0)) == [(4, 5, 6)]


def test_several_streams(ten):
    letters = IterableWrapper("abc")
    assert list(ten.zip(letters)) == [(0, "a"), (1, "b"), (2, "c")]
    assert list(letters.concat(IterableWrapper("de"))) == list("abcde")
    assert list(ten.mux(letters)) == [0, "a", 1, "b", 2, "c"]
    left, right = ten.fork(2)
    assert list(left) == list(right) == list(range(10)) and list(left) == list(range(10))
    evens, odds = ten.demux(2, odd)
    assert list(evens) == [0, 2, 4, 6, 8] and list(odds) == [1, 3, 5, 7, 9]
    near, far = ten.fork(2, buffer_size=3)
    with pytest.raises(BufferError, match="more than buffer_size=3"):
        list(near)


def test_a_new_iterator_ends_the_one_before(ten):
    first = iter(ten)
    assert next(first) == 0
    assert next(iter(ten)) == 0
    with pytest.raises(RuntimeError, match=r"invalidated because another iterator.*fork"):
        next(first)


def test_shuffling_is_a_permutation_that_a_seed_fixes(ten):
    shuffled = ten.shuffle(buffer_size=4)
    assert sorted(shuffled) == list(range(10))
    assert list(shuffled.set_seed(3)) == list(shuffled.set_seed(3))
    assert list(apply_shuffle_settings(shuffled, shuffle=False)) == list(range(10))
    assert type(apply_shuffle_settings(ten, shuffle=True)).__name__ == "ShufflerIterDataPipe"
    generator = torch.Generator().manual_seed(5)
    one = list(apply_random_seed(shuffled.set_shuffle(), generator))
    assert one == list(apply_random_seed(shuffled, torch.Generator().manual_seed(5)))


def test_names_and_the_graph(ten):
    @functional_datapipe("thrice")
    class Thrice(IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for sample in self.source:
                yield from [sample] * 3

    try:
        assert list(ten.thrice())[:4] == [0, 0, 0, 1]
        with pytest.raises(Exception, match="already taken"):
            functional_datapipe("thrice")(Thrice)
    finally:
        del IterDataPipe.functions["thrice"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ten.nothing
    chain = ten.map(str).batch(2)
    assert [type(p).__name__ for p in get_all_graph_pipes(traverse_dps(chain))] == [
        "BatcherIterDataPipe", "MapperIterDataPipe", "IterableWrapperIterDataPipe",
    ]  # fmt: skip


def test_a_stream_is_shared_out(ten):
    shared = ten.sharding_filter().map(lambda n: n)
    assert list(apply_sharding(shared, 3, 1)) == [1, 4, 7]
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(ten.sharding_filter().sharding_filter(), 2, 0)


def test_workers_share_a_stream_out_and_shuffle_alike(ten):
    loader = DataLoader(ten.shuffle().sharding_filter(), batch_size=2, num_workers=2, shuffle=True)
    assert sorted(n for batch in loader for n in batch.tolist()) == list(range(10))
    with pytest.raises(NotImplementedError, match="threads would share one stream"):
        DataLoader(ten, num_workers=1, worker_kind="thread")
    assert [b.tolist() for b in DataLoader(ten, batch_size=5)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert sorted(torch.cat(list(DataLoader(ten, batch_size=5, shuffle=True))).tolist()) == list(range(10))


def test_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    names = FileLister(str(tmp_path), "*.txt")
    assert [n[-5:] for n in names] == ["a.txt", "b.txt"]
    assert [text for _, text in FileOpener(names).read_from_stream()] == ["a.txt", "b.txt"]
    assert [text for _, text in FileOpener(FileLister(str(tmp_path), "*.bin"), "b").read_from_stream(2)] == [
        b"c.",
        b"bi",
        b"n",
    ]


def test_samples_by_index():
    three = SequenceWrapper([1, 2, 3])
    assert isinstance(three, MapDataPipe) and three.map(lambda n: n + 1)[2] == 4
    assert (
        three.batch(2)[1] == [3] and list(three.concat(three)) == [1, 2, 3, 1, 2, 3] and three.zip(three)[0] == (1, 1)
    )
    assert sorted(three.shuffle()) == [1, 2, 3]
    assert sorted(torch.cat(list(DataLoader(three, batch_size=2, shuffle=True))).tolist()) == [1, 2, 3]
    with pytest.raises(IndexError):
        three.concat(three)[6]


def test_pipes_travel(ten):
    copied = pickle.loads(pickle.dumps(ten.filter(even).batch(2)))
    assert list(copied) == [[0, 2], [4, 6], [8]]


def test_a_library_derives_its_own_iterator():
    from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

    class Backwards(_BaseDataLoaderIter):
        def _next_data(self):
            return [self._dataset[i] for i in reversed(self._next_index())]

    loader = DataLoader([1, 2, 3, 4, 5], batch_size=2)
    mine = Backwards(loader)
    assert list(mine) == [[2, 1], [4, 3], [5]] and len(mine) == 3 and mine._dataset_kind == _DatasetKind.Map
    assert isinstance(iter(loader), _BaseDataLoaderIter)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda p: p.batch(0), AssertionError, "at least 1"),
        (lambda p: list(p.filter(lambda n: n)), ValueError, "expected a bool"),
        (lambda p: p.fork(0), ValueError, "num_instances"),
        (lambda p: list(p.demux(2, lambda n: 5)[0]), ValueError, "classifier gave 5"),
        (lambda p: p.zip([1]), TypeError, "expected IterDataPipes"),
        (lambda p: list(p.unbatch()), IndexError, "exceeds the depth"),
        (lambda p: p.map(str, output_col=1), ValueError, "goes with input_col"),
    ],
)
def test_errors(ten, wrong, error, says):
    with pytest.raises(error, match=says):
        wrong(ten)


def test_a_library_sets_the_kind_of_a_loader_and_asks_a_fetcher_for_its_data():
    from torch.utils.data.dataloader import _DatasetKind

    loader = DataLoader([1, 2])
    loader._dataset_kind = _DatasetKind.Map
    fetcher = _DatasetKind.create_fetcher(loader._dataset_kind, loader.dataset, True, list, False)
    assert fetcher.dataset is loader.dataset and fetcher.fetch([1, 0]) == [2, 1]
