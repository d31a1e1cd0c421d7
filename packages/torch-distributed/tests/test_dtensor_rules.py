"""Operators on the pieces of spread tensors: values and gradients of whole tensors, for every way to lie."""

import itertools
import random
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode, refuse_wholes
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional as F

LIMIT = 120
PLACES = torch.tensor([[1, 0, 2], [3, 3, 0]])
WORDS = torch.tensor([[1, 0, 2, 7], [3, 6, 0, 5]])

# name, shapes of the tensors (or tensors), function
CASES = [
    ("mm", [(4, 6), (6, 8)], torch.mm),
    ("matmul of a batch", [(2, 4, 6), (6, 8)], torch.matmul),
    ("matmul, broadcast", [(2, 1, 3, 4), (2, 4, 5)], torch.matmul),
    ("operator", [(4, 6), (6, 5)], lambda a, b: a @ b),
    ("vectors", [(6,), (6,)], torch.dot),
    ("matrix and vector", [(4, 6), (6,)], torch.mv),
    ("bmm", [(4, 2, 6), (4, 6, 3)], torch.bmm),
    ("addmm", [(8,), (4, 6), (6, 8)], lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2)),
    ("linear", [(3, 4, 6), (8, 6), (8,)], F.linear),
    ("linear without bias", [(4, 6), (8, 6)], F.linear),
    ("outer", [(4,), (6,)], torch.outer),
    ("einsum", [(2, 4, 6), (8, 6)], lambda a, b: torch.einsum("bik,jk->bji", a, b)),
    ("softmax", [(4, 6)], lambda x: F.softmax(x, -1)),
    ("log_softmax", [(4, 5)], lambda x: x.log_softmax(0)),
    ("layer_norm", [(4, 6), (6,), (6,)], lambda x, w, b: F.layer_norm(x, (6,), w, b)),
    ("group_norm", [(4, 6), (6,), (6,)], lambda x, w, b: F.group_norm(x, 2, w, b)),
    ("rms_norm", [(4, 6), (6,)], lambda x, w: F.rms_norm(x, (6,), w)),
    ("embedding", [WORDS, (8, 6)], lambda i, w: F.embedding(i, w)),
    ("embedding with padding", [WORDS, (8, 6)], lambda i, w: F.embedding(i, w, padding_idx=2)),
    ("one_hot", [WORDS], lambda i: F.one_hot(i) + F.one_hot(i, num_classes=8)),
    ("extremes of integers", [WORDS], lambda i: i.max() + i.amin() - torch.min(i)),
    ("gather", [(4, 6), PLACES], lambda x, i: x.gather(0, i)),
    ("view", [(4, 2, 3)], lambda x: x.view(4, 6)),
    ("view apart", [(4, 6)], lambda x: x.view(2, 2, 6)),
    ("reshape of all", [(4, 6)], lambda x: x.reshape(-1)),
    ("reshape that mixes", [(4, 6)], lambda x: x.reshape(3, 8)),
    ("flatten", [(3, 4, 1, 2)], lambda x: x.flatten(1)),
    ("unflatten", [(4, 6)], lambda x: x.unflatten(-1, (2, 3))),
    ("transpose", [(4, 6)], lambda x: x.t() * 2),
    ("permute", [(2, 3, 4)], lambda x: x.permute(2, 0, 1)),
    ("movedim", [(2, 3, 4)], lambda x: x.movedim(0, -1)),
    ("T and mT", [(4, 6)], lambda x: x.T + x.mT),
    ("unsqueeze", [(4, 6)], lambda x: x.unsqueeze(1)),
    ("squeeze", [(2, 1, 6)], lambda x: x.squeeze()),
    ("squeeze of nothing", [(2, 4)], lambda x: x.squeeze(0).squeeze()),
    ("expand", [(4, 1)], lambda x: x.expand(3, 4, 6)),
    ("slices", [(4, 6)], lambda x: x[:, 1:4] + x[..., :3]),
    ("an entry", [(4, 6)], lambda x: x[1] * x[..., -1, :]),
    ("new dims", [(4, 6)], lambda x: x[:, None, 2]),
    ("narrow", [(4, 6)], lambda x: x.narrow(0, 1, 2) + x.narrow(0, 0, 4)[:2]),
    ("chunk", [(4, 6)], lambda x: x.chunk(3, -1)[1]),
    ("split", [(4, 6)], lambda x: torch.add(*x.split([2, 2], 0))),
    ("unbind", [(2, 4, 6)], lambda x: torch.mul(*x.unbind(0))),
    ("cat", [(4, 6), (3, 6)], lambda x, y: torch.cat([x, y, x])),
    ("stack", [(4, 6), (4, 6)], lambda x, y: torch.stack([x, y], 1)),
    ("sum of a dim", [(4, 6)], lambda x: x.sum(1)),
    ("sum, kept", [(4, 5)], lambda x: x.sum((0, 1), keepdim=True)),
    ("mean", [(4, 5)], lambda x: x.mean()),
    ("mean of a dim", [(4, 5)], lambda x: x.mean(-1, keepdim=True)),
    ("amax", [(4, 6)], lambda x: x.amax(1)),
    ("max", [(4, 6)], lambda x: x.max(1).values),
    ("logsumexp", [(4, 6)], lambda x: x.logsumexp(1)),
    ("var", [(4, 6)], lambda x: x.var(1) + x.std(1, unbiased=False)),
    ("argmax", [(4, 6)], lambda x: x.argmax(-1)),
    ("cumsum", [(4, 6)], lambda x: x.cumsum(0)),
    ("sort", [(4, 6)], lambda x: x.sort(-1).values + torch.sort(x, 0, descending=True)[0]),
    ("sort, places", [(4, 5)], lambda x: torch.sort(x, descending=True).indices),
    ("topk", [(4, 6)], lambda x: x.topk(2).values.sum(1) + torch.topk(x, 3, 1, largest=False)[0].sum(1)),
    ("topk of a column", [(4, 6)], lambda x: x.topk(k=2, dim=0).indices),
    ("kthvalue, mode", [(4, 6)], lambda x: x.kthvalue(2, 1)[0] + x.mode(1, True).values.squeeze(1)),
    ("cummax", [(4, 6)], lambda x: x.cummax(1).values - torch.cummin(x, dim=0)[0]),
    ("index_select", [(4, 6), PLACES[1]], lambda x, i: torch.index_select(x, 0, i)),
    ("index, first dim", [(4, 6), WORDS % 4], lambda x, i: x[i]),
    ("index, last dim", [(4, 6), PLACES[0]], lambda x, i: x[..., i]),
    ("index, two tensors", [(4, 2, 6), PLACES, PLACES[1]], lambda x, i, j: x[i, :, j]),
    ("index, side by side", [(2, 4, 6), PLACES, PLACES[:, :1]], lambda x, i, j: x[:, i, j]),
    ("index among slices", [(2, 4, 6), PLACES[0]], lambda x, i: x[None, :, i, 1:3]),
    ("index beside an int", [(2, 4, 6), PLACES[0]], lambda x, i: x[1, :, i]),
    ("take_along_dim", [(4, 6), WORDS.repeat(2, 1) % 6], lambda x, i: torch.take_along_dim(x, i, 1)),
    ("scatter", [(4, 6), PLACES, (2, 3)], lambda x, i, y: x.scatter(0, i, y)),
    ("scatter of a number", [(4, 6), WORDS.repeat(2, 1) % 6], lambda x, i: torch.scatter(x, 1, i, 2.5)),
    ("scatter_add", [(4, 6), WORDS.repeat(2, 1) % 6, (4, 4)], lambda x, i, y: x.scatter_add(-1, i, y)),
    ("masked_fill", [(4, 6), (4, 6)], lambda x, y: x.masked_fill(y > 0, 2.0)),
    ("repeat", [(4, 3)], lambda x: x.repeat(2, 1, 2)),
    ("pad", [(4, 6)], lambda x: F.pad(x, (1, 2), value=3.0)),
    ("glu", [(4, 6)], lambda x: F.glu(x, 1)),
    ("norms along a dim", [(4, 6)], lambda x: x.norm(2, 1) + torch.linalg.vector_norm(x, 3, dim=-1)),
    ("normalize", [(4, 6)], lambda x: F.normalize(x, dim=0)),
    ("batch_norm", [(4, 6, 5), (6,), (6,)], lambda x, w, b: F.batch_norm(x, None, None, w, b, True)),
    ("batch_norm of a table", [(4, 6)], lambda x: F.batch_norm(x, None, None, training=True)),
    ("batch_norm, trained", [(4, 6, 2), (6,), (6,), (6,)], lambda x, m, w, b: F.batch_norm(x, m, m * m + 1, w, b)),
    ("instance_norm", [(4, 2, 6)], lambda x: F.instance_norm(x)),
    ("flip, tril", [(4, 6)], lambda x: x.flip(0) + torch.tril(x, 1)),
    ("mutual broadcast", [(4, 1), (6,)], lambda x, y: x * y - y / (x + 9)),
    ("mse", [(4, 6), (4, 6)], F.mse_loss),
    ("l1", [(4, 6), (4, 6)], lambda x, y: F.l1_loss(x, y, reduction="sum")),
    ("convolution", [(4, 2, 5, 5), (3, 2, 3, 3), (3,)], F.conv2d),
    ("pooling", [(4, 2, 4, 4)], lambda x: F.max_pool2d(x, 2)),
    ("attention", [(2, 2, 4, 3)] * 3, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    ("attention with a mask", [(2, 2, 4, 3)] * 3 + [(4, 4)], F.scaled_dot_product_attention),
]


