"""Workers that die or are stuck: what is told of them, and that the others go on."""

import faulthandler
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from loaders import PROCESSES, WORKERS, Failing, Numbers, Raising, Share, Squares, went_on
from torch.utils.data import DataLoader, Dataset

PATIENCE = 3  # seconds of a loader for a batch: a busy machine takes its time to start a worker


@pytest.mark.parametrize(
    ("fail", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: SIGKILL.* memory runs out"),
        (lambda: os._exit(3), "exited unexpectedly with code 3"),
        (lambda: (faulthandler.disable(), os.kill(os.getpid(), signal.SIGSEGV)), "is killed by signal: SIGSEGV"),
    ],
)
def test_a_dead_worker_is_reported_with_what_it_was_doing(fail, text):
    loader = DataLoader(Failing(fail), batch_size=4, num_workers=2)
    with pytest.raises(RuntimeError, match=rf"(?s)^DataLoader worker \(pid \d+\) {text}") as info:
        list(loader)
    assert "worker 1 was fetching sample 3 of batch 1 of Failing" in str(info.value)


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
    with pytest.raises(RuntimeError, match=rf"worker \(pid \d+\) is killed by signal: {number.name}; worker 1 was"):
        list(DataLoader(Dying(8), **PROCESSES))
    assert time.monotonic() - begin < 15


def test_what_ends_a_process_is_reported():
    for error, text in (
        (SystemExit(3), "exited unexpectedly with code 3"),
        (KeyboardInterrupt("no"), "exited unexpectedly with code 130"),
    ):
        with pytest.raises(RuntimeError, match=f"{text}; worker 1 was fetching sample 0 of batch 5"):
            list(DataLoader(Raising(error), **PROCESSES))


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
    with pytest.raises(RuntimeError, match="exited unexpectedly with code 3"):
        list(DataLoader(Failing(fail), num_workers=1))
    assert time.monotonic() - begin < 15
    os.kill(int(os.read(reader, 20)), signal.SIGKILL)
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("in_order", [True, False])
def test_who_passes_over_a_dead_worker_gets_the_other_batches(in_order):
    loader = DataLoader(Failing(lambda: os._exit(3), n=40), batch_size=4, num_workers=2, in_order=in_order)
    batches, errors = went_on(iter(loader))
    assert len(errors) == 1 and "worker 1" in errors[0] and "fetching sample 3 of batch 1" in errors[0]
    got = [b[0].tolist() for b in batches]
    expected = [list(range(i, i + 4)) for i in range(0, 40, 4) if i != 4]
    assert (got if in_order else sorted(got)) == expected
    assert all(b[1].tolist() == [[float(i)] * 5 for i in b[0].tolist()] for b in batches)


@WORKERS
def test_who_passes_over_a_stuck_worker_gets_the_other_batches(how):
    end = threading.Event()
    loader = DataLoader(Failing(lambda: end.wait(100), n=20), batch_size=2, timeout=PATIENCE, **how)
    batches, errors = went_on(iter(loader))
    end.set()
    assert len(errors) == 1 and "timed out after 3 seconds" in errors[0] and "sample 1 of batch 3" in errors[0]
    assert [b[0].tolist() for b in batches] == [[i, i + 1] for i in range(0, 20, 2) if i != 6]


def test_workers_that_stay_are_replaced_when_one_has_died():
    loader = DataLoader(Failing(lambda: os._exit(3), n=10), num_workers=2, persistent_workers=True)
    for _ in range(2):
        batches, errors = went_on(iter(loader))
        assert len(errors) == 1 and [b[0].item() for b in batches] == [i for i in range(10) if i != 7]
    with pytest.raises(RuntimeError, match="exited unexpectedly with code 3"):
        list(loader)
    os.kill(loader._iterator._workers[0].process.pid, signal.SIGKILL)  # while it waits for work
    loader._iterator._workers[0].process.join(10)
    with pytest.raises(RuntimeError, match="SIGKILL; worker 0 was waiting for work"):
        list(loader)
    batches, errors = went_on(iter(loader))
    assert len(batches) == 9


def test_a_stream_goes_on_without_the_part_of_a_dead_worker():
    class Dying(Share):
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
    assert batches == [] and 1 <= len(errors) <= 6 and "was starting" in errors[0]


class Deadly:
    """An index that ends whoever unpickles it."""

    def __reduce__(self):
        return os._exit, (5,)


def test_an_index_that_no_worker_survives_costs_its_own_batch_alone():
    entries = [0, 1, Deadly(), 3, 4, 5]
    batches, errors = went_on(iter(DataLoader(Numbers(6), batch_size=None, sampler=entries, num_workers=2)))
    assert sorted(i for i, _ in batches) == [0, 1, 3, 4, 5]
    assert 1 <= len(errors) <= 2 and "exited unexpectedly with code 5; worker" in errors[0]


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


def test_a_stuck_worker_is_reported_with_its_stack():
    def stick():
        signal.pause()

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 3 seconds") as info:
        list(DataLoader(Failing(stick), batch_size=4, num_workers=2, timeout=PATIENCE))
    text = str(info.value)
    assert "worker 1" in text and "fetching sample 3 of batch 1" in text and "in stick" in text
    assert time.monotonic() - begin < 30


def test_slow_workers_are_described_in_a_warning(monkeypatch):
    from torch.utils.data import iterator

    batches = iter(DataLoader(Failing(lambda: time.sleep(2)), num_workers=1))
    next(batches)  # the start of the worker may be slow as well
    monkeypatch.setattr(iterator, "SLOW", 0.5)
    text = r"(?s)no batch for 0 seconds: worker 0 .* fetching sample 0 of batch 7.*in __getitem__"
    with pytest.warns(UserWarning, match=text):
        assert len(list(batches)) == 19


def test_threads_can_time_out_too():
    end = threading.Event()
    with pytest.raises(RuntimeError, match=r"(?s)worker thread 1 is fetching sample 0 of batch 7.*in __getitem__"):
        list(DataLoader(Failing(lambda: end.wait(100)), num_workers=2, worker_kind="thread", timeout=PATIENCE))
    end.set()


LATE = """
from torch.utils.data import DataLoader, Dataset
if __name__ == "__main__":
    class Late(Dataset):
        def __len__(self): return 3
        def __getitem__(self, i): return i
    list(DataLoader(Late(), num_workers=1, multiprocessing_context="spawn"))
"""


def test_a_spawned_worker_that_cannot_begin_is_explained(tmp_path):
    (tmp_path / "late.py").write_text(LATE)
    done = subprocess.run([sys.executable, tmp_path / "late.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Can't get attribute 'Late'" in done.stderr
    assert "worker 0 was starting its process of Late. Its own message, above, tells why" in done.stderr
