"""Errors of data sets, samplers and collate functions, on their way from a worker to the loop."""

import gc
import multiprocessing
import os
import pickle
import sys
import threading

import pytest
import torch
from loaders import KINDS, PROCESSES, THREADS, WORKERS, Failing, Numbers, Raising, Squares, Threads
from torch.utils.data import DataLoader, IterableDataset, TensorDataset


class Own(ValueError):
    pass


@KINDS
@pytest.mark.parametrize(
    "error", [ValueError("bad"), IndexError("bad"), OSError(5, "bad"), Own("bad"), NotImplementedError("bad"), AssertionError("bad")],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_errors_keep_their_class_and_the_loop_can_go_on(how, error):
    iterator = iter(DataLoader(Raising(error), batch_size=2, **how))
    assert next(iterator).tolist() == [0, 1] and next(iterator).tolist() == [4, 9]
    with pytest.raises(type(error), match="bad"):
        next(iterator)
    assert [b.tolist() for b in iterator] == [[36, 49], [64, 81], [100, 121]]


@WORKERS
def test_an_error_tells_where_it_was(how):
    with pytest.raises(ValueError) as info:
        list(DataLoader(Raising(ValueError("bad")), batch_size=2, **how))
    text, kind = str(info.value), "thread" if how is THREADS else "process"
    assert f"Caught ValueError in DataLoader worker {kind} 0, fetching sample 1 of batch 2" in text
    assert "Traceback (most recent call last)" in text and "raise self.error" in text and text.count("bad") >= 1


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

    for how in (PROCESSES, THREADS):
        with pytest.raises(ValueError, match="while starting DataLoader worker"):
            list(DataLoader(Numbers(), worker_init_fn=fail, **how))


def test_a_batch_that_cannot_be_pickled_is_an_error():
    iterator = iter(DataLoader(Squares(4), collate_fn=lambda s: (lambda: 0) if 4 in s else s[0], **PROCESSES))
    assert next(iterator) == 0 and next(iterator) == 1
    with pytest.raises(Exception, match="(?s)in DataLoader worker process 0, sending batch 2.*pickle"):
        next(iterator)
    assert next(iterator) == 9


@KINDS
def test_stop_iteration_of_a_data_set_does_not_end_the_loop_silently(how):
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Raising(StopIteration()), **how))


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


@pytest.mark.parametrize("history", [False, True])
def test_samples_with_gradients_do_not_leave_a_worker(history):
    pytest.importorskip("torch.autograd")
    samples = [torch.ones(2, requires_grad=True) * 1 if history else torch.ones(2, requires_grad=True)] * 4
    assert next(iter(DataLoader(samples, batch_size=2))).requires_grad
    with pytest.raises(RuntimeError, match=r"sample 0 of the batch requires grad, .* detach\(\) it in the data set"):
        next(iter(DataLoader(samples, batch_size=2, num_workers=1)))


def test_what_would_end_a_thread_is_an_error_here():
    for error in (SystemExit(3), KeyboardInterrupt("no"), GeneratorExit()):
        with pytest.raises(
            RuntimeError, match=f"Caught RuntimeError in DataLoader worker thread.*(?s:.*){type(error).__name__}"
        ):
            list(DataLoader(Raising(error), **THREADS))


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


@KINDS
def test_a_loop_that_passes_over_errors_is_told_of_each(how):
    class Bad(Squares):
        def __getitem__(self, i):
            raise NotImplementedError(f"no sample {i}")

    iterator, errors = iter(DataLoader(Bad(11), batch_size=2, **how)), 0
    while True:
        try:
            next(iterator)
        except NotImplementedError:
            errors += 1
        except StopIteration:
            break
    assert errors == 6


class Unreadable:
    def __init__(self, i):
        self.i = i

    def __reduce__(self):
        return (int, ("not a number",)) if self.i == 3 else (int, (self.i,))


def test_a_batch_that_cannot_be_unpickled_is_an_error_in_its_place():
    iterator = iter(DataLoader(Squares(6), collate_fn=lambda s: Unreadable(round(s[0] ** 0.5)), **PROCESSES))
    assert [next(iterator) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="(?s)where the loader unpickled a batch.*'not a number'"):
        next(iterator)
    assert list(iterator) == [4, 5]


@WORKERS
def test_workers_end_with_an_error_that_is_forgotten(how):
    gc.disable()  # no cycle of references may keep them
    try:
        for loop in (lambda loader: list(loader), lambda loader: [1 / 0 for _ in loader]):
            try:
                loop(DataLoader(Raising(ValueError("bad")), **how))
            except (ValueError, ZeroDivisionError):
                pass
        assert multiprocessing.active_children() == []
        Threads.end()
    finally:
        gc.enable()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_what_cannot_be_sent_to_a_new_process_is_named(method):
    how = {"num_workers": 1, "multiprocessing_context": method}
    locked = TensorDataset(torch.arange(3))
    locked.lock = threading.Lock()
    for kind, data, more, text in (
        (pickle.PicklingError, [1, 2], {"collate_fn": lambda s: s}, "collate_fn cannot be sent .* by start method"),
        (pickle.PicklingError, [1, 2], {"worker_init_fn": lambda i: None}, "worker_init_fn cannot be sent"),
        (TypeError, locked, {}, "dataset cannot be sent to a worker process .*lock.* multiprocessing_context='fork'"),
    ):
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises((kind, AttributeError), match=text):
            iter(DataLoader(data, **how, **more))
        assert len(os.listdir("/proc/self/fd")) <= before + 3  # of the resource tracker and the fork server