def made(shape, seed):
    if isinstance(shape, torch.Tensor):
        return shape
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ways(tensor, several):
    """Placements of a tensor along one dim of a mesh."""
    return [Replicate(), *map(Shard, range(tensor.dim()))] + ([Partial()] if several else [])


def spread_over(x, mesh, placements):
    """A DTensor with a gradient, summands included, and the leaf that has the gradient."""
    cut = [Replicate() if isinstance(p, Partial) else p for p in placements]
    leaf = distribute_tensor(x.clone().requires_grad_(x.is_floating_point()), mesh, cut)
    return leaf, leaf.redistribute(mesh, placements)


def compare(function, values, mesh, placements, what):
    plain = [x.clone().requires_grad_(x.is_floating_point()) for x in values]
    expected = function(*plain)
    pairs = [spread_over(x, mesh, p) for x, p in zip(values, placements, strict=True)]
    with refuse_wholes():
        result = function(*(x for _, x in pairs))
    assert isinstance(result, DTensor), what
    assert tuple(result.shape) == tuple(expected.shape), what
    assert torch.allclose(result.full_tensor(), expected, rtol=1e-10, atol=1e-12), what
    if not expected.is_floating_point():
        return
    factor = made(expected.shape, 9)
    (expected * factor).sum().backward()
    (result.full_tensor() * factor).sum().backward()
    for (leaf, _), x in zip(pairs, plain, strict=True):
        if x.grad is not None:
            assert torch.allclose(leaf.grad.full_tensor(), x.grad, rtol=1e-8, atol=1e-10), what


