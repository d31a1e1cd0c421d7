"""The loader: here, with processes and with threads; what it gives and what it says when something goes wrong."""

import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch import _cold
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Numbers(Dataset):
    """Sample i is (i, a tensor full of i)."""

    def __init__(self, n=20, size=5):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i, torch.full((self.size,), float(i))


class Stream(IterableDataset):
    """Each worker gives its share of range(n)."""

    def __init__(self, n, share=True):
        self.n = n
        self.share = share

    def __iter__(self):
        info = get_worker_info()
        step, first = (info.num_workers, info.id) if info and self.share else (1, 0)
        return iter(range(first, self.n, step))


class Failing(Numbers):
    def __init__(self, fail, at=7, n=20):
        super().__init__(n)
        self.fail = fail
        self.at = at

    def __getitem__(self, i):
        if i == self.at:
            self.fail()
        return super().__getitem__(i)


WORKERS = [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 2, "worker_kind": "thread"}]


@pytest.mark.parametrize("how", WORKERS)
def test_batches_come_in_order_and_whole(how):
    loader = DataLoader(Numbers(23), batch_size=4, **how)
    assert len(loader) == 6
    for _ in range(2):
        batches = list(loader)
        assert [b[0].tolist() for b in batches] == [list(range(i, min(i + 4, 23))) for i in range(0, 23, 4)]
        assert all(b[1].tolist() == [[float(i)] * 5 for i in b[0].tolist()] for b in batches)
    assert len(list(DataLoader(Numbers(23), batch_size=4, drop_last=True, **how))) == 5


@pytest.mark.parametrize("how", WORKERS)
def test_without_batches_samples_come_converted(how):
    loader = DataLoader(Numbers(5), batch_size=None, **how)
    assert [(i, t.tolist()) for i, t in loader] == [(i, [float(i)] * 5) for i in range(5)]


@pytest.mark.parametrize("how", WORKERS[:2])
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


@pytest.mark.parametrize("how", WORKERS)
def test_a_shuffled_order_follows_the_seed_and_not_the_workers(how):
    def order():
        torch.manual_seed(11)
        return [i for b in DataLoader(Numbers(30), batch_size=7, shuffle=True, **how) for i in b[0].tolist()]

    first = order()
    assert sorted(first) == list(range(30)) != first and order() == first
    torch.manual_seed(11)
    assert first == [i for b in DataLoader(Numbers(30), batch_size=7, shuffle=True) for i in b[0].tolist()]


@pytest.mark.parametrize("how", WORKERS)
def test_streams_are_shared_by_their_workers(how):
    loader = DataLoader(Stream(23), batch_size=4, **how)
    got = [i for b in loader for i in b.tolist()]
    assert sorted(got) == list(range(23))
    assert sorted(i for b in DataLoader(Stream(23), batch_size=4, drop_last=True, **how) for i in b.tolist()) != got
    assert sorted(int(i) for i in DataLoader(Stream(5), batch_size=None, **how)) == list(range(5))


def test_a_stream_that_is_longer_than_promised_warns():
    class Long(Stream):
        def __len__(self):
            return 4

    loader = DataLoader(Long(8), batch_size=2)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="promised 4 samples, and batch 3 is more"):
        assert len(list(loader)) == 4


@pytest.mark.parametrize("how", WORKERS)
def test_order_may_be_given_up(how):
    loader = DataLoader(Numbers(20), batch_size=3, in_order=False, **how)
    assert sorted(i for b in loader for i in b[0].tolist()) == list(range(20))


@pytest.mark.parametrize("how", WORKERS[1:])
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


def test_seeds_differ_by_worker_and_repeat():
    class Drawn(Numbers):
        def __getitem__(self, i):
            info = get_worker_info()
            return info.id, torch.rand(1).item(), random.random(), float(np.random.rand()), info.seed

    def draw():
        torch.manual_seed(4)
        return [
            tuple(x.item() if isinstance(x, torch.Tensor) else x for x in sample)
            for sample in DataLoader(Drawn(8), batch_size=None, num_workers=2)
        ]

    first = draw()
    assert first == draw()
    for column in (1, 2, 3):
        assert len({sample[column] for sample in first}) == 8
    assert len({sample[4] for sample in first}) == 2


