"""Backend nccl over a library of the tests, which has NCCL's interface and computes in the CPU's memory.

Everything of ours runs: the binding is compiled, each collective goes through it, errors come back.
"""

import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch.distributed._engines.nccl import group, library

LIMIT = 120
SOURCES = Path(__file__).parent / "data" / "nccl"
pytestmark = pytest.mark.skipif(library._compiler() is None, reason="needs a C++ compiler")


class Host:
    """The processor in place of a GPU: work is done when a call returns, or when a test says so."""

    type = "cpu"
    finished = True

    @staticmethod
    def stream():
        return 0

    @classmethod
    def mark(cls):
        return cls

    @classmethod
    def query(cls):
        return cls.finished


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nccl")
    command = [library._compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{library.SOURCE.parent / 'cuda'}"]
    command += [f"-I{SOURCES}", str(SOURCES / "library.cpp"), "-o", str(folder / "libnccl.so.2"), "-lrt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def nccl(made, monkeypatch, ranks):
    """As ``ranks``, with backend nccl."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(made))
    monkeypatch.setattr(library, "found", lambda: (SOURCES, str(made / "libnccl.so.2")))
    monkeypatch.setattr(library, "missing", lambda: None)
    monkeypatch.setattr(group.NcclGroup.__init__, "__defaults__", (Host,))  # in place of the GPU
    library.load.cache_clear()
    library.load()  # compiled once, not by each rank
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)

    def make(rank, size):
        dist.init_process_group("nccl", store=store, rank=rank, world_size=size)

    yield lambda size, function, **more: ranks(size, function, make=make, **more)
    store.close()
    library.load.cache_clear()


def value(rank, n=5, dtype=torch.float64):
    return torch.randn(n, dtype=dtype, generator=torch.Generator().manual_seed(rank))


def test_every_collective_goes_through_the_binding(nccl):
    size = 3

    def work(rank):
        assert dist.get_backend() == "nccl"
        assert dist.group.WORLD.engine() == "NCCL 2.28.3"
        values = [value(r) for r in range(size)]
        total = values[0] + values[1] + values[2]
        for op, expected in (
            (dist.ReduceOp.SUM, total),
            (dist.ReduceOp.AVG, total / 3),
            (dist.ReduceOp.PRODUCT, values[0] * values[1] * values[2]),
            (dist.ReduceOp.MAX, torch.stack(values).amax(0)),
            (dist.ReduceOp.MIN, torch.stack(values).amin(0)),
            (dist._make_nccl_premul_sum(0.5), total / 2),
        ):
            x = value(rank)
            dist.all_reduce(x, op)
            torch.testing.assert_close(x, expected)
        x = value(rank)
        dist.reduce(x, 1)
        torch.testing.assert_close(x, total if rank == 1 else values[rank])
        x = value(rank).float()
        dist.broadcast(x, 2)
        assert torch.equal(x, values[2].float())
        outputs = [torch.empty(5, dtype=torch.float64) for _ in range(size)]
        dist.all_gather(outputs, value(rank))
        assert all(map(torch.equal, outputs, values))
        joined = torch.empty(15, dtype=torch.float64)
        dist.all_gather_into_tensor(joined, value(rank))
        assert torch.equal(joined, torch.cat(values))
        piece = torch.empty(5, dtype=torch.float64)
        dist.reduce_scatter_tensor(piece, torch.cat([value(rank) * (r + 1) for r in range(size)]))
        torch.testing.assert_close(piece, total * (rank + 1))
        gathered = [torch.empty(5, dtype=torch.float64) for _ in range(size)] if rank == 1 else None
        dist.gather(value(rank), gathered, 1)
        assert rank != 1 or all(map(torch.equal, gathered, values))
        dist.scatter(piece, values if rank == 0 else None, 0)
        assert torch.equal(piece, values[rank])
        outputs = [torch.empty(r + 1) for r in range(size)]
        dist.all_to_all(outputs, [torch.full((rank + 1,), float(10 * rank + r)) for r in range(size)])
        assert [o.tolist() for o in outputs] == [[10.0 * r + rank] * (r + 1) for r in range(size)]
        dist.barrier()
        if rank == 0:
            dist.send(torch.arange(4), 2)
        elif rank == 2:
            x = torch.zeros(4, dtype=torch.int64)
            assert dist.recv(x, 0) == 0
            assert x.tolist() == [0, 1, 2, 3]

    nccl(size, work)


def test_strided_tensors_bools_complex_numbers_and_groups(nccl):
    def work(rank):
        x = torch.zeros(3, 4)
        x.t()[1] = rank + 1.0
        dist.all_reduce(x.t()[1])
        assert x.sum().item() == 9.0
        flags = torch.tensor([rank == 0, True, False])
        dist.all_reduce(flags)
        assert flags.tolist() == [True, True, False]
        flags = torch.tensor([rank == 0, True, False])
        dist.all_reduce(flags, dist.ReduceOp.PRODUCT)
        assert flags.tolist() == [False, True, False]
        z = torch.tensor([1j * rank, 2.0])
        dist.all_reduce(z)
        assert z.tolist() == [1j, 4.0]
        some = dist.new_group([1])
        assert (some is dist.GroupMember.NON_GROUP_MEMBER) == (rank == 0)
        if rank == 1:
            dist.all_reduce(x, group=some)
        work = dist.all_reduce(torch.ones(2), async_op=True)
        assert work.get_future().wait()[0].tolist() == [2.0, 2.0]
        assert work.is_success()

    nccl(2, work)


def test_training_in_parallel_goes_through_it(nccl):
    def work(rank):
        torch.manual_seed(rank)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
        model(torch.full((4, 3), float(rank))).sum().backward()
        return model.module.weight.grad.tolist()

    assert nccl(2, work) == [[[2.0] * 3] * 2] * 2


def test_what_nccl_lacks_is_refused(nccl):
    def work(rank):
        x = torch.ones(2)
        with pytest.raises(ValueError, match="NCCL has no <ReduceOp.BXOR> for torch.int64"):
            dist.all_reduce(torch.ones(2, dtype=torch.int64), dist.ReduceOp.BXOR)
        with pytest.raises(ValueError, match="NCCL has no tags, got 3"):
            dist.send(x, 1 - rank, tag=3)
        with pytest.raises(NotImplementedError, match="NCCL receives from one rank"):
            dist.recv(x)
        with pytest.raises(TypeError, match="NCCL has no torch.int16"):
            dist.all_reduce(torch.ones(2, dtype=torch.int16))
        group.NcclGroup._device_type = "cuda"
        del dist.group.WORLD._device_type
        with pytest.raises(ValueError, match="the tensor is on cpu; this group carries tensors of cuda"):
            dist.all_reduce(x)

    nccl(2, work)


def test_what_nccl_says_reaches_the_caller(nccl, monkeypatch):
    def work(rank):
        dist.barrier()
        monkeypatch.setenv("TEST_NCCL_FAILS", str(rank))
        dist.all_reduce(torch.ones(2))

    for result in nccl(2, work, errors=True):
        assert isinstance(result, dist.DistBackendError), result
        assert "(collective 1 of group default): ncclAllReduce: unhandled system error (the test wanted it)" in str(
            result
        )


def test_a_link_that_breaks_and_time_that_passes_end_the_work(nccl, monkeypatch):
    def work(rank):
        monkeypatch.setattr(Host, "finished", False)
        waiting = dist.all_reduce(torch.ones(2), async_op=True)
        assert not waiting.is_completed()
        if rank == 0:
            monkeypatch.setenv("TEST_NCCL_BREAKS", "1")
            with pytest.raises(dist.DistBackendError, match=r"NCCL: remote process exited \(a link broke\)"):
                waiting.wait()
        else:
            with pytest.raises(dist.DistBackendError, match=r"all_reduce .*timed out after 0.1 s"):
                waiting.wait(timedelta(seconds=0.1))
        with pytest.raises(dist.DistBackendError, match="broke|timed out"):
            dist.all_reduce(torch.ones(2))

    nccl(2, work)