@pytest.mark.parametrize("part", range(4))
def test_every_rule_agrees_with_wholes_however_its_tensors_lie(ranks, part):
    def work(rank):
        mesh, pick = dist.init_device_mesh("cpu", (2,)), random.Random(part)
        for name, shapes, function in CASES[part::4]:
            values = [made(shape, seed) for seed, shape in enumerate(shapes)]
            all_ways = list(itertools.product(*(ways(x, x.is_floating_point()) for x in values)))
            for placements in pick.sample(all_ways, min(len(all_ways), 20)):
                compare(function, values, mesh, [[p] for p in placements], (name, placements))

    ranks(2, work, limit=LIMIT - 10)


@pytest.mark.parametrize("part", range(4))
def test_rules_hold_on_meshes_of_two_dims_and_for_uneven_pieces(ranks, part):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        pick = torch.Generator().manual_seed(part)
        for name, shapes, function in CASES[part::4]:
            values = [made(shape, seed) for seed, shape in enumerate(shapes)]
            for _ in range(4):
                placements = []
                for x in values:
                    own = ways(x, False)
                    placements.append([own[int(torch.randint(len(own), (1,), generator=pick))] for _ in range(2)])
                compare(function, values, mesh, placements, (name, placements))

    ranks(4, work, limit=LIMIT - 10)


