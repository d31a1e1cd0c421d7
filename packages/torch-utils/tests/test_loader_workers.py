"""How workers share the work: who gets what and when, what they know, what they keep, where batches lie."""

import collections
import copy
import gc
import multiprocessing
import os
import pickle
import threading

import pytest
import torch
from loaders import HERE, KINDS, THREADS, WORKERS, Numbers, Squares
from torch.utils.data import DataLoader, Dataset, TensorDataset, get_worker_info


@WORKERS
def test_init_functions_run_in_the_worker(how):
    class Marked(Numbers):
        def __getitem__(self, i):
            return get_worker_info().dataset.mark

    def mark(worker_id):
        get_worker_info().dataset.mark = 7

    assert list(DataLoader(Marked(2), batch_size=None, worker_init_fn=mark, **how)) == [7, 7]


@KINDS
def test_order_may_be_given_up(how):
    loader = DataLoader(Numbers(20), batch_size=3, in_order=False, **how)
    assert sorted(i for b in loader for i in b[0].tolist()) == list(range(20))


@WORKERS
@pytest.mark.parametrize("prefetch", [1, 3, 7])
def test_workers_run_ahead_as_far_as_they_may(how, prefetch):
    asked = []

    class Sampler:
        def __iter__(self):
            for i in range(40):
                asked.append(i)
                yield i

        def __len__(self):
            return 40

    iterator = iter(DataLoader(Squares(40), sampler=Sampler(), batch_size=None, prefetch_factor=prefetch, **how))
    assert len(asked) == 2 * prefetch
    next(iterator)
    assert len(asked) == 2 * prefetch + 1
    assert len(list(iterator)) == 39


@WORKERS
def test_workers_that_stay_serve_several_passes(how):
    loader = DataLoader(Numbers(9), batch_size=2, persistent_workers=True, **how)
    for _ in range(3):
        assert [i for b in loader for i in b[0].tolist()] == list(range(9))
    next(iter(loader))  # left early
    assert [i for b in loader for i in b[0].tolist()] == list(range(9))
    if "worker_kind" not in how:
        pids = {w.process.pid for w in loader._iterator._workers}
        list(loader)
        assert {w.process.pid for w in loader._iterator._workers} == pids


@WORKERS
def test_workers_that_stay_keep_their_state_and_are_seeded_anew(how):
    class Counting(Dataset):
        def __init__(self):
            self.made = threading.local() if how is THREADS else collections.Counter()

        def __len__(self):
            return 4

        def __getitem__(self, i):
            if how is THREADS:
                self.made.n = getattr(self.made, "n", 0) + 1
                return self.made.n, get_worker_info().seed
            self.made["n"] += 1
            return self.made["n"], get_worker_info().seed

    started = []
    loader = DataLoader(
        Counting(), batch_size=None, persistent_workers=True, worker_init_fn=lambda i: started.append(i), **how
    )
    first, second = list(loader), list(loader)
    assert [n for n, _ in first] == [1, 1, 2, 2] and [n for n, _ in second] == [3, 3, 4, 4]
    assert {s for _, s in first}.isdisjoint({s for _, s in second}) and len({s for _, s in first}) == 2
    if how is THREADS:
        assert sorted(started) == [0, 1]  # once, not with every pass
    del loader


def test_batches_lie_in_shared_memory_that_is_used_again():
    addresses = set()
    for _, data in DataLoader(Numbers(400, 2000), batch_size=4, num_workers=1):
        assert data.is_shared()
        addresses.add(data.data_ptr())
    assert len(addresses) < 20
    kept = [data for _, data in DataLoader(Numbers(100, 200), batch_size=4, num_workers=2)]
    gc.collect()
    assert [int(k[0, 0].item()) for k in kept] == list(range(0, 100, 4))


def test_rows_of_a_big_tensor_are_sent_alone():
    data = TensorDataset(torch.arange(1000 * 100).reshape(1000, 100))
    for i, (row,) in enumerate(DataLoader(data, batch_size=None, num_workers=1, sampler=range(5))):
        assert row.tolist() == list(range(100 * i, 100 * i + 100)) and row.untyped_storage().nbytes() == 800