@pytest.mark.parametrize("how", WORKERS[1:])
def test_init_functions_run_in_the_worker(how):
    class Marked(Numbers):
        def __getitem__(self, i):
            return get_worker_info().dataset.mark

    def mark(worker_id):
        get_worker_info().dataset.mark = 7

    assert list(DataLoader(Marked(2), batch_size=None, worker_init_fn=mark, **how)) == [7, 7]


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


@pytest.mark.parametrize("how", WORKERS)
def test_an_error_is_raised_here_with_its_traceback(how):
    def fail():
        raise ValueError("sample is bad")

    with pytest.raises(ValueError, match="sample is bad") as info:
        list(DataLoader(Failing(fail), batch_size=4, **how))
    if how["num_workers"]:
        text = str(info.value)
        assert "Caught ValueError in DataLoader worker" in text and "in __getitem__" in text
        if "worker_kind" not in how:
            assert "fetching sample 3 of batch 1" in text


def test_errors_with_odd_constructors_and_keys_are_readable():
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(f"{a}-{b}")

    def odd():
        raise Odd(1, 2)

    def key():
        return {}["absent"]

    with pytest.raises(RuntimeError, match="Caught Odd"):
        list(DataLoader(Failing(odd), num_workers=1))
    with pytest.raises(KeyError) as info:
        list(DataLoader(Failing(key), num_workers=1))
    assert "\n" in str(info.value) and "'absent'" in str(info.value)


def test_an_error_while_starting_is_raised_here():
    def fail(worker_id):
        raise ValueError("no start")

    for how in WORKERS[1:]:
        with pytest.raises(ValueError, match="while starting DataLoader worker"):
            list(DataLoader(Numbers(), worker_init_fn=fail, **how))


@pytest.mark.parametrize(
    ("fail", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by signal SIGKILL .* memory runs out"),
        (lambda: os._exit(3), "exited with code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "was killed by signal SIGSEGV"),
    ],
)
def test_a_dead_worker_is_reported_with_what_it_was_doing(fail, text):
    loader = DataLoader(Failing(fail), batch_size=4, num_workers=2)
    with pytest.raises(RuntimeError, match=rf"(?s)worker 1 \(pid \d+\) {text}") as info:
        list(loader)
    assert "while it was fetching sample 3 of batch 1 of Failing" in str(info.value)


def test_a_dead_worker_is_noticed_while_its_own_child_lives():
    reader, writer = os.pipe()

    def fail():
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
        os.write(writer, str(child).encode())
        os._exit(3)

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="exited with code 3"):
        list(DataLoader(Failing(fail), num_workers=1))
    assert time.monotonic() - begin < 15
    os.kill(int(os.read(reader, 20)), signal.SIGKILL)
    os.close(reader)
    os.close(writer)


def went_on(iterator):
    """What comes of an iterator whose errors are passed over: the batches and the errors' texts."""
    batches, errors = [], []
    while True:
        try:
            batches.append(next(iterator))
        except StopIteration:
            return batches, errors
        except RuntimeError as e:
            errors.append(str(e))


@pytest.mark.parametrize("in_order", [True, False])
def test_who_passes_over_a_dead_worker_gets_the_other_batches(in_order):
    loader = DataLoader(Failing(lambda: os._exit(3), n=40), batch_size=4, num_workers=2, in_order=in_order)
    batches, errors = went_on(iter(loader))
    assert len(errors) == 1 and "worker 1" in errors[0] and "fetching sample 3 of batch 1" in errors[0]
    got = [b[0].tolist() for b in batches]
    expected = [list(range(i, i + 4)) for i in range(0, 40, 4) if i != 4]
    assert (got if in_order else sorted(got)) == expected
    assert all(b[1].tolist() == [[float(i)] * 5 for i in b[0].tolist()] for b in batches)


@pytest.mark.parametrize("how", WORKERS[1:])
def test_who_passes_over_a_stuck_worker_gets_the_other_batches(how):
    loader = DataLoader(Failing(lambda: time.sleep(3), n=20), batch_size=2, timeout=0.4, **how)
    batches, errors = went_on(iter(loader))
    assert len(errors) == 1 and "timed out after 0.4 seconds" in errors[0] and "sample 1 of batch 3" in errors[0]
    assert [b[0].tolist() for b in batches] == [[i, i + 1] for i in range(0, 20, 2) if i != 6]


