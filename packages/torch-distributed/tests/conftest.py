"""Tests with several ranks: each is a forked process that meets the others at a store of the test's process."""

import faulthandler
import multiprocessing
import os
import signal
import time
import traceback
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

LIMIT = 120  # seconds that any test may take: far more than it does, for machines that are slow or busy


@pytest.fixture(autouse=True)
def hard_limit(request):
    """A test that hangs ends with the stacks of all its threads, and no process outlives its test."""
    faulthandler.dump_traceback_later(getattr(request.module, "LIMIT", LIMIT), exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
        raise AssertionError(f"{child} was left running")
    assert not dist.is_initialized()


class Died:
    """In place of a result: the rank ended without one."""

    def __init__(self, exitcode):
        self.exitcode = exitcode

    def __repr__(self):
        return f"Died({self.exitcode})"


def _rank(rank, size, function, pipe, make):
    faulthandler.register(signal.SIGUSR1)
    torch.set_num_threads(1)  # the ranks share the processors
    try:
        if make is not None:
            make(rank, size)
        result = function(rank)
    except BaseException as error:
        result, text = error, traceback.format_exc()
        error.__traceback__ = None
        error.__dict__.clear()  # it may hold the module that it happened in
        error.text = text
    pipe.send(result)
    pipe.close()
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def ranks():
    """``ranks(size, function)``: the results of ``function(rank)`` in as many processes, exceptions raised here.

    With ``errors=True`` exceptions are results too.  ``make(rank, size)`` initialises the default group.
    """
    context = multiprocessing.get_context("fork")
    started, stores = [], []

    def run(size, function, errors=False, make="store", timeout=20, limit=LIMIT - 3):
        if make == "store":
            store = dist.TCPStore("127.0.0.1", 0, is_master=True)
            stores.append(store)

            def make(rank, size):
                patience = timedelta(seconds=timeout)
                dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=patience)

        processes = []
        for rank in range(size):
            ours, theirs = context.Pipe(False)
            process = context.Process(target=_rank, args=(rank, size, function, theirs, make))
            process.start()
            theirs.close()
            started.append(process)
            processes.append((process, ours))
        deadline = time.monotonic() + limit
        results = []
        for process, pipe in processes:
            try:
                if pipe.poll(max(0, deadline - time.monotonic())):
                    results.append(pipe.recv())
                else:
                    os.kill(process.pid, signal.SIGUSR1)  # its stacks, to stderr
                    results.append(TimeoutError("hangs"))
            except EOFError:
                process.join(5)
                results.append(Died(process.exitcode))
        for process, _ in processes:
            process.join(max(0.1, deadline - time.monotonic()))
        failed = [(rank, r) for rank, r in enumerate(results) if isinstance(r, (BaseException, Died))]
        if failed and not errors:
            raise AssertionError("\n".join(f"rank {rank}: {getattr(r, 'text', r)}" for rank, r in failed))
        return results

    yield run
    for process in started:
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
    for store in stores:
        store.close()
