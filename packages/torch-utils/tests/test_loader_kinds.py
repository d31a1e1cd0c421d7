"""Here, with processes and with threads a loader does the same: results, arguments, errors, ends."""

import collections
import gc
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    TensorDataset,
    get_worker_info,
)

HERE, PROCESSES, THREADS = {}, {"num_workers": 2}, {"num_workers": 2, "worker_kind": "thread"}
KINDS = pytest.mark.parametrize("how", [HERE, PROCESSES, THREADS], ids=["here", "processes", "threads"])
WORKERS = pytest.mark.parametrize("how", [PROCESSES, THREADS], ids=["processes", "threads"])


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(f"no sample {i}")
        return i * i


class Threads:
    """The worker threads of loaders that run; they end soon after their iterator."""

    @staticmethod
    def running():
        return [t for t in threading.enumerate() if t.name.startswith("loader worker thread")]

    @classmethod
    def end(cls):
        deadline = time.monotonic() + 10
        while cls.running():
            assert time.monotonic() < deadline, "worker threads were left"
            time.sleep(0.01)


@pytest.fixture(autouse=True)
def no_threads_left():
    yield
    gc.collect()
    Threads.end()


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


class Share(IterableDataset):
    """The numbers below n, each from one worker."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        part = range(self.n) if info is None else range(info.id, self.n, info.num_workers)
        return iter(part)


@KINDS
def test_a_stream_is_shared_out_by_what_workers_know_of_themselves(how):
    for more in ({"batch_size": 3}, {"batch_size": None}, {"batch_size": 3, "in_order": False}):
        got = [x for b in DataLoader(Share(20), **more, **how) for x in torch.as_tensor(b).reshape(-1).tolist()]
        assert sorted(got) == list(range(20))
    assert get_worker_info() is None


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


@WORKERS
def test_order_by_a_generator_is_the_same_for_any_number_of_workers(how):
    def order(**more):
        generator = torch.Generator().manual_seed(9)
        loader = DataLoader(Squares(30), batch_size=4, shuffle=True, generator=generator, **more)
        return [[x for b in loader for x in b.tolist()] for _ in range(2)]

    first, second = order()
    assert first != second and order(**how) == [first, second] == order(**{**how, "num_workers": 1})


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


def test_seeds_of_workers_are_apart_and_follow_the_process():
    class Draws(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, info.seed, torch.initial_seed(), random.random(), np.random.rand(), torch.rand(()).item()

    def draw(seed, workers):
        torch.manual_seed(seed)
        return list(DataLoader(Draws(), batch_size=None, num_workers=workers))

    for workers in (1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, again, other = draw(1, workers), draw(1, workers), draw(2, workers)
        assert first == again != other
        assert len({s[1] for s in first}) == workers and all(s[1] == s[2] for s in first)
        assert {s[1] - s[0] for s in first} == {first[0][1]}  # a base and the number of the worker
        for column in (3, 4, 5):
            assert len({s[column] for s in first}) == 6


class Failing(Squares):
    def __init__(self, error, at=5, n=12):
        super().__init__(n)
        self.error, self.at = error, at

    def __getitem__(self, i):
        if i == self.at:
            raise self.error
        return super().__getitem__(i)


class Own(ValueError):
    pass


@KINDS
@pytest.mark.parametrize(
    "error", [ValueError("bad"), IndexError("bad"), OSError(5, "bad"), Own("bad"), NotImplementedError("bad"), AssertionError("bad")],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_errors_keep_their_class_and_the_loop_can_go_on(how, error):
    iterator = iter(DataLoader(Failing(error), batch_size=2, **how))
    assert next(iterator).tolist() == [0, 1] and next(iterator).tolist() == [4, 9]
    with pytest.raises(type(error), match="bad"):
        next(iterator)
    if how is not HERE:
        assert [b.tolist() for b in iterator] == [[36, 49], [64, 81], [100, 121]]


@WORKERS
def test_an_error_tells_where_it_was(how):
    with pytest.raises(ValueError) as info:
        list(DataLoader(Failing(ValueError("bad")), batch_size=2, **how))
    text, kind = str(info.value), "thread" if how is THREADS else "process"
    assert f"Caught ValueError in DataLoader worker {kind} 0, fetching sample 1 of batch 2" in text
    assert "Traceback (most recent call last)" in text and "raise self.error" in text and text.count("bad") >= 1


def test_what_would_end_a_thread_is_an_error_here():
    for error in (SystemExit(3), KeyboardInterrupt("no"), GeneratorExit()):
        with pytest.raises(
            RuntimeError, match=f"Caught RuntimeError in DataLoader worker thread.*(?s:.*){type(error).__name__}"
        ):
            list(DataLoader(Failing(error), **THREADS))


def test_what_ends_a_process_is_reported():
    for error, text in ((SystemExit(3), "exited with code 3"), (KeyboardInterrupt("no"), "exited with code 130")):
        with pytest.raises(RuntimeError, match=f"{text} while it was fetching sample 0 of batch 5"):
            list(DataLoader(Failing(error), **PROCESSES))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE])
def test_a_signal_that_ends_a_worker_is_named(number):
    class Dying(Squares):
        def __getitem__(self, i):
            if i == 3:
                signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
                os.kill(os.getpid(), number)
                time.sleep(20)
            return i

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"worker 1 \(pid \d+\) was killed by signal {number.name}"):
        list(DataLoader(Dying(8), **PROCESSES))
    assert time.monotonic() - begin < 15


def test_a_batch_that_cannot_be_pickled_is_an_error():
    iterator = iter(DataLoader(Squares(4), collate_fn=lambda s: (lambda: 0) if 4 in s else s[0], **PROCESSES))
    assert next(iterator) == 0 and next(iterator) == 1
    with pytest.raises(Exception, match="(?s)in DataLoader worker process 0, sending batch 2.*pickle"):
        next(iterator)
    assert next(iterator) == 9


@KINDS
def test_stop_iteration_of_a_data_set_does_not_end_the_loop_silently(how):
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Failing(StopIteration()), **how))


@KINDS
def test_the_iterator_of_a_stream_may_fail_at_its_start_or_later(how):
    class Broken(IterableDataset):
        def __init__(self, at):
            self.at = at

        def __iter__(self):
            if self.at == 0:
                raise OSError("no file")
            return self.items()

        def items(self):
            yield 1
            raise OSError("no more")

    with pytest.raises(OSError, match="no file"):
        list(DataLoader(Broken(0), **how))
    iterator = iter(DataLoader(Broken(1), batch_size=None, **how))
    assert next(iterator) == 1
    with pytest.raises(OSError, match="no more"):
        for _ in iterator:
            pass


@WORKERS
def test_workers_end_with_the_loop_however_it_ends(how):
    def alive(iterator):
        if how is THREADS:
            return bool(Threads.running())
        return any(pid_runs(pid) for pid in pids)

    for way in ("whole", "break", "error", "delete"):
        data = Failing(ValueError("bad")) if way == "error" else Squares(12)
        iterator = iter(DataLoader(data, **how))
        pids = [w.process.pid for w in iterator._workers] if how is PROCESSES else []
        try:
            for i, _ in enumerate(iterator):
                if way != "whole" and way != "error" and i == 3:
                    break
        except ValueError:
            pass
        if way != "whole":
            del iterator
        gc.collect()
        deadline = time.monotonic() + 10
        while alive(None):
            assert time.monotonic() < deadline, way
            time.sleep(0.01)


def pid_runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
def test_batches_that_are_kept_keep_their_values(how):
    data = TensorDataset(torch.arange(3000.0).view(300, 10))
    kept = [b for (b,) in DataLoader(data, batch_size=5, **how)]
    assert torch.equal(torch.cat(kept), data.tensors[0])


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = DataLoader(Promising(8, 8), batch_size=2, **how)
        assert len(loader) == 4
        list(loader)
    with pytest.raises(TypeError):
        len(DataLoader(Share(3), **how))


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


def test_wrapped_errors_are_raised_from_what_is_known_of_them():
    from torch.utils.data import ExceptionWrapper

    try:
        raise ValueError("one")
    except ValueError:
        wrapper = ExceptionWrapper(where="in a test")
        same = ExceptionWrapper(sys.exc_info(), "in a test")
    for each in (wrapper, same):
        with pytest.raises(ValueError, match="(?s)Caught ValueError in a test.*one"):
            each.reraise()


@pytest.mark.parametrize("how", [{}, {"num_workers": 1}, {"num_workers": 1, "worker_kind": "thread"}])
def test_iterators_have_a_length_and_the_next_of_2017(how):
    from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter

    iterator = iter(DataLoader(range(10), batch_size=3, **how))
    assert len(iterator) == 4 and iterator.next().tolist() == [0, 1, 2] and next(iterator).tolist() == [3, 4, 5]
    assert isinstance(iterator, _BaseDataLoaderIter) and iter(iterator) is iterator
    assert isinstance(iterator, _MultiProcessingDataLoaderIter) == (how == {"num_workers": 1})


def test_the_seed_of_a_pass_is_drawn_when_it_begins():
    def after(workers):
        torch.manual_seed(3)
        iterator = iter(DataLoader(range(4), num_workers=workers))
        drawn = torch.rand(1).item()
        next(iterator)
        return drawn

    assert after(0) == after(1)