def test_workers_that_stay_are_replaced_when_one_has_died():
    loader = DataLoader(Failing(lambda: os._exit(3), n=10), num_workers=2, persistent_workers=True)
    for _ in range(2):
        batches, errors = went_on(iter(loader))
        assert len(errors) == 1 and [b[0].item() for b in batches] == [i for i in range(10) if i != 7]
    with pytest.raises(RuntimeError, match="exited with code 3"):
        list(loader)
    os.kill(loader._iterator._workers[0].process.pid, signal.SIGKILL)  # while it waits for work
    loader._iterator._workers[0].process.join(10)
    with pytest.raises(RuntimeError, match="SIGKILL while it was waiting for work"):
        list(loader)
    batches, errors = went_on(iter(loader))
    assert len(batches) == 9


def test_a_stream_goes_on_without_the_part_of_a_dead_worker():
    class Dying(Stream):
        def __iter__(self):
            for i in super().__iter__():
                if i == 7:
                    os._exit(3)
                yield i

    loader = DataLoader(Dying(20), batch_size=2, num_workers=2)
    batches, errors = went_on(iter(loader))
    assert len(errors) == 1
    got = sorted(i for b in batches for i in b.tolist())
    assert [i for i in got if i % 2 == 0] == list(range(0, 20, 2)) and [i for i in got if i % 2] in ([1, 3], [])


def test_a_worker_that_never_starts_does_not_make_an_endless_loop():
    loader = DataLoader(Numbers(6), num_workers=2, worker_init_fn=lambda i: os._exit(4))
    batches, errors = went_on(iter(loader))
    assert batches == [] and 1 <= len(errors) <= 6 and "while it was starting" in errors[0]


class Deadly:
    """An index that ends whoever unpickles it."""

    def __reduce__(self):
        return os._exit, (5,)


def test_an_index_that_no_worker_survives_costs_its_own_batch_alone():
    entries = [0, 1, Deadly(), 3, 4, 5]
    batches, errors = went_on(iter(DataLoader(Numbers(6), batch_size=None, sampler=entries, num_workers=2)))
    assert sorted(i for i, _ in batches) == [0, 1, 3, 4, 5]
    assert 1 <= len(errors) <= 2 and "exited with code 5 while it was waiting for work" in errors[0]


class Sizes(Dataset):
    """The sum of an index, which is a list or a tensor of numbers; a negative one ends the worker."""

    def __getitem__(self, entry):
        total = int(sum(entry))
        return total if total >= 0 else os._exit(3)


@pytest.mark.parametrize("entry", [torch.arange(10_000_000)[:4], torch.arange(30_000), list(range(30_000))])
def test_indices_that_a_dead_worker_had_not_read_are_let_go(entry):
    from torch.multiprocessing import _segments

    def live():
        gc.collect()
        _segments.sweep()
        return _segments.own_arena().arena.stats()["live_blocks"]

    before = live()
    entries = [entry, [-1], *[entry] * 6]
    loader = DataLoader(Sizes(), batch_size=None, sampler=entries, num_workers=1, prefetch_factor=8)
    sums, errors = went_on(iter(loader))
    assert sums == [sum(entry)] * 7 and len(errors) == 1
    assert live() == before


@pytest.mark.parametrize("history", [False, True])
def test_samples_with_gradients_do_not_leave_a_worker(history):
    pytest.importorskip("torch.autograd")
    samples = [torch.ones(2, requires_grad=True) * 1 if history else torch.ones(2, requires_grad=True)] * 4
    assert next(iter(DataLoader(samples, batch_size=2))).requires_grad
    with pytest.raises(RuntimeError, match=r"sample 0 of the batch requires grad, .* detach\(\) it in the data set"):
        next(iter(DataLoader(samples, batch_size=2, num_workers=1)))


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


def test_a_loop_left_early_leaves_no_descriptor_and_no_segment():
    from torch.multiprocessing import _segments

    for _ in DataLoader(Numbers(2), num_workers=1):
        pass
    _segments.sweep()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        for _ in DataLoader(Numbers(100), num_workers=2):
            break
        gc.collect()
    _segments.sweep()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("how", [["--pause", "0.02"], ["--kind", "thread"], ["--any-order", "--pause", "0.02"]])