def test_a_batch_in_pieces_moves_the_running_statistics_as_a_whole_one_does(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        layer, whole = nn.BatchNorm2d(2).double(), nn.BatchNorm2d(2).double()
        distribute_module(layer, mesh)
        for seed in range(3):
            x = made((7, 2, 3, 3), seed) + seed
            with refuse_wholes():
                y = layer(distribute_tensor(x, mesh, [Shard(0)]))
            assert torch.allclose(y.full_tensor(), whole(x), rtol=1e-10)
        assert torch.allclose(layer.running_mean.full_tensor(), whole.running_mean, rtol=1e-10)
        assert torch.allclose(layer.running_var.full_tensor(), whole.running_var, rtol=1e-10)
        layer.eval(), whole.eval()
        with refuse_wholes():
            y = layer(distribute_tensor(x, mesh, [Shard(2)]))
        assert torch.allclose(y.full_tensor(), whole(x), rtol=1e-10)

    ranks(3, work)


def test_columns_and_rows_of_layers_send_what_they_have_to(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(made((4, 6), 1), mesh, [Replicate()])
        first = distribute_tensor(made((8, 6), 2), mesh, [Shard(0)])
        second = distribute_tensor(made((6, 8), 3), mesh, [Shard(1)])
        with CommDebugMode() as mode:
            middle = F.linear(x, first)
            assert middle.placements == (Shard(1),)
            result = F.linear(middle.relu(), second)
            assert result.placements == (Partial(),)
        assert mode.get_total_counts() == 0
        with CommDebugMode() as mode:
            result.redistribute(mesh, [Replicate()])
        assert mode.get_comm_counts() == {"all_reduce": 1}
        with CommDebugMode() as mode:
            batch = x.redistribute(mesh, [Shard(0)])
            assert (batch @ second).placements == (Shard(1),)  # the first factor is the smaller one
            assert batch.unflatten(1, (2, 3)).transpose(1, 2).placements == (Shard(0),)
            assert batch.softmax(1).placements == (Shard(0),)
            assert batch.softmax(0).placements == (Replicate(),)
        assert mode.get_comm_counts() == {"all_gather": 2}
        assert mode.get_wholes() == 0

    ranks(2, work)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_classes_in_pieces(ranks, reduction, smoothing):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        for shape, target in [
            ((6, 5), torch.tensor([0, 4, 2, -100, 3, 1])),
            ((3, 5, 2), torch.tensor([[0, 1], [4, -100], [2, 2]])),
        ]:
            scores, weight = made(shape, 1), made((5,), 2).abs() + 0.1
            for logits, labels in itertools.product(
                itertools.product([Replicate(), Shard(0), Shard(1)], repeat=2),
                [[Replicate(), Replicate()], [Shard(0), Replicate()]],
            ):
                for w in (None, weight):
                    plain = scores.clone().requires_grad_()
                    options = {"reduction": reduction, "label_smoothing": smoothing}
                    expected = F.cross_entropy(plain, target, w, **options)
                    x = distribute_tensor(scores.clone().requires_grad_(), mesh, logits)
                    t = distribute_tensor(target, mesh, labels)
                    w = None if w is None else distribute_tensor(w, mesh)
                    with refuse_wholes():
                        loss = F.cross_entropy(x, t, w, **options)
                    with loss_parallel():
                        plain_target = F.cross_entropy(x, target, w, **options).full_tensor()
                    assert torch.allclose(plain_target, expected, rtol=1e-12)
                    with pytest.raises(RuntimeError, match="got mixed torch.Tensor and DTensor"):
                        F.cross_entropy(x, target, w, **options)
                    assert torch.allclose(loss.full_tensor(), expected, rtol=1e-12)
                    factor = made(expected.shape, 5)
                    (expected * factor).sum().backward()
                    (loss.full_tensor() * factor).sum().backward()
                    assert torch.allclose(x.grad.full_tensor(), plain.grad, rtol=1e-9, atol=1e-12), (logits, labels)
                    chances = F.log_softmax(plain.detach(), 1)
                    if not smoothing and w is None:
                        ours = F.nll_loss(distribute_tensor(chances, mesh, logits), t, reduction=reduction)
                        assert torch.allclose(ours.full_tensor(), expected, rtol=1e-12)

    ranks(4, work, limit=LIMIT - 10)


def test_dropout_draws_one_mask_for_the_whole(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        results = []
        for placement in (Shard(0), Shard(1), Replicate()):
            torch.manual_seed(7 + rank)
            x = distribute_tensor(torch.ones(50, 8, requires_grad=True), mesh, [placement])
            y = F.dropout(x, 0.25)
            assert set(y.full_tensor().unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
            y.sum().full_tensor().backward()
            assert torch.equal(x.grad.full_tensor(), y.full_tensor())
            results.append(y.full_tensor())
        assert torch.equal(results[0], results[1])
        assert torch.equal(results[0], results[2])
        assert F.dropout(x, 0.5, training=False) is x
        assert not F.dropout(x, 1.0).full_tensor().any()
        with pytest.raises(ValueError, match="between 0 and 1"):
            torch.dropout(x, 1.5, True)

    ranks(2, work)


def test_a_transformer_layer_of_spread_parameters_learns_as_a_whole_one(ranks):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        torch.manual_seed(1)
        layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True).double()
        expected = layer(made((4, 3, 4), 1)).square().sum()
        expected.backward()
        gradients = {name: p.grad.clone() for name, p in layer.named_parameters()}
        layer.zero_grad()
        for part in layer.modules():
            for name, p in list(part.named_parameters(recurse=False)):
                part.register_parameter(name, nn.Parameter(distribute_tensor(p.detach(), mesh, [Shard(0)])))
        x = distribute_tensor(made((4, 3, 4), 1), mesh, [Shard(0)])
        with refuse_wholes():
            loss = layer(x).square().sum()
        loss.full_tensor().backward()
        assert torch.allclose(loss.full_tensor(), expected, rtol=1e-10)
        for name, p in layer.named_parameters():
            assert torch.allclose(p.grad.full_tensor(), gradients[name], rtol=1e-7, atol=1e-10), name

    ranks(2, work)


def test_an_operator_without_a_rule_says_so_or_is_refused(ranks, monkeypatch):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(made((4, 4), 1), mesh, [Shard(0)])
        assert torch.allclose(torch.linalg.inv(x).full_tensor(), torch.linalg.inv(made((4, 4), 1)))
        with refuse_wholes(), pytest.raises(NotImplementedError, match=r"inv: has no rule.*refuse_wholes\(\) is on"):
            torch.linalg.inv(x)
        with CommDebugMode() as mode:
            torch.linalg.inv(x)
        assert mode.get_wholes() == 1
        dist.set_debug_level(dist.DebugLevel.INFO)
        with pytest.warns(UserWarning, match="inv: has no rule .* put together on every rank"):
            torch.linalg.inv(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.linalg.inv(x)  # once is enough
        with pytest.raises(RuntimeError, match="got mixed torch.Tensor and DTensor"):
            x @ made((4, 4), 2)
        with pytest.raises(RuntimeError, match="does not fit"):
            x @ distribute_tensor(made((3, 4), 2), mesh)
        with pytest.raises(RuntimeError, match=r"linear: input of shape \(4, 4\) does not fit"):
            F.linear(x, distribute_tensor(made((3, 5), 2), mesh))
        with pytest.raises(IndexError, match="dim 2 of a DTensor of 2 dims"):
            x.softmax(2)
        words = distribute_tensor(torch.tensor([0, 9]), mesh)
        classes = distribute_tensor(torch.tensor([[0, 9]] * 2), mesh, [Shard(1)])  # the first rank has no 9
        with pytest.raises(RuntimeError, match="class values must be smaller than num_classes: 9 >= 4"):
            F.one_hot(classes, 4)
        with pytest.raises(RuntimeError, match="class values must be non-negative, got -9"):
            F.one_hot(-classes)
        with pytest.raises(IndexError, match="from 0 to 9, of 4 rows"):
            F.embedding(words, x)
        with pytest.raises(IndexError, match="Target .* is out of bounds"):
            F.cross_entropy(x, distribute_tensor(torch.tensor([0, 9, 1, 1]), mesh))
        with pytest.raises(ValueError, match="do not fit targets of shape"):
            F.cross_entropy(x, words)

    ranks(2, work)


def test_sequences_in_pieces_between_layers_of_columns_and_rows(ranks):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.norm = nn.Embedding(7, 4), nn.LayerNorm(4)
            self.up, self.down, self.drop, self.head = (
                nn.Linear(4, 6),
                nn.Linear(6, 4),
                nn.Dropout(0.0),
                nn.Linear(4, 8),
            )

        def forward(self, words):
            x = self.words(words)
            x = x + self.drop(self.down(self.up(self.norm(x)).relu()))
            return self.head(x)

    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        torch.manual_seed(3)
        plain = Block().double()
        spread = Block().double()
        spread.load_state_dict(plain.state_dict())
        words, target = torch.tensor([[1, 6, 2, 0], [3, 3, 5, 4]]), torch.tensor([[1, 2, 7, 0], [4, 4, 0, 6]])
        parallelize_module(
            spread,
            mesh,
            {
                "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
                "norm": SequenceParallel(use_local_output=True),
                "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1)),
                "drop": SequenceParallel(use_local_output=True),
                "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
            },
        )
        expected = F.cross_entropy(plain(words).flatten(0, 1), target.flatten())
        expected.backward()
        with loss_parallel(), refuse_wholes():
            scores = spread(words)
            assert scores.placements == (Shard(2),)
            assert scores.shape == (2, 4, 8)
            loss = F.cross_entropy(scores.flatten(0, 1), distribute_tensor(target.flatten(), mesh))
            loss.backward()
        assert torch.allclose(loss.full_tensor(), expected, rtol=1e-12)
        for (name, p), q in zip(plain.named_parameters(), spread.parameters(), strict=True):
            assert torch.allclose(q.grad.full_tensor(), p.grad, rtol=1e-9, atol=1e-12), name

        with pytest.raises(NotImplementedError, match="RowwiseParallel currently only support"):
            parallelize_module(nn.ReLU(), mesh, RowwiseParallel())
        with pytest.raises(ValueError, match="expecting input of Dropout"):
            parallelize_module(nn.Dropout(), mesh, SequenceParallel())("x")

    ranks(2, work)


def test_what_goes_into_a_module_and_comes_out_is_moved(ranks):
    class Scaled(nn.Module):
        def forward(self, x, *, by=None):
            assert x.placements == (Shard(0),)
            return x * 2 if by is None else x * by

    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = made((4, 2), 1)
        module = parallelize_module(
            Scaled(),
            mesh,
            PrepareModuleInputOutput(
                input_layouts=(Replicate(),),
                desired_input_layouts=(Shard(0),),
                input_kwarg_layouts={"by": Replicate()},
                desired_input_kwarg_layouts={"by": Shard(0)},
                output_layouts=Shard(0),
                desired_output_layouts=Replicate(),
            ),
        )
        assert torch.equal(module(x), x * 2)
        assert torch.equal(module(x, by=x), x * x)
        with pytest.raises(ValueError, match="module inputs and input_layouts should have same length! 2, 1"):
            module(x, x)
        with pytest.raises(ValueError, match=r"kwarg layouts are of \['by'\], as desired \[\]"):
            PrepareModuleInput(input_kwarg_layouts={"by": Replicate()})

    ranks(2, work)


def test_placements_print_in_short():
    assert [str(p) for p in (Shard(1), Replicate(), Partial("max"))] == ["S(1)", "R", "P(max)"]
    assert repr((Shard(1), Replicate(), Partial("max"))) == "(Shard(dim=1), Replicate(), Partial(max))"
