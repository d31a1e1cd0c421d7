"""Backend libgloo: the same collectives by the Gloo library."""

import os
import runpy
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.distributed._engines.gloo import library

CALLS = runpy.run_path(str(Path(__file__).parent / "data" / "calls.py"))["CALLS"]
needs_gloo = pytest.mark.skipif(library.missing() is not None, reason=str(library.missing()))


@pytest.fixture
def gloo(ranks):
    """As ``ranks``, with backend libgloo."""
    library.missing() or library.load()  # compiled once, not by each rank
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)

    def make(rank, size):
        dist.init_process_group(
            "libgloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=make.timeout)
        )

    make.timeout = 20

    def run(size, function, timeout=20, **options):
        make.timeout = timeout
        return ranks(size, function, make=make, **options)

    yield run
    store.close()


def value(rank, dtype=torch.float64, n=3000):
    return torch.randint(0, 5, (n,), generator=torch.Generator().manual_seed(rank)).to(dtype)


@needs_gloo
def test_all_collectives(gloo):
    def work(rank):
        assert dist.get_debug_info() == f"libgloo, rank {rank} of 3: the Gloo library"
        for dtype in (torch.uint8, torch.int64, torch.bfloat16, torch.float32, torch.float64, torch.complex128):
            x = value(rank, dtype)
            dist.all_reduce(x)
            assert torch.equal(x, value(0, dtype) + value(1, dtype) + value(2, dtype)), dtype
        x = torch.tensor([float(rank), float("nan") if rank == 1 else 0.0])
        dist.all_reduce(x, dist.ReduceOp.MIN)
        assert x[0] == 0
        assert x[1].isnan()
        x = value(rank)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert torch.allclose(x, (value(0) + value(1) + value(2)) / 3, rtol=1e-14)
        x = torch.sparse_coo_tensor([[rank, 3]], [1.0, 2.0], (4,))
        dist.all_reduce(x)
        assert x.to_dense().tolist() == [1.0, 1.0, 1.0, 6.0]
        x = value(rank)
        dist.broadcast(x, 2)
        assert torch.equal(x, value(2))
        x = value(rank)
        dist.reduce(x, 1)
        assert torch.equal(x, value(0) + value(1) + value(2) if rank == 1 else value(rank))
        outputs = [torch.empty(r + 1) for r in range(3)]
        dist.all_gather(outputs, torch.full((rank + 1,), float(rank)))
        assert [o.tolist() for o in outputs] == [[0.0], [1.0] * 2, [2.0] * 3]
        outputs = [torch.empty(3000, dtype=torch.float64) for _ in range(3)] if rank == 0 else None
        dist.gather(value(rank), outputs, 0)
        assert rank or all(torch.equal(o, value(r)) for r, o in enumerate(outputs))
        x = torch.empty(3000, dtype=torch.float64)
        dist.scatter(x, [value(r) for r in range(3)] if rank == 1 else None, 1)
        assert torch.equal(x, value(rank))
        dist.reduce_scatter(x, [value(rank + r) for r in range(3)])
        assert torch.equal(x, sum(value(r + rank) for r in range(3)))
        got = torch.empty(3 * [1, 2, 3][rank])
        dist.all_to_all_single(got, torch.arange(6.0), [[1, 2, 3][rank]] * 3, [1, 2, 3])
        assert got.tolist() == 3 * [[0.0], [1.0, 2.0], [3.0, 4.0, 5.0]][rank]
        everything = [None] * 3
        dist.all_gather_object(everything, {"rank": rank})
        assert everything == [{"rank": r} for r in range(3)]
        if rank == 0:
            assert {dist.recv(torch.zeros(2), tag=5) for _ in range(2)} == {1, 2}
        else:
            dist.send(torch.ones(2), 0, tag=5)
        group = dist.new_group([0, 2])
        if rank != 1:
            x = torch.tensor([float(rank)])
            dist.all_reduce(x, group=group)
            assert x.item() == 2
        works = [dist.all_reduce(torch.ones(5), async_op=True) for _ in range(4)]
        assert works[3].get_future().wait()[0].tolist() == [3.0] * 5
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        model(torch.full((1, 2), float(rank))).sum().backward()
        assert model.module.weight.grad.tolist() == [[1.0, 1.0]]
        with model.join():
            for _ in range(1 + rank):  # one, two and three batches
                model.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
        if rank == 2:
            assert torch.allclose(model.module.weight.grad, torch.full((1, 2), 1 / 3))
        dist.barrier()

    gloo(3, work)


@needs_gloo
@pytest.mark.parametrize("name", CALLS)
def test_a_rank_that_is_killed_ends_the_work_of_the_others(gloo, name):
    def work(rank):
        dist.barrier()
        if rank == 2:  # killed by a thread while it is in the call, again and again
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        for _ in range(100_000):
            CALLS[name](rank, 1_000_000)

    began = time.monotonic()
    first, second, third = gloo(3, work, timeout=8, errors=True)
    assert third.exitcode == -signal.SIGKILL
    for result in (first, second):
        assert isinstance(result, RuntimeError), result
    assert time.monotonic() - began < 30


@needs_gloo
def test_a_rank_that_does_not_come_is_waited_for_only_so_long(gloo):
    def work(rank):
        if rank == 0:
            with pytest.raises(dist.DistBackendError, match=r"all_reduce \(collective 0 of group libgloo\)"):
                dist.all_reduce(torch.ones(3))
        else:
            time.sleep(4)

    gloo(2, work, timeout=2)


def test_without_the_library_the_reason_is_given(monkeypatch):
    monkeypatch.setattr(library, "HEADERS", ())
    library.load.cache_clear()
    assert not dist.is_backend_available("libgloo")
    with pytest.raises(NotImplementedError, match="backend 'libgloo': the headers of Gloo are not installed"):
        dist.init_process_group("libgloo", store=dist.HashStore(), rank=0, world_size=1)
    library.load.cache_clear()


def test_a_barrier_by_the_store_names_all_who_are_missing():
    """The engine's own part needs no Gloo: each rank is a thread here."""
    from concurrent.futures import ThreadPoolExecutor

    from torch.distributed._engines.monitored import monitored_barrier

    store = dist.HashStore()

    def come(rank, number, who, all_ranks=True):
        try:
            return monitored_barrier(store, rank, [4, 5, 6, 7], number, 0.4, all_ranks, "g") if rank in who else None
        except dist.DistBackendError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        for number, who, all_ranks, missing in (
            (0, {0, 1, 2, 3}, True, None),
            (1, {0, 2}, True, "rank 5, 7"),
            (2, {0, 2}, False, "rank 5"),
        ):
            for rank, said in enumerate(threads.map(lambda r: come(r, number, who, all_ranks), range(4))):
                text = f"monitored_barrier (collective {number} of group g): {missing} failed to pass monitored_barrier"
                assert said == (None if missing is None or rank not in who else f"{text} within 0.4 s")


@needs_gloo
def test_a_monitored_barrier_names_who_is_missing(gloo):
    def work(rank):
        dist.monitored_barrier(timeout=timedelta(seconds=10))
        if rank == 1:
            time.sleep(6)
        dist.monitored_barrier(timeout=timedelta(seconds=2), wait_all_ranks=True)

    for result in gloo(3, work, errors=True):
        assert "rank 1 failed to pass monitored_barrier within 2 s" in str(result), result
