"""Collectives against what one process computes from all ranks' tensors."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _coalescing_manager

LENGTHS = [0, 1, 3, 1000, 5000, 300_001]  # both sides of the bound between short and long messages, and of a segment
OPS = {
    "SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
    "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
}  # fmt: skip


def value(rank, length, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    if dtype.is_complex or dtype.is_floating_point:
        return torch.randn(length, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 7, (length,), generator=generator).to(dtype)


def reduced(name, size, *arguments):
    """In the order of the ranks, as the ranks do it."""
    total = value(0, *arguments)
    for rank in range(1, size):
        total = OPS[name](total, value(rank, *arguments))
    return total


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_reduce_gives_every_rank_the_bits_of_the_sum_in_the_order_of_the_ranks(ranks, size):
    def work(rank):
        for i, length in enumerate(LENGTHS):
            x = value(rank, length, torch.float32, i)
            assert dist.all_reduce(x) is None
            assert torch.equal(x, reduced("SUM", size, length, torch.float32, i)), length

    ranks(size, work)


@pytest.mark.parametrize("later", [False, True])
def test_all_reduce_of_sparse_tensors_adds_up_what_ranks_have_at_their_own_places(ranks, later):
    def work(rank):
        for shape, dims in [((6,), 1), ((4, 5), 2), ((4, 5), 1), ((2, 3, 4), 2)]:
            mine = [value(r, 120, seed=len(shape))[: torch.Size(shape).numel()].view(shape) for r in range(3)]
            mine = [x * (x > r - 1) for r, x in enumerate(mine)]  # the third has few places, and now and then none
            sparse = mine[rank].to_sparse(dims)
            sparse = torch.sparse_coo_tensor(  # not coalesced
                torch.cat([sparse.indices(), sparse.indices()], 1), torch.cat([sparse.values(), sparse.values()]), shape
            )
            version = sparse._version
            work = dist.all_reduce(sparse, async_op=later)
            if later:
                assert work.get_future().wait()[0] is sparse
            assert sparse._version > version
            assert sparse.sparse_dim() == dims
            assert torch.allclose(sparse.to_dense(), 2 * sum(mine), rtol=1e-6)
            everyone = [None] * 3
            dist.all_gather_object(everyone, sparse.coalesce().values().tolist())
            assert everyone[0] == everyone[1] == everyone[2]
        counts = torch.sparse_coo_tensor([[rank]], [1], (3,))
        dist.all_reduce(counts)
        assert counts.to_dense().tolist() == [1, 1, 1]
        halves = torch.sparse_coo_tensor([[0]], [float(rank)], (2,))
        dist.all_reduce(halves, dist.ReduceOp.AVG)
        assert halves.to_dense().tolist() == [1.0, 0.0]
        with pytest.raises(NotImplementedError, match="sparse tensors are summed or averaged, not reduced by MAX"):
            dist.all_reduce(halves, dist.ReduceOp.MAX)

    ranks(3, work)


@pytest.mark.parametrize("others", ["dense", "other shape"])
def test_all_reduce_of_sparse_tensors_that_differ_is_refused_on_every_rank(ranks, others):
    def work(rank):
        x = torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 3))
        words = r"all_reduce of sparse tensors\(0 elements of torch.float32, SUM\)"
        if others == "dense":
            x = x.to_dense() if rank else x
        else:
            x = torch.sparse_coo_tensor([[0], [1]], [1.0], (3, 2)) if rank else x
            words = r"sparse tensors of rank 0 and 1 differ: shape \(2, 3\) with 2 sparse dims, \(3, 2\) with 2"
        with pytest.raises(RuntimeError, match=words):
            dist.all_reduce(x)

    ranks(2, work)


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16]
    + [torch.float64, torch.complex64, torch.complex128],
    ids=str,
)
def test_all_reduce_in_every_dtype_and_with_every_operator_that_it_has(ranks, dtype):
    def work(rank):
        done = []
        for name in OPS:
            op = getattr(dist.ReduceOp, name)
            for length in (5, 40_000):
                try:
                    expected = reduced(name, 2, length, dtype)
                except (RuntimeError, NotImplementedError, TypeError):
                    continue  # one process has no such operation either
                x = value(rank, length, dtype)
                dist.all_reduce(x, op)
                assert x.dtype == dtype
                assert torch.equal(x, expected), (name, length)
                done.append(name)
        return done

    first, second = ranks(2, work)
    assert first == second
    assert "SUM" in first


def test_averages_and_sums_of_multiples(ranks):
    def work(rank):
        for length in (3, 10_000):
            x = value(rank, length)
            dist.all_reduce(x, dist.ReduceOp.AVG)
            assert torch.equal(x, reduced("SUM", 3, length) / 3)
            y = value(rank, length)
            dist.all_reduce(y, dist._make_nccl_premul_sum(0.5))
            assert torch.equal(y, (value(0, length) * 0.5 + value(1, length) * 0.5) + value(2, length) * 0.5)
        with pytest.raises(ValueError, match=r"<ReduceOp.AVG> is for floating and complex dtypes, got torch.int64"):
            dist.all_reduce(torch.ones(2, dtype=torch.int64), dist.ReduceOp.AVG)
        with pytest.raises(ValueError, match="is for integers and bool, got torch.float32"):
            dist.all_reduce(torch.ones(2), dist.ReduceOp.BXOR)
        with pytest.raises(ValueError, match="complex numbers have no order"):
            dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX)
        with pytest.raises(TypeError, match="op must be a ReduceOp, got 'sum'"):
            dist.all_reduce(torch.ones(2), "sum")

    ranks(3, work)


def test_tensors_that_are_not_contiguous_keep_what_lies_between(ranks):
    def work(rank):
        whole = torch.zeros(6, 8)
        part = whole[::2, 1::3]
        part.copy_(torch.full((3, 3), rank + 1.0))
        dist.all_reduce(part)
        assert torch.equal(part, torch.full((3, 3), 3.0))
        assert whole.sum() == 27
        turned = torch.arange(6.0).view(2, 3).t() if rank == 0 else torch.zeros(3, 2)
        dist.broadcast(turned, 0)
        assert torch.equal(turned, torch.arange(6.0).view(2, 3).t())
        into = torch.zeros(4, 4)[:, 1]
        dist.all_gather_into_tensor(into, torch.full((2,), float(rank)))
        assert into.tolist() == [0, 0, 1, 1]

    ranks(2, work)


def test_a_tensor_that_needs_gradients_is_changed_and_its_graph_notices(ranks):
    def work(rank):
        w = torch.full((2,), rank + 1.0, requires_grad=True)
        loss = (w * w).sum()
        dist.all_reduce(w)
        assert w.tolist() == [3.0, 3.0]
        with pytest.raises(RuntimeError, match="changed in place|modified by an inplace operation"):
            loss.backward()

    ranks(2, work)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_collective_agrees_with_one_process(ranks, size):
    def work(rank):
        for i, length in enumerate(LENGTHS):
            all_values = [value(r, length, torch.float64, i) for r in range(size)]
            total = reduced("SUM", size, length, torch.float64, i)
            for root in range(size):
                x = value(rank, length, torch.float64, i)
                dist.broadcast(x, root)
                assert torch.equal(x, all_values[root])
            x = value(rank, length, torch.float64, i)
            dist.reduce(x, size - 1)
            assert torch.equal(x, total if rank == size - 1 else all_values[rank])
            x = value(rank, length, torch.float64, i)
            outputs = [torch.empty(length, dtype=torch.float64) for _ in range(size)]
            dist.all_gather(outputs, x)
            assert all(map(torch.equal, outputs, all_values))
            joined = torch.empty(size * length, dtype=torch.float64)
            dist.all_gather_into_tensor(joined, x)
            assert torch.equal(joined, torch.cat(all_values))
            outputs = [torch.empty(length, dtype=torch.float64) for _ in range(size)] if rank == 1 else None
            dist.gather(x, outputs, 1)
            assert rank != 1 or all(map(torch.equal, outputs, all_values))
            x = torch.empty(length, dtype=torch.float64)
            dist.scatter(x, all_values if rank == 0 else None, 0)
            assert torch.equal(x, all_values[rank])
            shares = [value(rank, length, torch.float64, 10 * i + r) for r in range(size)]
            expected = reduced("SUM", size, length, torch.float64, 10 * i + rank)
            x = torch.empty(length, dtype=torch.float64)
            dist.reduce_scatter(x, shares)
            assert torch.equal(x, expected)
            x.zero_()
            dist.reduce_scatter_tensor(x, torch.cat(shares))
            assert torch.equal(x, expected)
            outputs = [torch.empty(length, dtype=torch.float64) for _ in range(size)]
            dist.all_to_all(outputs, shares)
            assert all(torch.equal(o, value(r, length, torch.float64, 10 * i + rank)) for r, o in enumerate(outputs))
            x = torch.empty(size * length, dtype=torch.float64)
            dist.all_to_all_single(x, torch.cat(shares))
            assert torch.equal(x, torch.cat(outputs))
            dist.barrier()

    ranks(size, work)


def test_pieces_of_different_lengths(ranks):
    def work(rank):
        # rank r brings r + 1 rows and sends r' + 1 ... of them
        outputs = [torch.empty(r + 1, 2) for r in range(3)]
        dist.all_gather(outputs, torch.full((rank + 1, 2), float(rank)))
        assert [o.tolist() for o in outputs] == [[[float(r)] * 2] * (r + 1) for r in range(3)]
        sent = torch.arange(6.0).view(6, 1) + 10 * rank
        sizes = [1, 2, 3]
        got = torch.empty(3 * sizes[rank], 1)
        dist.all_to_all_single(got, sent, [sizes[rank]] * 3, sizes)
        start = sum(sizes[:rank])
        expected = [start + k + 10.0 * r for r in range(3) for k in range(sizes[rank])]
        assert got.view(-1).tolist() == expected

    ranks(3, work)


def test_work_handles_and_futures(ranks):
    def work(rank):
        x, y = torch.ones(200_000), torch.ones(3)
        first = dist.all_reduce(x, async_op=True)
        second = dist.all_reduce(y, async_op=True)
        assert second.get_future().then(lambda f: f.value()[0].sum().item()).wait() == 6
        assert first.wait() is True
        assert first.is_completed()
        assert first.is_success()
        assert first.exception() is None
        assert first.result()[0] is x
        assert x.unique().tolist() == [2.0]
        # finished by the thread in the background, with nobody waiting
        third = dist.all_reduce(x, async_op=True)
        while not third.is_completed():
            pass
        assert x.unique().tolist() == [4.0]
        assert dist.barrier(async_op=True).wait()
        tensors = [torch.ones(2), torch.ones(3, 3)]
        dist.all_reduce_coalesced(tensors)
        assert [t.unique().tolist() for t in tensors] == [[2.0], [2.0]]

    ranks(2, work)


def test_many_operations_under_way_at_once(ranks):
    def work(rank):
        xs = [torch.full((k * 997 + 1,), float(rank + k)) for k in range(60)]
        works = [dist.all_reduce(x, async_op=True) for x in xs]
        for work in reversed(works):
            work.wait()
        assert all((x == 2 * k + 1).all() for k, x in enumerate(xs))

    ranks(2, work)


def test_a_block_of_collectives_is_done_when_it_ends(ranks):
    def work(rank):
        x, y = torch.ones(3) * (rank + 1), torch.ones(2)
        with _coalescing_manager():
            dist.all_reduce(x)
            dist.all_reduce(y)
        assert (x.tolist(), y.tolist()) == ([3.0] * 3, [2.0] * 2)
        with _coalescing_manager(async_ops=True) as manager:
            manager.append(dist.all_reduce(y, async_op=True))
        manager.wait()
        assert y.tolist() == [4.0] * 2

    ranks(2, work)


def test_objects(ranks):
    def work(rank):
        everything = [None] * 3
        dist.all_gather_object(everything, {"rank": rank, "data": "x" * rank})
        assert everything == [{"rank": r, "data": "x" * r} for r in range(3)]
        gathered = [None] * 3 if rank == 2 else None
        dist.gather_object(rank * 10, gathered, dst=2)
        assert gathered == ([0, 10, 20] if rank == 2 else None)
        objects = ["a", {"b": 2}, None] if rank == 1 else [0, 0, 0]
        dist.broadcast_object_list(objects, src=1)
        assert objects == ["a", {"b": 2}, None]
        mine = [None]
        dist.scatter_object_list(mine, [1, "two", [3]] if rank == 0 else None, src=0)
        assert mine == [[1, "two", [3]][rank]]
        if rank == 0:
            dist.send_object_list(["sent", 5], dst=2)
        if rank == 2:
            received = [None, None]
            assert dist.recv_object_list(received, src=0) == 0
            assert received == ["sent", 5]

    ranks(3, work)


def test_send_and_receive_by_tag_and_from_any_rank(ranks):
    def work(rank):
        if rank == 0:
            # under two tags, received in the other order
            dist.send(torch.tensor([1.0]), 1, tag=7)
            dist.send(torch.tensor([2.0]), 1, tag=8)
            got = set()
            x = torch.zeros(1)
            for _ in range(2):
                sender = dist.recv(x, tag=1)
                got.add((sender, x.item()))
            assert got == {(1, 10.0), (2, 20.0)}
        elif rank == 1:
            x, y = torch.zeros(1), torch.zeros(1)
            works = [dist.irecv(y, 0, tag=8), dist.irecv(x, 0, tag=7)]
            for one in works:
                one.wait()
            assert (x.item(), y.item()) == (1.0, 2.0)
            dist.send(torch.tensor([10.0]), 0, tag=1)
        else:
            dist.send(torch.tensor([20.0]), 0, tag=1)
        # a ring at once, long messages, both ways
        out, into = torch.full((400_000,), float(rank)), torch.zeros(400_000)
        ops = [dist.P2POp(dist.isend, out, (rank + 1) % 3), dist.P2POp(dist.irecv, into, (rank - 1) % 3)]
        for one in dist.batch_isend_irecv(ops):
            one.wait()
        assert into.unique().tolist() == [(rank - 1) % 3]

    ranks(3, work)


def test_groups_of_some_ranks(ranks):
    def work(rank):
        odd = dist.new_group([3, 1])
        even = dist.new_group([0, 2], group_desc="evens")
        mine, other = (odd, even) if rank % 2 else (even, odd)
        assert other is dist.GroupMember.NON_GROUP_MEMBER
        assert (dist.get_rank(mine), dist.get_world_size(mine), dist.get_rank(other)) == (rank // 2, 2, -1)
        assert dist.get_process_group_ranks(mine) == [rank % 2, rank % 2 + 2]
        assert dist.get_global_rank(mine, 1) == rank % 2 + 2
        assert dist.get_group_rank(mine, rank) == rank // 2
        assert dist.get_backend(mine) == "gloo"
        x = torch.tensor([float(rank)])
        dist.all_reduce(x, group=mine)
        assert x.item() == 2 * (rank % 2) + 2
        with pytest.warns(UserWarning, match=f"Running all_reduce on global rank {rank} which does not belong"):
            assert dist.all_reduce(x, group=other) is None
        y = torch.tensor([float(rank)])
        dist.broadcast(y, src=rank % 2 + 2, group=mine)  # a global rank
        assert y.item() == rank % 2 + 2
        with pytest.raises(ValueError, match=rf"Global rank {1 - rank % 2} is not part of group"):
            dist.broadcast(y, src=1 - rank % 2, group=mine)
        current, groups = dist.new_subgroups(2)
        assert len(groups) == 2
        assert dist.get_process_group_ranks(current) == [rank // 2 * 2, rank // 2 * 2 + 1]
        if rank in (1, 2):
            local = dist.new_group([1, 2], use_local_synchronization=True)
            z = torch.ones(1)
            dist.all_reduce(z, group=local)
            assert z.item() == 2
        split = dist.split_group(split_ranks=[[0, 3], [1, 2]])
        z = torch.tensor([rank])
        dist.all_reduce(z, group=split)
        assert z.item() == 3
        dist.destroy_process_group(mine)
        with pytest.raises(ValueError, match="has been destroyed"):
            dist.all_reduce(x, group=mine)
        dist.all_reduce(x)

    ranks(4, work)


def test_groups_and_the_default_one_work_at_once(ranks):
    def work(rank):
        group = dist.new_group([0, 1])
        a, b = torch.ones(100_000), torch.ones(100_000)
        order = [(a, None), (b, group)] if rank == 0 else [(b, group), (a, None)]
        if rank == 2:
            order = [(a, None)]
        works = [dist.all_reduce(x, group=g, async_op=True) for x, g in order]
        for one in works:
            one.wait()
        assert a.unique().tolist() == [3.0]
        assert rank == 2 or b.unique().tolist() == [2.0]

    ranks(3, work)


def test_a_world_of_one_needs_nobody():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.tensor([2.0])
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        outputs = [torch.zeros(1)]
        dist.all_gather(outputs, x)
        y = torch.zeros(1)
        dist.reduce_scatter(y, [x])
        dist.all_to_all_single(y, y.clone())
        dist.barrier()
        dist.monitored_barrier()
        assert (x.item(), outputs[0].item(), y.item()) == (2, 2, 2)
        with pytest.raises(ValueError, match="a rank cannot send to itself"):
            dist.send(x, 0)
    finally:
        dist.destroy_process_group()


def test_bad_arguments_are_refused_before_anything_is_sent():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.all_reduce(torch.ones(1))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.ones(2)
        for call, error, text in [
            (lambda: dist.all_reduce([x]), TypeError, "all_reduce: tensor must be a torch.Tensor, got list"),
            (
                lambda: dist.broadcast(x.to_sparse(), 0),
                NotImplementedError,
                r"sparse tensors are not sent; use .to_dense\(\)",
            ),
            (lambda: dist.all_reduce(x.to("meta")), ValueError, "the tensor is on meta"),
            (lambda: dist.broadcast(x, 3), ValueError, "Global rank 3 is not part of group"),
            (lambda: dist.broadcast(x), ValueError, "Must specify src or group_src"),
            (lambda: dist.broadcast(x, 0, group_src=0), ValueError, "Can't specify both"),
            (
                lambda: dist.all_gather([x, x], x),
                ValueError,
                "tensor_list must be a list of 1 tensors, one for each rank; got 2",
            ),
            (
                lambda: dist.all_gather([torch.ones(3)], x),
                ValueError,
                "tensor has 2 elements, its place 0 in tensor_list 3",
            ),
            (
                lambda: dist.all_gather([x.double()], x),
                ValueError,
                r"tensor_list\[0\] is torch.float64, the tensor is torch.float32",
            ),
            (
                lambda: dist.all_gather_into_tensor(torch.ones(3), x),
                ValueError,
                "must have 1 times the elements of input",
            ),
            (
                lambda: dist.reduce_scatter_tensor(torch.ones(3), x),
                ValueError,
                "must have 1 times the elements of output",
            ),
            (lambda: dist.gather(x), ValueError, "must be specified on destination rank"),
            (lambda: dist.scatter(x), ValueError, "must be specified on source rank"),
            (
                lambda: dist.all_to_all_single(x, x, [3], [2]),
                ValueError,
                r"output_split_sizes \[3\] must be 1 numbers that add up",
            ),
            (lambda: dist.all_reduce(x, group="all"), TypeError, "Invalid process group specified: 'all'"),
            (lambda: dist.new_group([0, 5]), ValueError, r"ranks must be from 0 to 0, got \[0, 5\]"),
            (lambda: dist.new_group([0, 0]), ValueError, "ranks must be different from each other"),
            (lambda: dist.batch_isend_irecv([]), ValueError, "Invalid ``p2p_op_list``"),
        ]:
            with pytest.raises(error, match=text):
                call()
    finally:
        dist.destroy_process_group()


def test_the_names_of_2018_and_of_reductions():
    with pytest.warns(FutureWarning, match="reduce_op is now called ReduceOp"):
        assert dist.reduce_op.SUM == dist.ReduceOp.SUM
    assert dist.ReduceOp.SUM != dist.ReduceOp.MAX
    assert {dist.ReduceOp.SUM: 1}[dist.ReduceOp("SUM")] == 1
    assert dist.Backend("TCP") == "gloo"
    assert dist.Backend("cpu:gloo,cuda:nccl") == "gloo"
    with pytest.raises(ValueError, match="Invalid backend: 'pigeon'; there are gloo, libgloo, mpi"):
        dist.Backend("pigeon")


def test_a_backend_of_ones_own():
    class Echo(dist.ProcessGroup):
        def allreduce(self, tensors, opts=None):
            tensors[0].mul_(10)
            future = torch.futures.Future()
            future.set_result(tensors)
            return dist.FutureWork(future)

    dist.Backend.register_backend("echo", lambda store, rank, size, timeout: Echo(rank, size))
    with pytest.raises(RuntimeError, match="echo c10d backend has already been registered"):
        dist.Backend.register_backend("echo", None)
    dist.init_process_group("echo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.ones(1)
        dist.all_reduce(x)
        assert (x.item(), dist.get_backend()) == (10.0, "echo")
        with pytest.raises(NotImplementedError, match="backend 'Echo' has no broadcast"):
            dist.broadcast(x, 0)
    finally:
        dist.destroy_process_group()


def test_what_does_not_fit_a_group_is_a_value_error_and_a_runtime_error():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    for error in (ValueError, RuntimeError):
        with pytest.raises(error, match="tensor has 2 elements, its place 0 in tensor_list 3"):
            dist.all_gather([torch.zeros(3)], torch.zeros(2))
        with pytest.raises(error, match=r"Global rank 9 is not part of group \S+, of the ranks \(0,\)"):
            dist.broadcast(torch.zeros(1), src=9)
    dist.destroy_process_group()
