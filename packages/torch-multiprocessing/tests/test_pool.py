"""Pools, and processes of the other start methods."""

import operator

import numpy as np
import pytest
import torch
import torch.multiprocessing as mp


def fill(a, value):
    a.numpy().fill(value)
    return a


def total(a):
    return float(a.numpy().sum())


def test_executors_of_the_standard_library_run_on_our_contexts(ctx):
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2, mp_context=ctx) as executor:
        assert list(executor.map(total, [torch.from_numpy(np.ones(n)) for n in (1, 2, 3)])) == [1, 2, 3]


def test_a_pool_fills_a_hundred_tensors_in_place(ctx):
    tensors = [torch.from_numpy(np.zeros(10)).share_memory_() for _ in range(100)]
    with ctx.Pool(3) as pool:
        results = pool.starmap(fill, [(t, i) for i, t in enumerate(tensors)])
        pool.close()
        pool.join()
    assert all((t.numpy() == i).all() for i, t in enumerate(tensors))
    assert all(r.data_ptr() == t.data_ptr() for r, t in zip(results, tensors))


def test_an_error_in_a_pool_is_raised_here(ctx):
    with ctx.Pool(2) as pool, pytest.raises(ZeroDivisionError):
        pool.apply(operator.truediv, (1, 0))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_arguments_of_a_new_process_share_memory(method):
    ctx = mp.get_context(method)
    a, queue = torch.from_numpy(np.zeros(3)), ctx.Queue()
    process = ctx.Process(target=queue.put, args=(a,))
    process.start()
    back = queue.get(timeout=40)
    process.join(40)
    assert back.data_ptr() == a.data_ptr()


def test_what_a_spawned_process_made_can_be_received_after_it_ended():
    ctx = mp.get_context("spawn")
    queue = ctx.Queue()
    process = ctx.Process(target=_send_new, args=(queue,))
    try:
        process.start()
    except AttributeError:
        pytest.skip("this test module cannot be imported by a new process")
    process.join(40)
    if process.exitcode != 0:
        pytest.skip("this test module cannot be imported by a new process")
    assert queue.get(timeout=10).numpy().tolist() == [5, 5]


def _send_new(queue):
    queue.put(torch.from_numpy(np.full(2, 5.0)))


def test_contexts_know_each_other():
    ctx = mp.get_context("spawn")
    assert ctx.get_context() is ctx and ctx.get_context("fork") is mp.get_context("fork")
    with pytest.raises(ValueError, match="cannot find context for 'clone'"):
        mp.get_context("clone")
