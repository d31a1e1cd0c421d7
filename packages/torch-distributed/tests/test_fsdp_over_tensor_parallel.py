"""Layers that are cut over one dim of a mesh and sharded over another, against the same steps of a whole model."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.distributed.tensor.placement_types import _StridedShard


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 6)
        self.blocks = nn.ModuleList([Block(6, 7), Block(6, 10)])  # 7 and its halves do not divide evenly
        self.last = nn.Linear(6, 5)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


def net(seed=0):
    torch.manual_seed(seed)
    return Net().double()


COLUMNS_AND_ROWS = {"up": ColwiseParallel, "down": RowwiseParallel}


def cut(model, mesh, **options):
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], {name: style() for name, style in COLUMNS_AND_ROWS.items()})
        fully_shard(block, mesh=mesh["dp"], **options)
    return fully_shard(model, mesh=mesh["dp"], **options)


def grid():
    return dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))


def whole_steps(model, x, y, steps=3):
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        adam.zero_grad()
        (model(x) - y).square().mean().backward()
        adam.step()
    return {name: p.detach() for name, p in model.named_parameters()}


def data():
    torch.manual_seed(5)
    return torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)


@pytest.mark.parametrize("reshard", [True, False])
def test_steps_are_those_of_the_whole_model(ranks, reshard):
    def work(rank):
        mesh = grid()
        model = cut(
            net(rank // 2), mesh, reshard_after_forward=reshard
        )  # along dp, the first rank's parameters are taken
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        x, y = (one.chunk(2)[mesh["dp"].get_local_rank()] for one in data())
        for _ in range(3):
            adam.zero_grad()
            (model(x) - y).square().mean().backward()
            adam.step()
        return {name: p.full_tensor().detach() for name, p in model.named_parameters()}

    expected = whole_steps(net(0), *data())
    for found in ranks(4, work):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-12)


def test_a_parameter_lies_in_pieces_of_its_piece(ranks):
    def work(rank):
        mesh = grid()
        block = cut(net(), mesh).blocks[0]
        up, down, norm = block.up.weight, block.down.weight, block.norm.weight
        assert up.device_mesh == mesh and up.placements == (_StridedShard(0, split_factor=2), Shard(0))
        assert down.placements == (Shard(0), Shard(1)) and block.down.bias.placements == (Shard(0), Replicate())
        assert norm.device_mesh == mesh["dp"] and norm.placements == (Shard(0),)
        return up.to_local().detach(), up.full_tensor().detach()

    weight = net().blocks[0].up.weight.detach()
    pieces = [weight[0:2], weight[4:6], weight[2:4], weight[6:7]]  # of 7 rows: 4 and 3, and each in 2
    for (piece, whole), expected in zip(ranks(4, work), pieces, strict=True):
        assert torch.equal(piece, expected) and torch.equal(whole, weight)


def test_pieces_of_pieces_go_to_every_other_placement_and_back(ranks):
    def work(rank):
        mesh = grid()
        whole = torch.arange(21.0).view(7, 3)
        strided = _StridedShard(0, split_factor=2)
        start = distribute_tensor(whole, mesh, [strided, Shard(0)])
        places = [Replicate(), Shard(0), Shard(1), strided]
        for first in places:
            for second in [Replicate(), Shard(0), Shard(1)]:
                moved = start.redistribute(placements=[first, second])
                assert torch.equal(moved.full_tensor(), whole), (first, second)
                back = moved.redistribute(placements=start.placements)
                assert torch.equal(back.to_local(), start.to_local()), (first, second)
        assert torch.equal((start.t() @ start).full_tensor(), whole.t() @ whole)  # a rule that knows only plain pieces
        assert torch.equal((start + start).to_local(), 2 * start.to_local())
        torch.testing.assert_close(start.norm().full_tensor(), whole.norm())

    ranks(4, work)


def test_pieces_along_a_sequence(ranks):
    plan = {
        "norm": SequenceParallel,
        "up": lambda: ColwiseParallel(input_layouts=Shard(1)),
        "down": lambda: RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    }

    def work(rank):
        mesh = grid()
        block = net().blocks[1]
        parallelize_module(block, mesh["tp"], {name: style() for name, style in plan.items()})
        parallelize_module(
            block, mesh["tp"], PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),))
        )
        fully_shard(block, mesh=mesh["dp"])
        x = words().chunk(2)[mesh["dp"].get_local_rank()]
        out = block(distribute_tensor(x, mesh["tp"], [Replicate()]))
        out.full_tensor().square().mean().backward()
        return {name: p.grad.full_tensor() for name, p in block.named_parameters()}

    def words():
        return torch.randn(2, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    whole = net().blocks[1]
    whole(words()).square().mean().backward()
    for found in ranks(4, work):
        for name, p in whole.named_parameters():
            torch.testing.assert_close(found[name], p.grad, rtol=1e-10, atol=1e-12)


def test_norms_of_all_gradients_and_lower_precision(ranks):
    def work(rank):
        mesh = grid()
        block = net().blocks[1].float()
        parallelize_module(block, mesh["tp"], {name: style() for name, style in COLUMNS_AND_ROWS.items()})
        fully_shard(block, mesh=mesh["dp"], mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
        block(torch.ones(2, 6)).float().sum().backward()
        spread = [p for p in block.parameters() if p.device_mesh.ndim == 2]
        norm = nn.utils.clip_grad_norm_(spread, 1e9)
        expected = torch.stack([p.grad.full_tensor().norm() for p in spread]).norm()
        torch.testing.assert_close(norm.full_tensor(), expected)
        assert block.up.weight.dtype == torch.float32

    ranks(4, work)


def test_a_checkpoint_is_read_by_another_grid(ranks, tmp_path):
    def train(rank):
        model = cut(net(), grid())
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        model(data()[0]).square().mean().backward()
        adam.step()
        state = dict(zip(("model", "optim"), get_state_dict(model, adam), strict=True))
        checkpoint.save(state, checkpoint_id=tmp_path)
        return {name: p.full_tensor().detach() for name, p in model.named_parameters()}

    def read(rank):
        model = fully_shard(net(7))
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        state = dict(zip(("model", "optim"), get_state_dict(model, adam), strict=True))
        checkpoint.load(state, checkpoint_id=tmp_path)
        set_state_dict(model, adam, model_state_dict=state["model"], optim_state_dict=state["optim"])
        moments = {name: adam.state[p]["exp_avg"].full_tensor() for name, p in model.named_parameters()}
        return {name: p.full_tensor().detach() for name, p in model.named_parameters()}, moments

    written = ranks(4, train)[0]
    for found, moments in ranks(3, read):
        for name, value in written.items():
            assert torch.equal(found[name], value), name
        assert all(bool(one.abs().sum() > 0) for one in moments.values())


def test_meshes_that_are_not_parts_of_one_are_named(ranks):
    def work(rank):
        first = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        other = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        layer = parallelize_module(nn.Linear(4, 4), first["tp"], ColwiseParallel())
        with pytest.raises(ValueError, match=r"are not parts of one mesh .* take mesh\[\"dp\"\] and mesh\[\"tp\"\]"):
            fully_shard(layer, mesh=other["dp"])
        with pytest.raises(ValueError, match="are not parts of one mesh"):
            fully_shard(layer, mesh=first["tp"])

    ranks(4, work)
