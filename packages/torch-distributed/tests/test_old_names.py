"""Names of 2017 and 2018: the first interface, several tensors a rank, and the tcp backend."""

import socket

import pytest
import torch
import torch.distributed as dist
from torch.distributed import collectives, deprecated


def test_the_first_interface_is_todays(ranks):
    def work(rank):
        assert deprecated.get_rank() == rank
        x = torch.ones(2) * (rank + 1)
        deprecated.all_reduce(x, deprecated.reduce_op.SUM)
        assert x.tolist() == [3.0, 3.0]
        outputs = [torch.zeros(1) for _ in range(2)] if rank == 0 else None
        deprecated.gather(torch.tensor([float(rank)]), gather_list=outputs, dst=0)
        assert rank or [o.item() for o in outputs] == [0.0, 1.0]
        y = torch.zeros(1)
        deprecated.scatter(y, scatter_list=[torch.tensor([5.0]), torch.tensor([6.0])] if rank == 0 else None, src=0)
        assert y.item() == 5 + rank
        assert collectives.all_reduce is dist.all_reduce
        with pytest.warns(FutureWarning, match="nothing to clear"):
            deprecated.clear_group_cache()

    ranks(2, work)


def test_several_tensors_of_each_rank(ranks):
    def own(rank):
        return [torch.tensor([10.0 * rank + i, 1.0]) for i in range(2)]

    def work(rank):
        everything = [t for r in range(2) for t in own(r)]
        x = own(rank)
        dist.all_reduce_multigpu(x)
        assert all(torch.equal(t, sum(everything)) for t in x)
        x = own(rank)
        dist.broadcast_multigpu(x, 1, src_tensor=1)
        assert all(torch.equal(t, own(1)[1]) for t in x)
        x = own(rank)
        dist.reduce_multigpu(x, 0, dist.ReduceOp.MAX, dst_tensor=1)
        assert torch.equal(x[0], own(rank)[0])
        assert torch.equal(x[1], torch.tensor([11.0, 1.0]) if rank == 0 else own(1)[1])
        outputs = [[torch.zeros(2) for _ in range(4)] for _ in range(2)]
        dist.all_gather_multigpu(outputs, own(rank))
        assert all(torch.equal(a, b) for one in outputs for a, b in zip(one, everything, strict=True))
        out = [torch.zeros(1), torch.zeros(1)]
        dist.reduce_scatter_multigpu(out, [[torch.tensor([float(i + rank)]) for i in range(4)]] * 2)
        assert [t.item() for t in out] == [2 * (2 * i + 1) for i in (2 * rank, 2 * rank + 1)]
        with pytest.raises(ValueError, match="of one shape and dtype"):
            dist.all_reduce_multigpu([torch.ones(1), torch.ones(2)])
        with pytest.raises(ValueError, match="reduces by SUM, PRODUCT, MIN and MAX"):
            dist.all_reduce_multigpu([torch.ones(1)], dist.ReduceOp.AVG)
        with pytest.raises(NotImplementedError, match="async_op of several tensors"):
            dist.all_reduce_multigpu([torch.ones(1)], async_op=True)

    ranks(2, work)


def test_the_backend_tcp_of_2017(ranks):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def make(rank, size):
        dist.init_process_group(backend="tcp", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)

    def work(rank):
        x = torch.ones(1)
        dist.all_reduce(x, op=dist.reduce_op.SUM)
        return x.item()

    with pytest.warns(FutureWarning, match="now called ReduceOp"):
        assert dist.reduce_op.SUM == dist.ReduceOp.SUM
    assert ranks(2, work, make=make) == [2.0, 2.0]