@WORKERS
def test_batches_that_are_kept_keep_their_values(how):
    data = TensorDataset(torch.arange(3000.0).view(300, 10))
    kept = [b for (b,) in DataLoader(data, batch_size=5, **how)]
    assert torch.equal(torch.cat(kept), data.tensors[0])


def test_long_batches_of_indices_and_of_python_objects_do_not_block():
    class Texts(Numbers):
        def __getitem__(self, i):
            return "x" * 1000

    loader = DataLoader(Texts(20_000), batch_size=5000, num_workers=2, prefetch_factor=3)
    assert [len(batch) for batch in loader] == [5000] * 4


@WORKERS
def test_two_iterators_of_a_loader_do_not_meet(how):
    loader = DataLoader(Squares(6), batch_size=2, **how)
    pairs = list(zip(loader, loader))
    assert [(a.tolist(), b.tolist()) for a, b in pairs] == [([0, 1],) * 2, ([4, 9],) * 2, ([16, 25],) * 2]


@WORKERS
def test_a_loader_within_a_worker_loads(how):
    class Nested(Squares):
        def __getitem__(self, i):
            return [int(b) for b in DataLoader(Squares(i), **(THREADS if i % 2 else HERE))]

    got = list(DataLoader(Nested(4), batch_size=None, **how))
    assert got == [[], [0], [0, 1], [0, 1, 4]]


@WORKERS
def test_threads_of_the_program_may_each_have_a_loader(how):
    results = {}

    def load(n):
        results[n] = [int(b) for b in DataLoader(Squares(n), **how)]

    threads = [threading.Thread(target=load, args=(n,)) for n in (5, 9, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
    assert results == {n: [i * i for i in range(n)] for n in (5, 9, 13)}


def test_other_start_methods_serve_too():
    data = TensorDataset(torch.arange(10))
    for method in ("spawn", "forkserver"):
        loader = DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context=method)
        assert [i for (b,) in loader for i in b.tolist()] == list(range(10))


def test_an_iterator_is_of_one_process(run):
    iterator = iter(DataLoader(Numbers(8), num_workers=1))
    next(iterator)

    def use():
        try:
            next(iterator)
        except RuntimeError as e:
            os._exit(5 if "belongs to the process that made it" in str(e) else 1)

    process = run(use)
    process.join(10)
    assert process.exitcode == 5
    assert len(list(iterator)) == 7


class Sleeping(Squares):
    """The first sample takes until ``last`` is set."""

    def __init__(self, n):
        super().__init__(n)
        self.last = multiprocessing.get_context("fork").Event()

    def __getitem__(self, i):
        if i == 0:
            self.last.wait(100)
        return i


@WORKERS
def test_without_an_order_others_do_the_work_of_a_slow_worker(how):
    data = Sleeping(10)
    got = []
    for batch in DataLoader(data, in_order=False, **how):
        got.append(batch.item())
        if got[-1] == 9:
            data.last.set()
    assert got == [1, 3, 4, 5, 6, 7, 8, 9, 0, 2]  # batch 2 waits behind batch 0
    assert [b.item() for b in DataLoader(data, **how)] == list(range(10))


def test_a_worker_process_is_told_to_use_threads_for_a_loader_of_its_own():
    class Nested(Squares):
        def __getitem__(self, i):
            return list(DataLoader(Squares(i), num_workers=1))

    with pytest.raises(AssertionError, match="not allowed to have children.* num_workers=0 or worker_kind='thread'"):
        list(DataLoader(Nested(2), num_workers=1))


def test_a_loader_with_workers_can_be_copied():
    loader = DataLoader(Squares(4), num_workers=1, persistent_workers=True)
    first = iter(loader)
    for other in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
        assert [b.item() for b in other] == [0, 1, 4, 9] and other._iterator is not first
    with pytest.raises(NotImplementedError, match="ProcessIterator cannot be pickled or copied; the DataLoader can"):
        copy.copy(first)
    assert [b.item() for b in first] == [0, 1, 4, 9]
