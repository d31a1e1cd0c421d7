"""Tensors spread over a mesh: against the same computation on whole tensors."""

import itertools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor._layout import Spec, chunk, local_layout
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

MESHES = [(4,), (2, 2)]


def whole(*shape, seed=3):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def placements_of(mesh_dims):
    return list(itertools.product([Replicate(), Shard(0), Shard(1)], repeat=mesh_dims))


def test_pieces_are_those_of_chunk():
    for length, parts in itertools.product(range(9), range(1, 6)):
        pieces = [chunk(length, parts, i) for i in range(parts)]
        expected = [len(x) for x in torch.arange(length).chunk(parts)] if length else [0]
        assert [end - start for start, end in pieces if end > start] == [n for n in expected if n]
        assert [i for start, end in pieces for i in range(start, end)] == list(range(length))


@pytest.mark.parametrize("shape", MESHES)
def test_every_placement_becomes_every_other(ranks, shape):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", shape)
        x = whole(5, 6)
        for before, after in itertools.product(placements_of(len(shape)), repeat=2):
            spread = distribute_tensor(x, mesh, before)
            assert tuple(spread.to_local().shape) == local_layout(x.shape, mesh, before)[0]
            moved = spread.redistribute(mesh, after)
            assert moved.placements == tuple(after)
            sizes, offsets = local_layout(x.shape, mesh, after)
            expected = x[offsets[0] : offsets[0] + sizes[0], offsets[1] : offsets[1] + sizes[1]]
            assert torch.equal(moved.to_local(), expected), (before, after)
            assert torch.equal(moved.full_tensor(), x), (before, after)

    ranks(4, work)


@pytest.mark.parametrize("shape", MESHES)
def test_summands_become_sums_and_pieces_of_them(ranks, shape):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", shape)
        part = whole(4, 6) * (rank + 1)
        x = DTensor.from_local(part, mesh, [Partial()] * len(shape))
        assert torch.allclose(x.full_tensor(), whole(4, 6) * 10, rtol=1e-14)
        for after in placements_of(len(shape)):
            assert torch.allclose(x.redistribute(mesh, after).full_tensor(), whole(4, 6) * 10, rtol=1e-14)
        mean = DTensor.from_local(part, mesh, [Partial("avg")] * len(shape))
        assert torch.allclose(mean.full_tensor(), whole(4, 6) * 2.5, rtol=1e-14)
        assert torch.allclose((x * 2).full_tensor(), whole(4, 6) * 20, rtol=1e-14)
        assert torch.allclose((x + 1).full_tensor(), whole(4, 6) * 10 + 1, rtol=1e-14)

    ranks(4, work)


def test_operators_and_gradients_agree_with_whole_tensors(ranks):
    def compute(a, b, c):
        y = (a * b).tanh() + a / (b.exp() + 2) - 0.5 * c
        z = (y @ a.t()).softmax(-1).sum(0)
        return (z.square().sum() + y.norm() + (a - 1).sum() + y[1:3].mean() + (y * c).sum()) / 3

    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        values = [whole(5, 4, seed=1), whole(5, 4, seed=2), whole(4, seed=3)]
        plain = [x.clone().requires_grad_() for x in values]
        expected = compute(*plain)
        expected.backward()
        for first, second in [
            ([Shard(0), Shard(1)], [Replicate(), Shard(0)]),
            ([Shard(1), Shard(1)], [Shard(0), Shard(0)]),
        ]:
            spread = [
                distribute_tensor(values[0].clone().requires_grad_(), mesh, first),
                distribute_tensor(values[1].clone().requires_grad_(), mesh, second),
                distribute_tensor(values[2].clone().requires_grad_(), mesh, [Shard(0), Replicate()]),
            ]
            result = compute(*spread)
            assert torch.allclose(result.full_tensor(), expected, rtol=1e-12)
            result.backward()
            for x, y in zip(spread, plain, strict=True):
                assert isinstance(x.grad, DTensor)
                assert x.grad.placements == x.placements
                assert torch.allclose(x.grad.full_tensor(), y.grad, rtol=1e-10), (first, second)

    ranks(4, work)


def test_optimizers_and_clipping_work_on_pieces(ranks):
    def train(parameters, optimizer, clip):
        for step in range(4):
            optimizer.zero_grad()
            sum((p.tanh() * (step + 1)).square().sum() for p in parameters).backward()
            norm = nn.utils.clip_grad_norm_(parameters, clip)
            optimizer.step()
        return float(norm)

    def work(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        for make in (lambda p: torch.optim.Adam(p, 0.1, amsgrad=True), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                     lambda p: torch.optim.AdamW(p, 0.1), lambda p: torch.optim.RMSprop(p, 0.01)):  # fmt: skip
            values = [whole(7, 2), whole(2), whole(4, 3)]
            plain = [nn.Parameter(x.clone()) for x in values]
            spread = [nn.Parameter(distribute_tensor(x, mesh, [Shard(0)])) for x in values]
            assert all(isinstance(p, DTensor) and isinstance(p, nn.Parameter) for p in spread)
            ours = make(spread)
            assert train(spread, ours, 0.3) == pytest.approx(train(plain, make(plain), 0.3), rel=1e-10)
            for x, y in zip(spread, plain, strict=True):
                assert torch.allclose(x.full_tensor(), y, rtol=1e-10)
            moments = [v for v in ours.state[spread[0]].values() if isinstance(v, torch.Tensor) and v.dim()]
            assert all(isinstance(v, DTensor) and v.shape == (7, 2) for v in moments)

    ranks(3, work)


def test_random_numbers_do_not_depend_on_the_placement(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        results = []
        for placement in (Shard(0), Shard(1), Replicate()):
            torch.manual_seed(5 + (rank > 0))  # what other ranks would draw does not matter
            x = distribute_tensor(torch.zeros(4, 5), mesh, [placement])
            nn.init.normal_(x)
            results.append(x.full_tensor())
        assert torch.equal(results[0], results[1])
        assert torch.equal(results[0], results[2])
        assert results[0].unique().numel() == 20
        with pytest.raises(NotImplementedError, match="each rank would draw numbers of its own"):
            torch.bernoulli(x)

    ranks(3, work)


def test_a_star_stands_for_one_word_of_a_name(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))
        parallelize_module(net, mesh, {"1.*": ColwiseParallel()})
        assert [isinstance(p, DTensor) for p in net.parameters()] == [False, False, True, True, True, True]
        flat = parallelize_module(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), mesh, {"*": ColwiseParallel()})
        assert all(isinstance(p, DTensor) for p in flat.parameters())

    ranks(2, work)


