"""torch.ops._c10d_functional: collectives as operators, with the group by its name."""

import pytest
import torch
import torch.distributed as dist

ops, of_ranks, with_gradients = (
    torch.ops._c10d_functional,
    torch.ops.c10d_functional,
    torch.ops._c10d_functional_autograd,
)


def name():
    return dist.group.WORLD.group_name


def test_results_of_two_ranks(ranks):
    def run(rank):
        x = torch.arange(4.0) + 10 * rank
        return [
            r.tolist()
            for r in (
                ops.all_reduce(x, "sum", name()),
                ops.broadcast(x, 1, name()),
                ops.all_gather_into_tensor(x, 2, name()),
                ops.reduce_scatter_tensor(x, "max", 2, name()),
                ops.all_to_all_single(x[:3], [1 + rank] * 2, [1, 2], name()),
                *ops.all_reduce_coalesced([x, x[:1]], "avg", name()),
                of_ranks.all_gather_into_tensor(x[:1], "", [0, 1], 2),
                x,
            )
        ]

    for rank, found in enumerate(ranks(2, run)):
        x = [10.0 * rank + i for i in range(4)]
        assert found == [
            [10, 12, 14, 16],
            [10, 11, 12, 13],
            [0, 1, 2, 3, 10, 11, 12, 13],
            [[10, 11], [12, 13]][rank],
            [[0, 10], [1, 2, 11, 12]][rank],
            [5, 6, 7, 8],
            [5],
            [0, 10],
            x,
        ]


def test_gradients_travel_the_way_back(ranks):
    def run(rank):
        x = (torch.arange(2.0) + rank).requires_grad_()
        weight = torch.tensor([1.0, 2.0, 3.0, 4.0]) * (1 + rank)
        loss = (with_gradients.all_gather_into_tensor(x, 2, name()) * weight).sum()
        loss = loss + 10 * (1 + rank) * with_gradients.reduce_scatter_tensor(x, "avg", 2, name()).sum()
        loss = loss + ops.all_reduce(x, "sum", name())[0] * 100
        loss.backward()
        return x.grad.tolist()

    # gathered: the weights of both ranks, 3 times those of rank 0; scattered: half of each rank's factor; reduced: both
    assert ranks(2, run) == [[3 + 5 + 200, 6 + 10], [9 + 5 + 200, 12 + 10]]


def test_subclasses_see_them_as_operators(alone):
    seen = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
            seen.append(operator)
            return torch.ones(1)

    x = torch.Tensor._make_wrapper_subclass(Seen, (2,))
    ops.all_reduce(x, "sum", name())
    assert seen == [ops.all_reduce.default]
    assert ops.wait_tensor.default is not of_ranks.wait_tensor.default


def test_what_is_wrong_is_said(alone):
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="registered under the name 'nobody'"):
        ops.all_reduce(x, "sum", "nobody")
    with pytest.raises(RuntimeError, match="one of sum, avg, .* got 'mean'"):
        ops.all_reduce(x, "mean", name())
    with pytest.raises(ValueError, match="group_size is 3, and group .* has 1 ranks"):
        ops.all_gather_into_tensor(x, 3, name())
    with pytest.raises(ValueError, match=r"shape \(3,\) has no 2 equal pieces"):
        ops.reduce_scatter_tensor(x, "sum", 2, name())
    with pytest.raises(RuntimeError, match=r"no process group has the ranks \[0, 5\]"):
        of_ranks.all_reduce(x, "sum", "", [0, 5], 2)
    with pytest.raises(NotImplementedError, match="only sums and means over ranks"):
        ops.all_reduce(x.requires_grad_(), "max", name()).sum().backward()


def test_shapes_are_known_on_meta():
    x = torch.empty(4, 2, device="meta")
    assert ops.all_gather_into_tensor(x, 3, "none").shape == (12, 2)
    assert ops.reduce_scatter_tensor(x, "sum", 2, "none").shape == (2, 2)


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_what_groups_do_is_there_as_operators(ranks):
    def run(rank):
        group, c10d, found = dist.group.WORLD, torch.ops.c10d, []
        x = torch.arange(2.0) + 10 * rank
        tensors, work = c10d.broadcast_([x.clone()], group, 1, 0)
        work.wait()
        found.append(tensors[0])
        tensors, work = c10d.allreduce_([x.clone()], group, dist.ReduceOp.SUM, None)
        work.wait()
        found.append(tensors[0])
        out, work = c10d._allgather_base_(torch.empty(4), x, group)
        work.wait()
        found.append(out)
        out, work = c10d._reduce_scatter_base_(torch.empty(1), x, group, dist.ReduceOp.MAX)
        work.wait()
        found.append(out)
        (out,), work = c10d.scatter_([torch.empty(2)], [[x, x + 1]] if rank == 0 else [], group, 0)
        work.wait()
        found.append(out)
        (pieces,), work = c10d.allgather_([[torch.empty(2), torch.empty(2)]], [x], group, timeout=5000)
        work.wait()
        found.append(torch.cat(pieces))
        out = torch.empty(2)
        c10d.alltoall_base_(out, x, group, [1, 1], [1, 1]).wait()
        found.append(out)
        if rank == 0:
            c10d.send([x], group, 1, 7).wait()
        else:
            c10d.recv_([out], group, 0, 7).wait()
        found.append(out)
        return [f.tolist() for f in found]

    for rank, found in enumerate(ranks(2, run)):
        assert found[:4] == [[10, 11], [10, 12], [0, 1, 10, 11], [[10], [11]][rank]]
        assert found[4:6] == [[rank, rank + 1], [0, 1, 10, 11]]
        assert found[6:] == [[[0, 10], [0, 10]], [[0, 1], [0, 1]]][rank]


def test_functional_collectives_take_groups_by_ranks_names_and_meshes(ranks):
    from torch.distributed import _functional_collectives as functional

    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
        x = torch.tensor([10.0**rank])
        groups = [None, name(), [0, 1, 2, 3], [[0, 1], [2, 3]], (mesh, 0), mesh["columns"]]
        found = [functional.all_reduce(x, "sum", group).item() for group in groups]
        found.append(functional.all_gather_tensor(x, 0, (mesh, "rows")).tolist())
        with pytest.raises(
            RuntimeError, match=r"no process group has the ranks \[1, 3, 0\]: torch.distributed.new_group"
        ):
            functional.all_reduce(x, "sum", [1, 3, 0])
        return found

    rows, columns = {0: 101, 1: 1010, 2: 101, 3: 1010}, {0: 11, 1: 11, 2: 1100, 3: 1100}
    for rank, found in enumerate(ranks(4, run)):
        assert found[:6] == [1111, 1111, 1111, columns[rank], rows[rank], columns[rank]]
        assert found[6] == ([1, 100] if rank % 2 == 0 else [10, 1000])
