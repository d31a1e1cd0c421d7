"""Checkpoints of several ranks: what is written by whom, what comes back on another number of ranks, and interruptions."""

import os
import signal

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def state(scale):
    torch.manual_seed(1)
    return {
        "model": {f"layer {i}": torch.randn(40, 3) * scale for i in range(6)},
        "list": [1 * scale, {"x": torch.arange(4.0)[1:3] * scale}],
        "name": f"scale {scale}",
        "empty": {},
    }


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def test_ranks_share_the_writing_and_any_number_of_ranks_reads(ranks, tmp_path):
    def write(rank):
        dcp.save(state(3) | {f"own {rank}": rank}, checkpoint_id=tmp_path)

    ranks(3, write)
    files = [f for f in os.listdir(tmp_path) if f.endswith(".distcp")]
    assert len(files) == 3
    sizes = [os.path.getsize(tmp_path / f) for f in files]
    assert max(sizes) < 2 * min(sizes)

    def read(rank):
        held = state(0)
        weight = held["model"]["layer 0"]
        dcp.load(held, checkpoint_id=tmp_path)
        assert held["model"]["layer 0"] is weight
        return same(held, state(3))

    assert ranks(2, read) == [True, True]
    alone = state(0) | {"own 1": None}
    dcp.load(alone, checkpoint_id=tmp_path)
    assert same(alone, state(3) | {"own 1": 1})


def test_a_model_and_its_optimizer_go_on_without_their_wrapper(ranks, tmp_path):
    def net():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        return model, torch.optim.Adam(model.parameters(), 0.01)

    def steps(model, optimizer, first, last):
        for step in range(first, last):
            optimizer.zero_grad()
            model(torch.full((2, 3), 0.1 * step, dtype=torch.float64)).square().sum().backward()
            optimizer.step()

    def write(rank):
        model, optimizer = net()
        model = nn.parallel.DistributedDataParallel(model)
        steps(model, optimizer, 0, 3)
        names, slots = get_state_dict(model, optimizer)
        assert list(names) == ["0.weight", "0.bias", "2.weight", "2.bias"]
        assert set(slots["state"]) == set(names)
        dcp.save({"model": names, "optimizer": slots}, checkpoint_id=tmp_path)

    ranks(2, write)
    model, optimizer = net()
    expected, other = net()
    steps(expected, other, 0, 3)
    steps(model, optimizer, 7, 8)  # so that there is a state to load into
    names, slots = get_state_dict(model, optimizer)
    held = {"model": names, "optimizer": slots}
    dcp.load(held, checkpoint_id=tmp_path)
    set_state_dict(model, optimizer, model_state_dict=held["model"], optim_state_dict=held["optimizer"])
    steps(model, optimizer, 3, 5)
    steps(expected, other, 3, 5)
    assert all(torch.allclose(a, b, rtol=1e-12) for a, b in zip(model.parameters(), expected.parameters(), strict=True))


def test_objects_with_a_state_take_it_back(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    dcp.save({"model": model}, checkpoint_id=tmp_path)
    other = nn.Linear(2, 2)
    dcp.load({"model": other}, checkpoint_id=tmp_path)
    assert torch.equal(model.weight, other.weight)


def test_a_job_that_is_killed_while_it_saves_leaves_the_checkpoint_before(ranks, tmp_path):
    dcp.save(state(1), checkpoint_id=tmp_path)

    def write(rank):
        if rank == 1:
            torch.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        dcp.save(state(2), checkpoint_id=tmp_path)

    first, _ = ranks(2, write, errors=True)
    assert "rank 1 died" in str(first)
    held = state(0)
    dcp.load(held, checkpoint_id=tmp_path)
    assert same(held, state(1))
    dcp.save(state(3), checkpoint_id=tmp_path)
    dcp.load(held, checkpoint_id=tmp_path)
    assert same(held, state(3))


def test_a_rank_that_cannot_write_is_named_on_all(ranks, tmp_path):
    (tmp_path / "file").write_text("in the way")

    def write(rank):
        dcp.save(state(1), checkpoint_id=tmp_path / "file")

    for result in ranks(2, write, errors=True):
        assert isinstance(result, RuntimeError)
        assert "rank 0: FileExistsError" in str(result)


def test_saving_goes_on_in_the_background_while_the_job_computes(ranks, tmp_path):
    def work(rank):
        held = {"x": torch.full((1000,), 5.0)}
        future = dcp.async_save(held, checkpoint_id=tmp_path)
        held["x"].zero_()
        for _ in range(20):
            dist.all_reduce(torch.ones(100))
        assert future.result() is not None
        dcp.load(held, checkpoint_id=tmp_path)
        return held["x"].unique().tolist()

    assert ranks(2, work) == [[5.0], [5.0]]


def test_what_does_not_fit_is_named(ranks, tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no checkpoint"):
        dcp.load({"x": 1}, checkpoint_id=tmp_path)
    dcp.save({"x": torch.ones(2), "y": 1}, checkpoint_id=tmp_path)
    with pytest.raises(KeyError, match="has no .*z"):
        dcp.load({"z": 1}, checkpoint_id=tmp_path)
    with pytest.raises(
        ValueError, match=r"x.* is a tensor of shape \(3,\), the checkpoint has a tensor of shape \(2,\)"
    ):
        dcp.load({"x": torch.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match=r"y.* is a tensor of shape \(1,\), the checkpoint has no tensor"):
        dcp.load({"y": torch.ones(1)}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="checkpoint_id must be a folder, got None"):
        dcp.save({"x": 1})

    def differ(rank):
        dcp.save({"x": torch.ones(2 + rank)}, checkpoint_id=tmp_path)

    for result in ranks(2, differ, errors=True):
        assert "x is torch.float32 of shape (2,) on rank 0 and torch.float32 of shape (3,) on rank 1" in str(result)