def test_a_short_soak(how):
    script = pathlib.Path(__file__).parent / "soak" / "loader.py"
    done = subprocess.run(
        [sys.executable, str(script), "--batches", "1500", "--slow", "0.02", *how],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stuck_worker_is_reported_with_its_stack():
    def stick():
        signal.pause()

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.5 seconds") as info:
        list(DataLoader(Failing(stick), batch_size=4, num_workers=2, timeout=0.5))
    text = str(info.value)
    assert "worker 1" in text and "fetching sample 3 of batch 1" in text and "in stick" in text
    assert time.monotonic() - begin < 10


def test_slow_workers_are_described_in_a_warning(monkeypatch):
    from torch.utils.data import iterator

    batches = iter(DataLoader(Failing(lambda: time.sleep(2)), num_workers=1))
    next(batches)  # the start of the worker may be slow as well
    monkeypatch.setattr(iterator, "SLOW", 0.5)
    text = r"(?s)no batch for 0 seconds: worker 0 .* fetching sample 0 of batch 7.*in __getitem__"
    with pytest.warns(UserWarning, match=text):
        assert len(list(batches)) == 19


def test_threads_can_time_out_too():
    with pytest.raises(RuntimeError, match=r"(?s)worker thread 1 is fetching sample 0 of batch 7.*in __getitem__"):
        list(DataLoader(Failing(lambda: time.sleep(2)), num_workers=2, worker_kind="thread", timeout=0.2))


def test_a_loop_left_early_ends_its_workers():
    iterator = iter(DataLoader(Numbers(1000), num_workers=2))
    next(iterator)
    pids = [w.process.pid for w in iterator._workers]
    del iterator
    gc.collect()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_long_batches_of_indices_and_of_python_objects_do_not_block():
    class Texts(Numbers):
        def __getitem__(self, i):
            return "x" * 1000

    loader = DataLoader(Texts(20_000), batch_size=5000, num_workers=2, prefetch_factor=3)
    assert [len(batch) for batch in loader] == [5000] * 4


def test_other_start_methods_serve_too():
    data = TensorDataset(torch.arange(10))
    for method in ("spawn", "forkserver"):
        loader = DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context=method)
        assert [i for (b,) in loader for i in b.tolist()] == list(range(10))


INTERRUPTED = """
import os, signal, sys, time, torch
from torch.utils.data import DataLoader, Dataset
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
class Slow(Dataset):
    def __len__(self): return 100
    def __getitem__(self, i):
        if i > 2: time.sleep(30)
        return i
for i, batch in enumerate(DataLoader(Slow(), num_workers=2)):
    if i == 1:
        print("ready", flush=True)
"""


def test_an_interrupt_ends_everything_at_once_with_one_traceback():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)  # into the wait for the third batch
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - begin < 5
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
    assert subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True, check=False).stdout == ""


def test_workers_end_with_a_parent_that_is_killed():
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("if i > 2: time.sleep(30)", "pass").replace("print(", "time.sleep(1); print(")
         .replace('"ready", flush=True)', '"ready", flush=True); signal.pause()')],
        stdout=subprocess.PIPE, start_new_session=True, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait(10)
    process.stdout.close()
    deadline = time.monotonic() + 10
    while subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, check=False).stdout:
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


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
            DataLoader(Stream(3), **wrong)
    with pytest.raises(TypeError, match="must be a context or a start method"):
        DataLoader(Numbers(), num_workers=1, multiprocessing_context=3)
    with pytest.warns(UserWarning, match="workers on .* processors may be slower"):
        DataLoader(Numbers(), num_workers=1000)


def test_pinning_without_a_gpu_warns_and_gives_ordinary_batches():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning, match="no CUDA device"):
        assert len(list(DataLoader(Numbers(2), pin_memory=True))) == 2


def test_names_that_third_parties_use():
    import torch.utils.data.dataloader
    from torch.utils.data._utils.collate import default_collate

    assert torch.utils.data.dataloader.default_collate is default_collate


@pytest.mark.parametrize(("workers", "kind"), [(0, "SingleProcess"), (1, "MultiProcessing")])
def test_batches_are_ranges_of_a_profile(workers, kind):
    loader = DataLoader(Numbers(4), batch_size=2, num_workers=workers)
    session = _cold.start_profile(False, False, False)
    assert len(list(loader)) == 2
    events = _cold.stop_profile(session)["events"]
    names = [event[0] for event in events if event[8] == -1 and "#" in event[0]]
    assert names == [f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"] * 3  # the third finds the end
    assert any(event[0] == "aten::stack" for event in events) == (workers == 0)
