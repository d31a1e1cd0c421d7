"""Optimizers whose state is cut over the ranks, meshes, and the names of what is not there."""

import importlib

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)).double()


def steps(model, optimizer, first, last):
    for step in range(first, last):
        x = torch.randn(4, 5, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_a_cut_optimizer_steps_as_a_whole_one_and_its_state_goes_on_in_a_whole_one(ranks, kind):
    options = {"lr": 0.05} | ({"momentum": 0.9} if kind is torch.optim.SGD else {})

    def work(rank):
        model, one = net(), net()
        optimizer = ZeroRedundancyOptimizer(model.parameters(), kind, **options)
        whole = kind(one.parameters(), **options)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        other = torch.optim.lr_scheduler.StepLR(whole, 2, 0.5)
        for step in range(4):
            steps(model, optimizer, step, step + 1)
            steps(one, whole, step, step + 1)
            scheduler.step()
            other.step()
        assert all(map(torch.equal, model.parameters(), one.parameters()))
        held = sum(
            v.numel() for s in optimizer.optim.state.values() for v in s.values() if torch.is_tensor(v) and v.dim()
        )
        with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
            optimizer.state_dict()
        optimizer.consolidate_state_dict(to=1)
        if rank == 1:
            state = optimizer.state_dict()
            fresh = kind(one.parameters(), **options)
            fresh.load_state_dict(state)
            again, copy = net(), net()
            again.load_state_dict(one.state_dict())
            copy.load_state_dict(one.state_dict())
            fresh = kind(again.parameters(), **options)
            fresh.load_state_dict(state)
            expected = kind(copy.parameters(), **options)
            expected.load_state_dict(whole.state_dict())
            steps(again, fresh, 4, 6)
            steps(copy, expected, 4, 6)
            assert all(map(torch.equal, again.parameters(), copy.parameters()))
        everyone = [whole.state_dict()]
        optimizer.load_state_dict(everyone[0])
        steps(model, optimizer, 4, 6)
        steps(one, whole, 4, 6)
        assert all(map(torch.equal, model.parameters(), one.parameters()))
        return held

    held = ranks(2, work)
    total = sum(p.numel() for p in net().parameters()) * (1 if kind is torch.optim.SGD else 2)
    assert sum(held) == total
    assert max(held) < 0.8 * total


def test_a_mesh_has_a_group_along_each_dim(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("row", "column"))
        assert (mesh.shape, mesh.ndim, mesh.size(), mesh.size(0)) == ((2, 2), 2, 4, 2)
        assert mesh.get_coordinate() == (rank // 2, rank % 2)
        assert dist.get_process_group_ranks(mesh.get_group("column")) == [rank // 2 * 2, rank // 2 * 2 + 1]
        assert dist.get_process_group_ranks(mesh.get_group("row")) == [rank % 2, rank % 2 + 2]
        x = torch.tensor([float(rank)])
        dist.all_reduce(x, group=mesh["row"].get_group())
        assert x.item() == 2 * (rank % 2) + 2
        assert mesh.get_local_rank("column") == rank % 2
        with pytest.raises(RuntimeError, match="of 2 dims, which"):
            mesh.get_group()
        with pytest.raises(KeyError, match="no dim is called 'depth'"):
            mesh.get_group("depth")
        with pytest.raises(RuntimeError, match=r"a mesh of \(3, 2\) needs 6 ranks, there are 4"):
            dist.init_device_mesh("cpu", (3, 2))
        with pytest.raises(RuntimeError, match=r"2 dims need as many different names, got \('row', 'row'\)"):
            dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("row", "row"))
        cube = dist.init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=("dp", "tp", "pp"))
        line = cube["dp", "pp"]._flatten("both")
        assert line is cube["both"]
        assert dist.get_process_group_ranks(cube["both"].get_group()) == [rank % 2, rank % 2 + 2]
        assert cube._flatten().mesh.tolist() == [0, 1, 2, 3]
        with pytest.raises(RuntimeError, match="has a dim called 'tp'"):
            cube["dp", "pp"]._flatten("tp")

    ranks(4, work)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("fsdp", "FlatParameter"),
        ("tensor.experimental", "context_parallel"),
        ("rpc", "init_rpc"),
        ("optim", "DistributedOptimizer"),
    ],
)
def test_what_is_not_there_has_a_name_and_says_so(module, name):
    value = getattr(importlib.import_module(f"torch.distributed.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"torch.distributed.{module}.{name}: \w+"):
        value()
    if isinstance(value, type):
        assert not isinstance(torch.ones(1), value)
