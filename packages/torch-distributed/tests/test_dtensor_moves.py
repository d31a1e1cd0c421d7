"""DTensors that go into files and come back, and from one mesh to another."""

import pickle

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor


def test_a_tensor_goes_to_another_mesh_of_the_same_ranks_and_its_gradient_comes_back(ranks):
    def work(rank):
        line = dist.init_device_mesh("cpu", (4,))
        grid = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        whole = torch.arange(30.0).view(5, 6)
        x = distribute_tensor(whole, line, [Shard(0)]).requires_grad_()
        moved = x.redistribute(grid, [Shard(0), Shard(1)])
        assert moved.device_mesh == grid
        assert moved.placements == (Shard(0), Shard(1))
        assert torch.equal(moved.full_tensor(), whole)
        back = moved.redistribute(line, [Shard(1)])
        assert torch.equal(back.full_tensor(), whole)
        (back * distribute_tensor(whole, line, [Shard(1)])).sum().full_tensor().backward()
        assert x.grad.placements == (Shard(0),)
        assert torch.equal(x.grad.full_tensor(), whole)
        pair = DeviceMesh("cpu", [0, 1])
        with pytest.raises(ValueError, match=r"same ranks, got \[0, 1, 2, 3\] and \[0, 1\]"):
            x.redistribute(pair, [Replicate()])

    ranks(4, work)


def test_each_rank_pickles_its_piece_and_finds_its_mesh_again(ranks, tmp_path):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,), mesh_dim_names=("data",))
        x = distribute_tensor(torch.arange(5.0), mesh, [Shard(0)]).requires_grad_()
        y = pickle.loads(pickle.dumps(x))
        assert type(y) is DTensor
        assert y.requires_grad
        assert y.device_mesh is mesh
        assert torch.equal(y.full_tensor(), torch.arange(5.0))
        state = {"weight": torch.nn.Parameter(x.detach()), "step": 3}
        torch.save(state, tmp_path / f"{rank}.pt")
        again = torch.load(tmp_path / f"{rank}.pt")
        assert again["weight"].placements == (Shard(0),)
        assert isinstance(again["weight"], torch.nn.Parameter)
        assert torch.equal(again["weight"].full_tensor(), torch.arange(5.0))
        assert again["step"] == 3
        return again["weight"].to_local().numel()

    assert ranks(2, work) == [3, 2]


def test_a_later_job_makes_the_mesh_anew(ranks, tmp_path):
    def save(rank):
        mesh = dist.init_device_mesh("cpu", (1, 2))
        torch.save(distribute_tensor(torch.arange(4.0), mesh, [Replicate(), Shard(0)]), tmp_path / f"{rank}.pt")

    def load(rank):
        x = torch.load(tmp_path / f"{rank}.pt")
        assert x.device_mesh.shape == (1, 2)
        return x.full_tensor().tolist()

    ranks(2, save)
    assert ranks(2, load) == [[0.0, 1.0, 2.0, 3.0]] * 2


def test_without_a_group_of_processes_a_mesh_is_not_made(ranks, tmp_path):
    def save(rank):
        mesh = dist.init_device_mesh("cpu", (1,))
        torch.save(distribute_tensor(torch.ones(4), mesh), tmp_path / "x.pt")

    ranks(1, save)
    with pytest.raises((RuntimeError, ValueError, pickle.UnpicklingError), match="init_process_group"):
        torch.load(tmp_path / "x.pt")