@pytest.mark.parametrize(("op", "expected"), [("max", [2.0, 1.0]), ("min", [1.0, -1.0]), ("product", [2.0, -1.0])])
def test_pieces_of_extremes_and_products_come_together_where_no_gradient_is_asked_for(ranks, op, expected):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        part = torch.tensor([rank + 1.0, 1.0 - 2 * rank])
        assert DTensor.from_local(part, mesh, [Partial(op)]).full_tensor().tolist() == expected
        spread = DTensor.from_local(part.requires_grad_(), mesh, [Partial(op)])
        with pytest.raises(NotImplementedError, match="cannot be reduced with a gradient"):
            spread.full_tensor()

    ranks(2, work)


def test_columns_then_rows_compute_what_whole_layers_do(ranks):
    def net():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()

    def work(rank):
        plain, spread = net(), net()
        mesh = dist.init_device_mesh("cpu", (2,))
        spread = parallelize_module(spread, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        x, y = whole(4, 3).requires_grad_(), whole(4, 3).requires_grad_()
        a, b = plain(x), spread(y)
        assert torch.allclose(a, b, rtol=1e-12)
        a.square().sum().backward()
        b.square().sum().backward()
        assert torch.allclose(x.grad, y.grad, rtol=1e-12)
        for p, q in zip(plain.parameters(), spread.parameters(), strict=True):
            assert q.shape == p.shape
            assert torch.allclose(q.full_tensor(), p, rtol=1e-12)
            assert torch.allclose(q.grad.full_tensor(), p.grad, rtol=1e-12)

        torch.manual_seed(2)
        table, other = nn.Embedding(7, 4), nn.Embedding(7, 4)
        other.load_state_dict(table.state_dict())
        other = parallelize_module(other, mesh, ColwiseParallel(output_layouts=Replicate()))
        words = torch.tensor([[1, 2], [6, 1]])
        assert torch.equal(table(words), other(words))

    ranks(2, work)


def test_modules_keep_their_values_when_they_are_distributed(ranks):
    def work(rank):
        torch.manual_seed(rank)
        mesh = dist.init_device_mesh("cpu", (2,))
        layer = distribute_module(nn.Linear(3, 2), mesh)
        first = [None] * 2
        dist.all_gather_object(first, layer.weight.full_tensor())
        assert torch.equal(first[0], first[1])
        other = nn.Linear(3, 2)
        layer.load_state_dict(other.state_dict())
        assert torch.equal(layer.weight.to_local(), other.weight)

    ranks(2, work)


def test_what_does_not_fit_is_named(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.ones(3, 2), mesh, [Shard(0)])
        with pytest.raises(RuntimeError, match="add: got mixed torch.Tensor and DTensor"):
            x + torch.ones(3, 2)
        with pytest.raises(ValueError, match="needs as many placements"):
            distribute_tensor(torch.ones(3), mesh, [Shard(0), Shard(0)])
        with pytest.raises(ValueError, match=r"Shard\(dim=2\) of a tensor of 1 dims"):
            distribute_tensor(torch.ones(3), mesh, [Shard(2)])
        with pytest.raises(TypeError, match="placements are Shard, Replicate or Partial, got 'x'"):
            distribute_tensor(torch.ones(3), mesh, ["x"])
        with pytest.raises(ValueError, match="a tensor is cut or replicated"):
            distribute_tensor(torch.ones(3), mesh, [Partial()])
        with pytest.raises(ValueError, match=r"from_local.*holds"):
            DTensor.from_local(torch.ones(2, 2), mesh, [Shard(0)], shape=(3, 3))
        with pytest.raises(NotImplementedError, match="writes into a DTensor"):
            x.index_fill_(0, torch.tensor(0), 1.0)
        with pytest.raises(RuntimeError, match="No device mesh is currently active"):
            distribute_tensor(torch.ones(3))
        with mesh:
            assert distribute_tensor(torch.ones(3)).placements == (Replicate(),)
        with pytest.raises(NotImplementedError, match="only support nn.Linear and nn.Embedding"):
            parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
        with pytest.warns(UserWarning, match="no submodule is called 'x'"):
            parallelize_module(nn.Sequential(), mesh, {"x": ColwiseParallel()})
        with pytest.raises(TypeError, match="expected a ParallelStyle for '0', got 3"):
            parallelize_module(nn.Sequential(nn.Linear(2, 2)), mesh, {"0": 3})
        assert Spec(mesh, (Replicate(),), torch.Size([1])).whole()

    ranks(2, work)
